// The rows of the table, shared out over threads. A row depends on its own parameter alone, so the table is
// the same for any number of them.

#include <algorithm>
#include <atomic>
#include <thread>

#include "onward/diagnostics/convergence.hpp"
#include "onward/util/thread_pool.hpp"

namespace onward {
namespace {

/// A row takes some ten copies of its draws: so many draws at a time keep that to two gigabytes.
constexpr std::size_t most_draws_at_a_time = 25'000'000;

std::size_t sensible_threads(std::size_t wanted, std::size_t rows, std::size_t draws) {
  const std::size_t by_memory =
      std::max<std::size_t>(1, most_draws_at_a_time / std::max<std::size_t>(draws, 1));
  return std::min({threads_or_all(wanted), rows, by_memory});
}

}  // namespace

std::vector<ParameterSummary> summarise_all(std::span<const std::string> names,
                                            const std::function<Chains(std::size_t)>& chains_of,
                                            std::size_t threads,
                                            const std::function<void(std::size_t)>& progress) {
  std::vector<ParameterSummary> rows(names.size());
  if (names.empty()) return rows;
  std::size_t draws = 0;
  for (const auto& chain : chains_of(0)) draws += chain.size();

  // Small tables are not worth a thread.
  ThreadPool pool(draws * names.size() < 100'000 ? 1 : sensible_threads(threads, names.size(), draws));
  const auto caller = std::this_thread::get_id();
  std::atomic<std::size_t> done{0};
  pool.for_each(names.size(), [&](std::size_t i) {
    rows[i] = summarise(names[i], chains_of(i));
    const std::size_t so_far = ++done;
    if (progress && std::this_thread::get_id() == caller) progress(so_far);
  });
  return rows;
}

}  // namespace onward
