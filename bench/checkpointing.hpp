#pragma once
// Reverse mode through many steps with few snapshots: binomial checkpointing (Griewank and Walther, algorithm
// 799). With s snapshots, and no step made more than r times, C(s + r, s) steps can be reversed; where to put
// the next snapshot follows from that. It is what forward mode has to compare itself with.

#include <algorithm>
#include <cstddef>

namespace onward::bench {

/// C(s + r, s): the most steps that s snapshots reverse if each is made r times at most. No more than `most`.
inline std::size_t reversible(std::size_t s, std::size_t r, std::size_t most) {
  std::size_t product = 1;
  for (std::size_t i = 1; i <= std::min(s, r); ++i) {
    product = product * (std::max(s, r) + i) / i;  // always a whole number
    if (product >= most) return most;
  }
  return product;
}

/// How often a step is made at most.
inline std::size_t repetitions(std::size_t steps, std::size_t snapshots) {
  std::size_t r = 0;
  while (reversible(snapshots, r, steps) < steps) ++r;
  return r;
}

/// The least number of steps that are made before those whose adjoint is at hand, over all schedules.
inline std::size_t least_advances(std::size_t steps, std::size_t snapshots) {
  const std::size_t r = repetitions(steps, snapshots);
  return r == 0 ? 0 : r * steps - reversible(snapshots + 1, r - 1, r * steps);
}

/// How many of the steps lie before the next snapshot.
inline std::size_t first_part(std::size_t steps, std::size_t snapshots) {
  if (snapshots == 1) return steps - 1;
  const std::size_t r = repetitions(steps, snapshots);
  // The rest must be reversible with a snapshot less in r repetitions, this part with all in r - 1.
  const std::size_t rest = reversible(snapshots - 1, r, steps);
  const std::size_t least = r < 2 ? 1 : reversible(snapshots, r - 2, steps);
  return std::max({std::size_t{1}, least, steps - std::min(rest, steps - 1)});
}

/// Reverses steps begin to end, from last to first. The state before `begin` is in the snapshot `kept`, and
/// those from kept on are free for use, `snapshots` of them. `Steps` offers
/// - `load(k)`: snapshot k becomes the state; `store(k)`: the state becomes snapshot k;
/// - `advance(step)`: the state before a step becomes that after it;
/// - `reverse(step)`: the adjoint of a step; the state is that before it.
template <class Steps>
void reverse_steps(Steps& steps, std::size_t begin, std::size_t end, std::size_t kept,
                   std::size_t snapshots) {
  while (end - begin > 1) {
    if (snapshots == 1) {
      steps.load(kept);
      for (std::size_t n = begin; n + 1 < end; ++n) steps.advance(n);
      steps.reverse(--end);
      continue;
    }
    const std::size_t middle = begin + first_part(end - begin, snapshots);
    steps.load(kept);
    for (std::size_t n = begin; n < middle; ++n) steps.advance(n);
    steps.store(kept + 1);
    reverse_steps(steps, middle, end, kept + 1, snapshots - 1);
    end = middle;
  }
  steps.load(kept);
  steps.reverse(begin);
}

}  // namespace onward::bench
