/* The `onward` of a portable package: starts the build of the program that suits this processor.
 *
 * The builds are in PREFIX/libexec/onward/LEVEL/onward, for levels of x86-64 as compilers and linkers name them. The
 * environment variable ONWARD_ARCH holds it back to a lower one. The shared library needs no such launcher: the
 * system's linker chooses among PREFIX/lib/glibc-hwcaps/LEVEL by itself. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const levels[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};
enum { level_count = sizeof levels / sizeof *levels };

static int has(int level) {
  __builtin_cpu_init();
  switch (level) {
    case 0: return __builtin_cpu_supports("x86-64-v4") != 0;
    case 1: return __builtin_cpu_supports("x86-64-v3") != 0;
    default: return __builtin_cpu_supports("x86-64-v2") != 0;
  }
}

int main(int argc, char **argv) {
  (void)argc;
  char path[PATH_MAX], program[PATH_MAX + 64];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) {
    fprintf(stderr, "onward: cannot tell where it is: %s\n", strerror(errno));
    return 1;
  }
  path[length] = '\0';
  for (int up = 0; up < 2; ++up) *strrchr(path, '/') = '\0'; /* bin/onward */

  const char *asked = getenv("ONWARD_ARCH");
  int first = 0;
  if (asked != NULL && *asked != '\0') {
    while (first < level_count && strcmp(asked, levels[first]) != 0) ++first;
    if (first == level_count) {
      fprintf(stderr, "onward: ONWARD_ARCH is %s: it must be x86-64-v2, x86-64-v3 or x86-64-v4\n", asked);
      return 2;
    }
  }
  for (int level = first; level < level_count; ++level) {
    if (!has(level)) continue;
    snprintf(program, sizeof program, "%s/libexec/onward/%s/onward", path, levels[level]);
    execv(program, argv);
    if (errno != ENOENT) break;
  }
  fprintf(stderr, "onward: none of its builds can be started on this processor (the last one tried was %s: %s)\n",
          program, strerror(errno));
  return 1;
}
