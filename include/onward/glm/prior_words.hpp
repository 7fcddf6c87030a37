#pragma once
// Priors in words, as users of brms and Stan write them: "b ~ normal(0, 2.5)", "b[age] ~ student_t(3, 0, 1)",
// "sd(g) ~ exponential(1)", "cor ~ lkj(2)". Several are separated by semicolons. One that names more
// (a coefficient, a group, a column of it) wins over a general one, wherever it stands; of two that are
// alike, the later one wins.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onward/error.hpp"
#include "onward/glm/group_term.hpp"
#include "onward/glm/posterior.hpp"

namespace onward::glm {

/// One sentence: what it is about, and what is believed of it.
struct PriorStatement {
  enum class About { coefficient, intercept, sd, correlation, number };
  About about;
  std::string group;   ///< of sd and cor: the factor; empty: all of them
  std::string column;  ///< of b and sd: the column; empty: all of them. Of a number of the family: its name
  std::string text;    ///< as it was written, for messages
  Prior prior;         ///< of a number
  double lkj = 1;      ///< of correlations
};

/// A prior that cannot be read, or of something that the model does not have.
class PriorError : public UsageError {
 public:
  PriorError(std::string_view statement, const std::string& message)
      : UsageError(message), statement_(statement) {}
  const std::string& statement() const { return statement_; }  ///< as it was written

 private:
  std::string statement_;
};

/// Throws PriorError with the sentence, the place in it and what is understood. "normal:2.5" and the like,
/// without a "~", speak of all coefficients.
std::vector<PriorStatement> parse_priors(std::string_view text);

/// Puts what is said of coefficients, the intercept and the family's numbers into options. The names of
/// columns are those of the options. Throws PriorError for columns that are not there, with the nearest.
void apply_priors(const std::vector<PriorStatement>& statements, bool intercept, PosteriorOptions& options);

/// Puts what is said of groups over the default priors. Throws PriorError for groups that are not there.
void apply_priors(const std::vector<PriorStatement>& statements, const std::vector<GroupTerm>& terms,
                  std::vector<GroupPriors>& priors);

}  // namespace onward::glm
