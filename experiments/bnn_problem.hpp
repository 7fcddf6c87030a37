#pragma once
// The regression of Table 3: its points, the model of its network, and what draws from it are worth.

#include <cstddef>
#include <vector>

#include "bnn.hpp"
#include "onward/model/model.hpp"
#include "onward/net/data.hpp"
#include "recorder.hpp"

namespace onward::experiments {

/// The points in standard units: mean 0 and sd 1.
struct StandardPoints {
  std::vector<double> x, y;
};
/// Those of the settings' file, or made ones.
StandardPoints standard_points(const BnnSettings& settings);

/// A network whose draws are what it says of the points, then of a grid.
struct BnnProblem {
  Model model;
  net::Answers answers;      // of the points
  std::vector<double> grid;  // in standard units
};

BnnProblem load_bnn(const BnnSettings& settings);

/// How well draws [begin, end) of a chain tell the points; they are predictions at the problem's inputs.
BnnScores judge_bnn(const BnnSettings& settings, const BnnProblem& problem, const ChainDraws& chain,
                    std::size_t begin, std::size_t end);

/// Fills in everything of a row that follows from its draws.
void judge_bnn(const BnnSettings& settings, const BnnProblem& problem, const std::vector<ChainDraws>& chains,
               BnnRow& row);

}  // namespace onward::experiments
