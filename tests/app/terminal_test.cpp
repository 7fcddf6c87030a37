// Lines fit the terminal: the table by leaving out columns, notes by breaks between words.

#include <pty.h>

#include "program.hpp"

namespace onward::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Terminal : public Program {
 protected:
  void SetUp() override {
    Program::SetUp();
    ::unsetenv("COLUMNS");
    // A chain file of two parameters, one with a long name, whose halves are apart.
    std::string csv = "lp__,the_age_of_the_oldest_child,mu\n";
    for (int i = 0; i < 100; ++i)
      csv += "0," + std::to_string(i) + "." + std::to_string(i * 7 % 10) + ",1.5\n";
    put("chain.csv", csv);
  }
  void TearDown() override {
    ::unsetenv("COLUMNS");
    Program::TearDown();
  }

  static std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
      while (line.ends_with('\r')) line.pop_back();
      lines.push_back(line);
    }
    return lines;
  }
};

TEST_F(Terminal, TheTableFits) {
  const Outcome narrow = onward("summary chain.csv");
  EXPECT_EQ(narrow.code, 0) << narrow.err;
  for (const auto& line : lines_of(narrow.out)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(narrow.out, HasSubstr("left out to fit 80 columns: mcse"));
  ::setenv("COLUMNS", "150", 1);
  const Outcome wide = onward("summary chain.csv");
  EXPECT_THAT(wide.out, HasSubstr("mcse"));
  EXPECT_THAT(wide.out, Not(HasSubstr("left out")));
}

TEST_F(Terminal, NotesBreakBetweenWordsOnATerminalAlone) {
  const std::string in_file = onward("summary chain.csv").err;
  int ours = -1, theirs = -1;
  winsize window{};
  window.ws_col = 60;
  ASSERT_EQ(::openpty(&ours, &theirs, nullptr, nullptr, &window), 0);
  Started run(split("summary chain.csv"), {.folder = path(""), .terminal = theirs});
  ::close(theirs);
  std::string shown;
  char bytes[4096];
  for (ssize_t n; (n = ::read(ours, bytes, sizeof bytes)) > 0;) shown.append(bytes, static_cast<size_t>(n));
  ::close(ours);
  EXPECT_EQ(run.wait().code, 0);
  std::string joined;
  for (const auto& line : lines_of(shown)) {
    EXPECT_LE(line.size(), 60u) << line;
    joined += line.starts_with("  ") ? line.substr(1) : joined.empty() ? line : "\n" + line;
  }
  EXPECT_EQ(joined + "\n", in_file);  // the same words, none of them broken
  EXPECT_GT(lines_of(shown).size(), lines_of(in_file).size());
  EXPECT_THAT(in_file, HasSubstr("warning: "));
}

}  // namespace
}  // namespace onward::testing
