// The sensitivity figure is about chains that move.

#include <gtest/gtest.h>

#include <cmath>

#include "experiments/funnel_report.hpp"
#include "io/scratch.hpp"

namespace onward::experiments {
namespace {

class FunnelFigures : public onward::testing::Scratch {
 protected:
  /// The bytes of the figure of one sampler, whose chains stand still at the larger half of the step sizes.
  std::string figure(double sd_of_the_stuck) const {
    FunnelTable table;
    table.settings.dims = {10};
    table.settings.samplers = {"mala"};
    FunnelRow row{};
    row.dim = 10;
    row.sampler = "mala";
    for (int i = 0; i < 20; ++i) {
      FunnelCell cell{};
      const bool stuck = i >= 10;
      cell.step_size = 0.1 * std::pow(1.16, i);
      cell.kl_over_seeds = {stuck ? 3000 : 1 + 0.1 * i, stuck ? sd_of_the_stuck : 0.3};
      cell.acceptance = stuck ? 0 : 0.5;
      row.cells.push_back(cell);
    }
    table.rows.push_back(row);
    funnel_figures(table, path("").string());
    return get(path("sensitivity.png"));
  }
};

TEST_F(FunnelFigures, ChainsThatStandStillHaveNoBand) {
  // The first would have a band that begins within the panel, at a tenth of the mean.
  EXPECT_TRUE(figure(1e4) == figure(0));
}

}  // namespace
}  // namespace onward::experiments
