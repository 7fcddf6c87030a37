// Models of arrays in memory: the same draws as from files, whatever the type and the order of the array, and
// records that say where the data came from.

#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

#include "io/scratch.hpp"
#include "onward/io/array.hpp"
#include "onward/io/netcdf.hpp"
#include "onward/model/registry.hpp"
#include "onward/onward.hpp"
#include "onward/record/earlier.hpp"
#include "onward/record/recording.hpp"

namespace onward::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t rows = 40;
const RunSettings quick{.draws = 20, .chains = 2, .seed = 3};

/// Whole numbers, which every type can hold, two in a row.
template <class T>
std::vector<T> predictors() {
  std::vector<T> x;
  for (std::size_t i = 0; i < 2 * rows; ++i) x.push_back(static_cast<T>(i * 7 % 11));
  return x;
}

std::vector<double> outcomes() {
  std::vector<double> y;
  for (std::size_t i = 0; i < rows; ++i) y.push_back(static_cast<double>(i % 4));
  return y;
}

/// The same numbers with the first index fastest.
Array by_columns() {
  const auto x = predictors<double>();
  std::vector<double> turned;
  for (std::size_t j = 0; j < 2; ++j)
    for (std::size_t i = 0; i < rows; ++i) turned.push_back(x[2 * i + j]);
  Array array = Array::of(std::move(turned), {rows, 2});
  array.fortran_order = true;
  return array;
}

class ArraysTest : public Scratch {
 protected:
  std::string save(const std::string& name, const Array& array) const {
    NpyArray stored;
    static_cast<NpyHeader&>(stored) = array;
    stored.data.assign(array.bytes.begin(), array.bytes.end());
    write_npy(path(name), stored);
    return path(name).string();
  }
  static ModelSpec in_memory() {
    return {"glm", {{"x", "memory:x"}, {"y", "memory:y"}, {"family", "poisson"}}};
  }
  static BuildFor with(const Array& x) { return {.arrays = {{"x", x}, {"y", Array::of(outcomes())}}}; }
  const Array doubles = Array::of(predictors<double>(), {rows, 2});
};

TEST_F(ArraysTest, DrawsAreThoseOfTheSameArrayInAFile) {
  for (const Array& x :
       {doubles, Array::of(predictors<float>(), {rows, 2}), Array::of(predictors<std::int64_t>(), {rows, 2}),
        Array::of(predictors<std::uint8_t>(), {rows, 2}), by_columns()}) {
    SCOPED_TRACE(x.dtype + (x.fortran_order ? " by columns" : ""));
    const ModelSpec from_files{
        "glm", {{"x", save("x.npy", x)}, {"y", save("y.npy", Array::of(outcomes()))}, {"family", "poisson"}}};
    const onward::Run ours = sample(build(in_memory(), with(x)), quick);
    const onward::Run theirs = sample(build(from_files), quick);
    for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(ours.chains[c].values, theirs.chains[c].values);
  }
}

TEST_F(ArraysTest, TheSpecificationSaysWhatWasInMemory) {
  const Model model = build(in_memory(), with(doubles));
  const auto& print = model.spec.files.at("memory:x");
  EXPECT_EQ(print.at("shape"), nlohmann::ordered_json({rows, 2}));
  EXPECT_EQ(print.at("dtype"), "<f8");
  EXPECT_EQ(print.at("bytes"), 16 * rows);
  EXPECT_EQ(print.at("md5").get<std::string>().size(), 32u);
  EXPECT_FALSE(print.contains("fortran_order"));

  // From its own JSON it is built again with the same arrays, and with no others.
  const ModelSpec again = ModelSpec::from_json(model.to_json());
  EXPECT_EQ(build(again, with(doubles)).spec.to_json(), model.spec.to_json());
  EXPECT_THAT(error_of([&] { build(again); }),
              AllOf(HasSubstr("`x` memory:x"), HasSubstr("none was handed over"), HasSubstr(".npy")));
  EXPECT_THAT(error_of([&] { build(again, {.arrays = {{"z", doubles}}}); }), HasSubstr("called z"));
  EXPECT_THAT(error_of([&] { build(again, with(by_columns())); }),
              HasSubstr("handed over as x is not the one"));
}

TEST_F(ArraysTest, ArraysThatAreNotWhatTheySayAreRefused) {
  Array array = doubles;
  array.shape = {rows, 3};
  EXPECT_THAT(error_of([&] { build(in_memory(), with(array)); }),
              AllOf(HasSubstr("the array x has 640 bytes"), HasSubstr("(40, 3)"), HasSubstr("960")));
  array.shape = {rows, 2};
  array.dtype = ">f8";
  EXPECT_THAT(error_of([&] { build(in_memory(), with(array)); }), HasSubstr("'>f8'"));
  ModelSpec names = in_memory();
  names.options["names"] = "memory:x";
  EXPECT_THAT(error_of([&] { build(names, with(doubles)); }),
              AllOf(HasSubstr("`names` memory:x"), HasSubstr("a file is needed")));
}

TEST_F(ArraysTest, ARunGoesOnIfTheArrayIsHandedOverAgain) {
  const Recording whole{.folder = path("whole"), .format = "csv,netcdf"};
  RunSettings longer = quick;
  longer.draws = 50;
  const onward::Run unbroken = record(build(in_memory(), with(doubles)), longer, whole).run;
  record(build(in_memory(), with(doubles)), quick, {.folder = path("run")});

  const auto json = read_run_json(path("run"));
  EXPECT_EQ(json.at("model").at("x"), "memory:x");
  EXPECT_EQ(json.at("model").at("files").at("memory:x").at("dtype"), "<f8");
  const ModelSpec stored = ModelSpec::from_json(json.at("model"));
  EXPECT_THAT(error_of([&] { build(stored); }), HasSubstr("hand the array over"));

  const Recording on{.folder = path("run"), .into = Recording::Into::resumed};
  Array other = Array::of(predictors<float>(), {rows, 2});
  EXPECT_THAT(error_of([&] { record(build(in_memory(), with(other)), longer, on); }),
              AllOf(HasSubstr("memory:x has changed"), HasSubstr("hand over the array that it had")));
  const onward::Run resumed = record(build(stored, with(doubles)), longer, on).run;
  for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(resumed.chains[c].values, unbroken.chains[c].values);

  // What netCDF keeps of the data comes from memory too.
  const NetcdfReader data(path("whole/draws.nc"));
  EXPECT_EQ(data.draws(), 50u);
}

}  // namespace
}  // namespace onward::testing
