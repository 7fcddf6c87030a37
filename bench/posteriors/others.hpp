#pragma once
// The posteriors of models.hpp with their data and answers.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/posteriors/models.hpp"
#include "bench/posteriors/set.hpp"

namespace onward::bench {

std::string to_string(Origin origin);

struct Other {
  std::string name;
  Origin origin;
  std::string file;  ///< in posteriordb's folder, before .data.json and .reference.json
  std::function<AnyTarget(const posteriors::Data&)> target;
  std::function<posteriors::Data()> own_data = {};  ///< of those that are not posteriordb's

  posteriors::Data data(const std::string& posteriordb) const;
  KnownPosterior make(const std::string& posteriordb) const;
};
const std::vector<Other>& others();
const Other* find_other(std::string_view name);  ///< null if it is not one of them

}  // namespace onward::bench
