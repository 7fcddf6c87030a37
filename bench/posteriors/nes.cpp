// nes: which party, from ideology, race, age in classes, education, gender and income. Flat priors.

#include "bench/posteriors/linear.hpp"

namespace onward::posteriors {

AnyTarget nes(const Data& data) {
  const Column age = column(data, "age_discrete");
  const auto of_age = [&](double which) {
    Column c;
    for (const double a : age) c.push_back(a == which ? 1 : 0);
    return c;
  };
  return flat_regression(
      {Column(age.size(), 1), column(data, "real_ideo"), column(data, "race_adj"), of_age(2), of_age(3),
       of_age(4), column(data, "educ1"), column(data, "gender"), column(data, "income")},
      column(data, "partyid7"));
}

}  // namespace onward::posteriors
