#include "onward/glm/prior_words.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/suggest.hpp"

namespace onward::glm {
namespace {

using About = PriorStatement::About;

/// What the numbers of families are called.
constexpr std::string_view numbers[] = {"sigma", "nu", "phi", "shape", "zi", "gap"};

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

[[noreturn]] void refuse(std::string_view statement, const std::string& why) {
  statement = trimmed(statement);
  throw PriorError(
      statement,
      fmt::format(
          "the prior '{}' cannot be read: {}. Write it as \"b ~ normal(0, 2.5)\", \"b[age] ~ student_t(3, 0, "
          "1)\", \"Intercept ~ normal(0, 10)\", \"sd(g) ~ exponential(1)\", \"cor(g) ~ lkj(2)\" or \"sigma ~ "
          "half_t(3, 2.5)\"; for all coefficients also as normal:SCALE, student-t:DF:SCALE or flat",
          printable(statement), why));
}

double number(std::string_view text, std::string_view statement) {
  text = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    refuse(statement, fmt::format("'{}' is not a number", text));
  return value;
}

/// Splits at a character that stands outside parentheses and brackets.
std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] == at && depth <= 0) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

struct Distribution {
  std::string_view name;
  std::string_view arguments;  // in words
  std::size_t count;
};
constexpr Distribution distributions[] = {
    {"flat", "", 0},
    {"normal", "location, scale", 2},
    {"student_t", "degrees of freedom, location, scale", 3},
    {"cauchy", "location, scale", 2},
    {"laplace", "location, scale", 2},
    {"double_exponential", "location, scale", 2},
    {"exponential", "rate", 1},
    {"gamma", "shape, rate", 2},
    {"beta", "a, b", 2},
    {"half_normal", "scale", 1},
    {"half_t", "degrees of freedom, scale", 2},
    {"half_student_t", "degrees of freedom, scale", 2},
    {"half_cauchy", "scale", 1},
    {"lkj", "shape", 1},
};

/// What "normal(0, 2.5)" says; for lkj the shape.
void read_distribution(std::string_view text, PriorStatement& out) {
  text = trimmed(text);
  const std::size_t open = text.find('(');
  std::string name(trimmed(text.substr(0, open)));
  for (char& c : name) c = c == '-' ? '_' : c;
  std::vector<std::string> known;
  const Distribution* which = nullptr;
  for (const Distribution& one : distributions) {
    known.emplace_back(one.name);
    if (one.name == name) which = &one;
  }
  if (which == nullptr)
    refuse(out.text, fmt::format("there is no distribution '{}'.{} Distributions: {}", name,
                                 suggestion(name, known), joined(known)));
  std::vector<double> values;
  if (open != std::string_view::npos) {
    const std::size_t close = text.rfind(')');
    if (close == std::string_view::npos) refuse(out.text, "a closing parenthesis is missing");
    if (close + 1 != text.size())
      refuse(out.text, fmt::format("'{}' after the closing parenthesis was not expected",
                                   trimmed(text.substr(close + 1))));
    const std::string_view inside = trimmed(text.substr(open + 1, text.size() - open - 2));
    if (!inside.empty())
      for (const std::string_view one : split(inside, ',')) values.push_back(number(one, out.text));
  }
  if (values.size() != which->count)
    refuse(out.text, fmt::format("{} takes {}({}), and {} {} given", name, name, which->arguments,
                                 values.size(), values.size() == 1 ? "number was" : "numbers were"));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool location = which->count > 1 && which->arguments.find("location") != std::string_view::npos &&
                          i + 2 == values.size();
    if (!location && !(values[i] > 0)) refuse(out.text, fmt::format("{} is not above 0", values[i]));
  }
  const bool half = name.starts_with("half_") || name == "exponential" || name == "gamma" || name == "beta";
  if (half && (out.about == About::coefficient || out.about == About::intercept))
    refuse(out.text, fmt::format("{} is for numbers above 0, and coefficients may be below", name));
  if ((name == "lkj") != (out.about == About::correlation))
    refuse(out.text, name == "lkj" ? "lkj is for correlations" : "correlations have lkj(SHAPE)");
  if (name == "beta" && out.column != "zi")
    refuse(out.text, "beta is for probabilities, and zi is the only one");
  if (name == "flat") out.prior = Prior::flat();
  if (name == "normal") out.prior = Prior::normal(values[0], values[1]);
  if (name == "student_t") out.prior = Prior::student_t(values[0], values[1], values[2]);
  if (name == "cauchy") out.prior = Prior::student_t(1, values[0], values[1]);
  if (name == "laplace" || name == "double_exponential") out.prior = Prior::laplace(values[0], values[1]);
  if (name == "exponential") out.prior = Prior::exponential(values[0]);
  if (name == "gamma") out.prior = Prior::gamma(values[0], values[1]);
  if (name == "beta") out.prior = Prior::beta(values[0], values[1]);
  if (name == "half_normal") out.prior = Prior::normal(0, values[0]);
  if (name == "half_t" || name == "half_student_t") out.prior = Prior::student_t(values[0], 0, values[1]);
  if (name == "half_cauchy") out.prior = Prior::student_t(1, 0, values[0]);
  if (name == "lkj") out.lkj = values[0];
}

/// A name between `open` and `close` at the start of the text, which it is taken from.
std::string take_between(std::string_view& text, char open, char close, std::string_view statement) {
  if (text.empty() || text.front() != open) return "";
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == open) ++depth;
    if (text[i] == close && --depth == 0) {
      std::string name(trimmed(text.substr(1, i - 1)));
      text = trimmed(text.substr(i + 1));
      if (name.empty()) refuse(statement, fmt::format("nothing stands between {} and {}", open, close));
      return name;
    }
  }
  refuse(statement, fmt::format("a closing '{}' is missing", close));
}

PriorStatement read_statement(std::string_view statement) {
  const std::vector<std::string_view> sides = split(statement, '~');
  PriorStatement out{About::coefficient, "", "", std::string(trimmed(statement)), {}, 1};
  if (sides.size() != 2) refuse(statement, sides.size() < 2 ? "it has no '~'" : "it has more than one '~'");
  std::string_view what = trimmed(sides[0]);
  std::size_t letters = 0;
  while (letters < what.size() && std::isalpha(static_cast<unsigned char>(what[letters]))) ++letters;
  const std::string word(what.substr(0, letters));
  what = trimmed(what.substr(letters));
  if (word == "b") {
    out.column = take_between(what, '[', ']', statement);
  } else if (word == "Intercept" || word == "intercept") {
    out.about = About::intercept;
  } else if (word == "sd") {
    out.about = About::sd;
    out.group = take_between(what, '(', ')', statement);
    out.column = take_between(what, '[', ']', statement);
    if (out.column.empty()) out.column = std::string(std::exchange(what, {}));  // sd(g)Intercept
  } else if (word == "cor") {
    out.about = About::correlation;
    out.group = take_between(what, '(', ')', statement);
  } else if (std::ranges::find(numbers, word) != std::end(numbers)) {
    out.about = About::number;
    out.column = word;
  } else {
    refuse(statement, fmt::format("'{}' is none of b, Intercept, sd, cor, {}", trimmed(sides[0]),
                                  fmt::join(numbers, ", ")));
  }
  if (!what.empty()) refuse(statement, fmt::format("'{}' was not expected", what));
  if (out.about == About::coefficient && (out.column == "Intercept" || out.column == "(Intercept)"))
    out.about = About::intercept, out.column.clear();
  read_distribution(sides[1], out);
  return out;
}

/// "normal:SCALE", "student-t:DF:SCALE" or "flat", of all coefficients.
PriorStatement read_short(std::string_view text) {
  PriorStatement out{About::coefficient, "", "", std::string(text), {}, 1};
  if (text.find('=') != std::string_view::npos) refuse(text, "it has '=' where '~' is due");
  std::vector<std::string_view> parts = split(text, ':');
  std::string spelled(trimmed(parts[0]));
  if (spelled == "normal" && parts.size() == 2) spelled = fmt::format("normal(0, {})", parts[1]);
  if (spelled == "student-t" && parts.size() == 3)
    spelled = fmt::format("student_t({}, 0, {})", parts[1], parts[2]);
  read_distribution(spelled, out);
  return out;
}

/// Columns and groups have backquotes where a formula needs them. In brackets they can be left out.
bool same_name(const std::string& written, const std::string& name) {
  const auto bare = [](std::string text) {
    std::erase(text, '`');
    return text;
  };
  return written == name || bare(written) == bare(name);
}

auto find_name(const std::vector<std::string>& names, const std::string& written) {
  const auto exact = std::ranges::find(names, written);
  if (exact != names.end()) return exact;
  return std::ranges::find_if(names, [&](const auto& name) { return same_name(written, name); });
}

}  // namespace

std::vector<PriorStatement> parse_priors(std::string_view text) {
  std::vector<PriorStatement> statements;
  for (const std::string_view one : split(text, ';')) {
    if (trimmed(one).empty()) continue;
    if (std::ranges::count(one, '`') % 2 != 0) refuse(one, "a closing '`' is missing");
    statements.push_back(split(one, '~').size() == 1 ? read_short(trimmed(one)) : read_statement(one));
  }
  return statements;
}

void apply_priors(const std::vector<PriorStatement>& statements, bool intercept, PosteriorOptions& options) {
  for (const PriorStatement& one : statements) {
    if (one.about == About::coefficient && one.column.empty()) options.coefficients = one.prior;
    if (one.about == About::number) (one.column == "nu" ? options.degrees : options.scale) = one.prior;
    if (one.about == About::intercept) {
      if (!intercept)
        throw PriorError(one.text,
                         fmt::format("the prior '{}' is of the intercept, and there is none: leave it out",
                                     printable(one.text)));
      options.intercept = one.prior;
    }
    if (one.about == About::coefficient && !one.column.empty()) {
      const auto column = find_name(options.column_names, one.column);
      if (column == options.column_names.end())
        throw PriorError(one.text,
                         fmt::format("the prior '{}' is of a column that is not there.{} Columns: {}",
                                     printable(one.text), suggestion(one.column, options.column_names),
                                     printable(joined(options.column_names))));
      options.named[*column] = one.prior;
    }
  }
}

void apply_priors(const std::vector<PriorStatement>& statements, const std::vector<GroupTerm>& terms,
                  std::vector<GroupPriors>& priors) {
  std::vector<std::string> factors;
  for (const GroupTerm& term : terms) factors.push_back(term.factor);
  std::vector<PriorStatement> by_reach = statements;
  std::ranges::stable_sort(by_reach, {}, [](const PriorStatement& one) {
    return (one.group.empty() ? 0 : 1) + (one.column.empty() ? 0 : 1);
  });
  for (const PriorStatement& one : by_reach) {
    if (one.about != About::sd && one.about != About::correlation) continue;
    bool found = false;
    for (std::size_t t = 0; t < terms.size(); ++t) {
      if (!one.group.empty() && !same_name(one.group, terms[t].factor)) continue;
      if (one.about == About::correlation) {
        priors[t].lkj = one.lkj;
        found = found || terms[t].width() > 1;
      }
      for (std::size_t c = 0; one.about == About::sd && c < terms[t].width(); ++c)
        if (one.column.empty() || same_name(one.column, terms[t].columns[c]))
          priors[t].sds[c] = one.prior, found = true;
    }
    if (!found)
      throw PriorError(
          one.text,
          fmt::format("the prior '{}' speaks of {} that is not in the model.{}", printable(one.text),
                      one.about == About::sd ? "a group or a column" : "a correlation",
                      terms.empty() ? " The model has no groups"
                                    : fmt::format("{} Groups: {}",
                                                  one.group.empty() ? "" : suggestion(one.group, factors),
                                                  printable(joined(factors)))));
  }
}

}  // namespace onward::glm
