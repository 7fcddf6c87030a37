#pragma once
// The regression of Table 2: the posterior on the training images, and the test images that draws are judged
// by.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "logreg.hpp"
#include "onward/glm/posterior.hpp"
#include "recorder.hpp"

namespace onward::experiments {

inline constexpr std::size_t logreg_classes = 10;

struct LogregProblem {
  glm::RegressionPosterior posterior;
  glm::Design test;
  std::vector<std::uint8_t> test_labels;
};

LogregProblem load_logreg(const LogregSettings& settings, const std::shared_ptr<ThreadPool>& pool);

/// Fills in everything of a row that follows from its draws.
void judge_logreg(const LogregSettings& settings, const LogregProblem& problem,
                  const std::vector<ChainDraws>& chains, LogregRow& row, ThreadPool& pool);

}  // namespace onward::experiments
