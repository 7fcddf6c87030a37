// What `onward sample net` refuses and warns of: wrong requests, bad files, too little memory.

#include <cstring>

#include "net_program.hpp"
#include "onward/io/safetensors.hpp"

namespace onward::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Net, WrongRequests) {
  const std::string data = " --x x.npy --y y.npy";
  wrong_usage("sample net" + data, {"--net is missing"});
  wrong_usage("sample net --net linear.json", {"--x", "--data"});
  wrong_usage("sample net --net linear.json --x x.npy", {"--y"});
  wrong_usage("sample net --net linear.json --data mnist" + data, {"--x", "--data"});
  wrong_usage("sample net --net linear.json --data cifar", {"cifar", "Did you mean cifar10?"});
  wrong_usage("sample net --net linear.json --family gaussian" + data, {"--family", "glm"});
  wrong_usage("sample net --net linear.json --dim 3" + data, {"--dim"});
  wrong_usage("sample funnel --net linear.json", {"--net", "belongs to the model net"});
  wrong_usage("sample glm --net linear.json --family gaussian" + data, {"--net", "belongs to the model net"});
  wrong_usage("sample net --net linear.json --likelihood normal" + data, {"normal", "gaussian or softmax"});
  wrong_usage("sample net --net linear.json --gradient all --sampler mala" + data, {"all", "checkpoint"});
  wrong_usage("sample net --net linear.json --prior-sd 0" + data, {"sd is 0"});
  wrong_usage("sample net --net linear.json --likelihood softmax --x x.npy --y classes.npy",
              {"an output for each class", "one output"});
  put("none.json", R"({"input": 2, "layers": ["relu"]})");
  wrong_usage("sample net --net none.json --x x.npy --y classes.npy", {"no parameters", "nothing to sample"});
  wrong_usage("sample net --net linear.json --sigma -1" + data, {"sigma is -1"});
  wrong_usage("sample net --net linear.json --images 0" + data, {"--images 0"});
  wrong_usage("sample net --net linear.json --format hdf" + data, {"hdf", "csv"});
  wrong_usage("sample funnel --format npy", {"npy", "net"});
  wrong_usage("sample net --net linear.json --test-y y.npy" + data, {"--test-x"});
  wrong_usage("sample net --net linear.json --max-memory much" + data, {"--max-memory much", "300M"});
  wrong_usage("evaluate funnel --net linear.json", {"--net", "belongs to the model net"});
}

TEST_F(Net, BadFilesAreNamed) {
  const std::string data = " --x x.npy --y y.npy --sampler rwm";
  cannot("sample net --net none.json" + data, {"none.json"});
  put("broken.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 3}, {"kind": "max-pool"}]})");
  cannot("sample net --net broken.json" + data, {"broken.json", "layer 1 (max-pool)"});
  cannot("sample net --net two.json" + data,
         {"--y y.npy", "rows of 1", "the network gives 2", "--likelihood softmax"});
  save("strange.npy", std::vector<double>(60, std::nan("")), {60});
  cannot("sample net --net two.json --x x.npy --y strange.npy",
         {"--y strange.npy", "row 1", "nan", "finite"});
  put("image.json", R"({"input": [1, 4, 4], "layers": [{"kind": "conv2d", "channels": 2}]})");
  cannot("sample net --net image.json --x images.npy --y classes.npy",
         {"image.json", "layer 0", "images of 2x2x2", "flatten"});
  wrong_usage("sample net --net linear.json --init lecunn" + data, {"no file lecunn", "Did you mean lecun?"});
  wrong_usage("sample net --net linear.json --init random:x" + data, {"random:x", "0 or a positive number"});
  cannot("sample net --net conv.json --x x.npy --y classes.npy", {"--x x.npy has rows of 2", "takes 1x4x4"});
  cannot("sample net --net two.json --x images.npy --y classes.npy", {"rows of 1x4x4", "takes 2"});
  std::vector<std::uint8_t> last(rows * 16);
  save("last.npy", last, {rows, 4, 4, 1});
  cannot("sample net --net conv.json --x last.npy --y classes.npy",
         {"rows of 4x4x1", "takes 1x4x4", "transpose(0, 3, 1, 2)"});
  save("other.npy", last, {rows, 1, 2, 8});
  cannot("sample net --net conv.json --x other.npy --y classes.npy", {"rows of 1x2x8", "takes 1x4x4"});
  save("five.npy", std::vector<double>(5));
  cannot("sample net --net linear.json --x x.npy --y five.npy", {"60 rows", "five.npy has 5"});
  save("none.npy", std::vector<double>(), {0, 2});
  cannot("sample net --net linear.json --x none.npy --y y.npy", {"none.npy has no rows"});
  cannot("sample net --net linear.json --x x.npy --y y.npy --test-x none.npy",
         {"--test-x none.npy has no rows"});
  cannot("sample net --net linear.json --images 61" + data, {"--images 61", "60"});
  std::vector<std::int64_t> classes(rows);
  classes[7] = 2;
  save("far.npy", classes);
  cannot("sample net --net two.json --x x.npy --y far.npy", {"row 8", "class 2", "0 to 1"});
  classes[7] = -1;
  save("below.npy", classes);
  cannot("sample net --net two.json --x x.npy --y below.npy", {"row 8", "class -1"});
  std::vector<double> x(2 * rows);
  x[11] = NAN;
  save("nan.npy", x, {rows, 2});
  cannot("sample net --net linear.json --x nan.npy --y y.npy", {"nan.npy", "row 6", "nan"});
}

TEST_F(Net, WeightsOfAnotherNetworkAndNaNAreRefused) {
  ASSERT_EQ(
      onward("sample net --net tanh.json --x x.npy --y y.npy --sampler rwm --warmup 5 --draws 2 --chains 1 "
             "--seed 1 --out run --quiet")
          .code,
      0);
  const std::string words = " --x x.npy --y y.npy --sampler rwm --init ";
  cannot("sample net --net large.json" + words + "run/chain-1.safetensors",
         {"0.weight is [4, 2]", "[300, 2]"});
  std::string bytes = get(path("run/chain-1.safetensors"));
  put("cut.safetensors", bytes.substr(0, bytes.size() - 2));
  cannot("sample net --net tanh.json" + words + "cut.safetensors", {"cut.safetensors", "promises"});
  const float nan = NAN;
  std::memcpy(bytes.data() + bytes.size() - 4, &nan, 4);
  put("nan.safetensors", bytes);
  cannot("sample net --net tanh.json" + words + "nan.safetensors", {"entry 0", "2.bias", "nan"});
  wrong_usage("sample net --net tanh.json" + words + "y.npy", {"y.npy has 60 entries", "18 parameters"});
  wrong_usage("sample net --net tanh.json" + words + "model.pt",
              {"model.pt", "PyTorch", "safetensors.torch"});
}

TEST_F(Net, NotesOnWhatWasTakenForGranted) {
  const std::string words = "sample net --warmup 5 --draws 2 --thin 1 --seed 1 --out none ";
  const Outcome whole = onward(words + "--net linear.json --x x.npy --y classes.npy --sampler rwm");
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.err, HasSubstr("taken for numbers"));
  EXPECT_THAT(
      onward(words + "--net linear.json --x x.npy --y classes.npy --sampler rwm --likelihood gaussian").err,
      Not(HasSubstr("taken for numbers")));
  std::vector<double> yes(rows);
  for (std::size_t i = 0; i < rows; i += 3) yes[i] = 1;
  save("yes.npy", yes);
  const std::string yes_or_no = "--net linear.json --x x.npy --y yes.npy --sampler rwm";
  EXPECT_THAT(onward(words + yes_or_no).err,
              AllOf(HasSubstr("y holds nothing but 0 and 1"), HasSubstr("--likelihood softmax")));
  EXPECT_THAT(onward(words + yes_or_no + " --likelihood gaussian").err, Not(HasSubstr("0 and 1")));
  const Outcome idle = onward(
      words +
      "--net linear.json --x x.npy --y y.npy --sampler line-fmala --gradient whole --keep-activations 1M");
  EXPECT_THAT(idle.err, HasSubstr("--gradient changes nothing for line-fmala"));
  EXPECT_THAT(idle.err, HasSubstr("--keep-activations changes nothing without --directions blocks"));
}

TEST_F(Net, MoreThanAnyMachineHolds) {
  const std::string data = " --x x.npy --y y.npy --sigma 1 --out none";
  put("vast.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 1000000}, "relu",
                       {"kind": "linear", "outputs": 900000}, "relu", {"kind": "linear", "outputs": 1}]})");
  cannot("sample net --net vast.json" + data, {"900004", "parameters", "GB of this machine's"});
  put("wide.json", R"({"input": 2, "layers": [{"kind": "linear", "outputs": 1000000}, "relu",
                       {"kind": "linear", "outputs": 1000000}, "relu", {"kind": "linear", "outputs": 1}]})");
  cannot("sample net --net wide.json" + data, {"wide.json: layer 2 (linear)", "1e+12"});
}

TEST_F(Net, MemoryIsToldBeforehand) {
  const std::string data = " --x x.npy --y y.npy --sigma 0.3";
  cannot("sample net --net large.json --max-memory 10k" + data,
         {"--max-memory 10k", "4 chains", "pieces of 1 row", "MB"});
  cannot("sample net --net large.json --max-memory 1M --piece 60" + data,
         {"pieces of 60 rows", "without --piece"});
  cannot("sample net --net large.json --max-memory 200k --sampler mala --gradient whole --chains 1" + data,
         {"--gradient whole would take", "by --max-memory", "checkpoint"});
  EXPECT_EQ(
      onward(
          "sample net --net large.json --max-memory 100M --warmup 5 --draws 2 --seed 1 --out none --quiet" +
          data)
          .code,
      0);
}

}  // namespace
}  // namespace onward::testing
