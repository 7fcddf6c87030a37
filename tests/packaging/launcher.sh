#!/usr/bin/env bash
# usage: launcher.sh MAIN.C SCRATCH
# The `onward` of a portable package starts the build that suits the processor, or the one that it is held back to;
# the builds are scripts here, which say what they are.
set -euo pipefail
source=$1 prefix=$2/launcher
rm -rf "$prefix"
mkdir -p "$prefix/bin"
cc -O2 -Wall -Wextra -Werror "$source" -o "$prefix/bin/onward"
add() {
  mkdir -p "$prefix/libexec/onward/$1"
  printf '#!/bin/sh\necho "%s:$*"\n' "$1" > "$prefix/libexec/onward/$1/onward"
  chmod +x "$prefix/libexec/onward/$1/onward"
}
expect() {  # WANTED COMMAND...
  local wanted=$1 got
  shift
  got=$("$@" 2>&1) || true
  [[ $got == $wanted ]] || { echo "'$*' said '$got', not '$wanted'" >&2; exit 1; }
}
unset ONWARD_ARCH
expect "onward: none of its builds can be started*" "$prefix/bin/onward"
add x86-64-v2
expect "x86-64-v2:a b c" "$prefix/bin/onward" a "b c"
ln -s "$prefix/bin/onward" "$prefix/link"
expect "x86-64-v2:" "$prefix/link"
add x86-64-v3
add x86-64-v4
expect "x86-64-v2:x" env ONWARD_ARCH=x86-64-v2 "$prefix/bin/onward" x
expect "onward: ONWARD_ARCH is v9: it must be*" env ONWARD_ARCH=v9 "$prefix/bin/onward"
best=x86-64-v2
! grep -qw avx2 /proc/cpuinfo || best=x86-64-v3
! grep -qw avx512vl /proc/cpuinfo || best=x86-64-v4
expect "$best:x" "$prefix/bin/onward" x
[[ $best == x86-64-v2 ]] || expect "x86-64-v3:x" env ONWARD_ARCH=x86-64-v3 "$prefix/bin/onward" x
