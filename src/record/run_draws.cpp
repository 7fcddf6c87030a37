#include "onward/record/run_draws.hpp"

#include <algorithm>

#include "onward/error.hpp"

namespace onward {

StoredDraws draws_of(const Run& run) {
  StoredDraws stored;
  stored.names = run.names;
  stored.all_chains = run.chains.size();
  for (const ChainRecord& chain : run.chains) {
    if (chain.draws == 0) continue;
    stored.draws = ++stored.chains == 1 ? chain.draws : std::min(stored.draws, chain.draws);
    stored.longest = std::max(stored.longest, chain.draws);
  }
  if (stored.chains == 0) throw Error("the run has no draws: sample it for longer");
  stored.column = [&run](std::size_t parameter) {
    Chains columns = run.parameter(parameter);
    std::erase_if(columns, [](const auto& values) { return values.empty(); });
    return columns;
  };
  stored.setting = [](std::string_view) { return std::nullopt; };
  return stored;
}

}  // namespace onward
