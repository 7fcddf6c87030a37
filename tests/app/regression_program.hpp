#pragma once
// A folder with a small table and runs of `onward glm` on it, for tests of what is done with such runs.

#include <cmath>
#include <string>
#include <vector>

#include "onward/random/stream.hpp"
#include "program.hpp"

namespace onward::testing {

class RegressionProgram : public Program {
 protected:
  /// 60 rows: a number, a factor, a group, successes of trials, an outcome of normal noise and one of
  /// classes.
  void SetUp() override {
    Program::SetUp();
    const Stream stream(11, 0);
    std::string text = "y,s,n,x,f,g,c\n";
    for (std::size_t i = 0; i < 60; ++i) {
      const double x = static_cast<double>(i % 12) / 4 - 1;
      const double effect = stream.normal(1, Purpose::noise, i % 5);
      const double y =
          1 + 2 * x + (i % 3 == 1 ? 1.0 : 0.0) + effect + 0.5 * stream.normal(0, Purpose::noise, i);
      text += std::to_string(y) + "," + std::to_string(i % 4) + ",4," + std::to_string(x) + "," +
              "abc"[i % 3] + ",g" + std::to_string(i % 5) + "," +
              (i % 7 < 3 ? "low"
               : i % 2   ? "mid"
                         : "high") +
              "\n";
    }
    put("data.csv", text);
  }

  void sample(const std::string& formula, const std::string& family, const std::string& more = "") const {
    Words words{"glm", "--data", "data.csv", "--formula", formula, "--family", family, "--out", "run"};
    for (const auto& word : split("--seed 1 --draws 200 --quiet " + more)) words.push_back(word);
    const Outcome outcome = onward(words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  /// The lines of a CSV text, by fields.
  static std::vector<Words> lines(const std::string& text) {
    std::vector<Words> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      all.emplace_back();
      std::istringstream fields(line);
      for (std::string field; std::getline(fields, field, ',');) all.back().push_back(field);
    }
    return all;
  }
};

}  // namespace onward::testing
