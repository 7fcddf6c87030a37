// `onward summary` of netCDF files: ours, and one laid out by xarray as ArviZ does.

#include "onward/io/netcdf.hpp"
#include "onward/io/stan_csv.hpp"
#include "program.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class NetcdfSummary : public Program {};

TEST_F(NetcdfSummary, HasTheFiguresOfTheSameDrawsInCsv) {
  ASSERT_EQ(onward("sample eight-schools --chains 2 --draws 200 --seed 3 --quiet --out run").code, 0);
  NetcdfLayout layout;
  layout.chains = 2;
  layout.posterior = {{"theta", {8}}, {"mu", {}}, {"tau", {}}};
  layout.attributes = {{"model", "eight-schools"}};
  std::filesystem::create_directory(path("other"));
  NetcdfWriter writer(path("other/draws.nc"), layout);
  for (std::size_t chain = 0; chain < 2; ++chain) {
    const StanCsv csv = read_stan_csv(path("run/chain-" + std::to_string(chain + 1) + ".csv"));
    const auto columns = csv.parameter_columns();
    for (std::size_t draw = 0; draw < csv.draws(); ++draw) {
      const std::size_t row = draw * csv.columns.size() + columns.front();
      writer.draw(chain, {.parameters = std::span(csv.values).subspan(row, columns.size())});
    }
  }
  writer.close();
  json by_csv = json::parse(onward("summary run --json --quiet").out);
  const Outcome outcome = onward("summary other/draws.nc --json --quiet");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  json by_netcdf = json::parse(outcome.out);
  EXPECT_EQ(by_netcdf.at("parameters").at(7).at("name"), "theta[7]");
  for (auto* figures : {&by_csv, &by_netcdf})
    for (auto& parameter : figures->at("parameters")) parameter.erase("name");
  by_csv.erase("status");        // which the other file's folder does not tell
  by_csv.erase("trajectories");  // nor the other file
  EXPECT_EQ(by_netcdf, by_csv);
  EXPECT_EQ(onward("summary other --json --quiet").out, outcome.out);
  EXPECT_EQ(onward("summary other/draws.nc run/chain-1.csv").code, 2);
}

TEST_F(NetcdfSummary, ReadsAFileOfXarrays) {
  const std::string file = path("arviz.nc").string();
  const std::string code =
      "import numpy, xarray; x = numpy.random.default_rng(1).normal(size=(4, 500, 2)).astype('float32'); "
      "xarray.Dataset({'theta': (('chain', 'draw', 'school'), x), 'n': (('chain', 'draw'), numpy.ones((4, "
      "500), int))}, "
      "coords={'chain': range(4), 'draw': range(500), 'school': ['Choate', 'Deerfield']})"
      ".to_netcdf('" +
      file + "', group='posterior')";
  const std::string command = " -c \"" + code + "\" 2>/dev/null";
  // Debian's packages belong to Debian's Python, which need not be the first one in PATH.
  ASSERT_TRUE(std::system(("python3" + command).c_str()) == 0 ||
              std::system(("/usr/bin/python3" + command).c_str()) == 0)
      << "no Python with xarray and netCDF4 (Debian: python3-xarray, python3-netcdf4)";
  const Outcome outcome = onward("summary arviz.nc --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json figures = json::parse(outcome.out);
  EXPECT_EQ(figures.at("draws"), 500);
  EXPECT_EQ(figures.at("chains"), 4);
  std::map<std::string, double> means;
  for (const auto& parameter : figures.at("parameters")) means[parameter.at("name")] = parameter.at("mean");
  EXPECT_EQ(means.at("n"), 1);
  EXPECT_NEAR(means.at("theta[Deerfield]"), 0, 0.15);
}

TEST_F(NetcdfSummary, SaysWhatIsWrongWithAFile) {
  put("bad.nc", "no draws");
  const Outcome outcome = onward("summary bad.nc");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("bad.nc: not a netCDF-4 file"));
}

}  // namespace
}  // namespace onward::testing
