// `onward paper cnn` as a user runs it, with a small network and made images.

#include <cstdlib>
#include <fstream>
#include <optional>

#include "experiments/cifar_files.hpp"
#include "program.hpp"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

class PaperCnn : public Program {
 protected:
  PaperCnn() { write_small_cifar(path("images")); }
  const std::string base = "paper cnn --data images --width 1 --held-out 50 --quiet ";
  const std::string training = base + "--train-images 0 ";
  const std::string sampling =
      base +
      "--images 40 --draws 4 --predicted 2 --grid 2 --seeds 2 --sizes 20,30 --timing-steps 1 --samplers "
      "line-fmala,mala ";
};

TEST_F(PaperCnn, TrainsAndThenSamplesFromThere) {
  const Outcome trained = onward(training + "--pretrain --epochs 2 --out run --json");
  ASSERT_EQ(trained.code, 0) << trained.err;
  const json start = json::parse(trained.out);
  EXPECT_EQ(start.at("pretraining").at("epochs").size(), 2u);
  EXPECT_TRUE(fs::exists(path("run/start.safetensors")));

  const Outcome outcome = onward(sampling + "--out run --resume --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json table = json::parse(outcome.out);
  EXPECT_EQ(table.at("start").at("test"), start.at("start").at("test"));
  EXPECT_EQ(table.at("quality").size(), 2u);
  EXPECT_EQ(table.at("timing").size(), 8u);
  for (const char* file :
       {"table.txt", "table.md", "quality.csv", "timing.csv", "table.json", "step-size.svg", "step-size.png"})
    EXPECT_TRUE(fs::exists(path("run") / file)) << file;

  const Outcome part = onward(base +
                              "--part timing --max-memory 1.1M --out other --sizes 300 --timing-steps 1 "
                              "--samplers mala");
  ASSERT_EQ(part.code, 0) << part.err;
  EXPECT_THAT(part.out, HasSubstr("would need"));
  EXPECT_THAT(part.out, ::testing::Not(HasSubstr("Tables 4 and 7")));
  EXPECT_FALSE(fs::exists(path("other/quality.csv")));
}

TEST_F(PaperCnn, TrainingGoesOnAfterAnInterrupt) {
  const std::string line = training + "--pretrain --epochs 12 ";
  ASSERT_EQ(onward(line + "--out whole").code, 0);
  Started started(split(line + "--out cut"), {.folder = path("")});
  wait_until([&] { return fs::exists(path("cut/training.safetensors")); });
  started.send(SIGINT);
  const Outcome outcome = started.wait();
  // It may have been quicker than the signal.
  EXPECT_THAT(outcome.code, ::testing::AnyOf(0, 130)) << outcome.err;
  ASSERT_EQ(onward(line + "--out cut --resume").code, 0);
  EXPECT_EQ(get(path("cut/start.safetensors")), get(path("whole/start.safetensors")));
}

TEST_F(PaperCnn, QuickDoesAllOfIt) {
  const Outcome outcome = onward(sampling + "--quick --train-images 0 --epochs 1 --part all --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json table = json::parse(outcome.out);
  for (const char* key : {"pretraining", "start", "quality", "timing"})
    EXPECT_TRUE(table.contains(key)) << key;
}

TEST_F(PaperCnn, QuickWorksInAFolderThatNobodyElseCanHavePrepared) {
  fs::create_directories(path("temporary"));
  const auto kept = [] {
    const char* const there = std::getenv("TMPDIR");
    return there != nullptr ? std::optional<std::string>(there) : std::nullopt;
  }();
  ASSERT_EQ(::setenv("TMPDIR", path("temporary").c_str(), 1), 0);
  Started started(split(sampling + "--quick --train-images 0 --epochs 100000 --part all"),
                  {.folder = path("")});
  ASSERT_EQ(kept ? ::setenv("TMPDIR", kept->c_str(), 1) : ::unsetenv("TMPDIR"), 0);
  const auto entries = [&] { return fs::directory_iterator(path("temporary")); };
  wait_until([&] { return entries() != fs::directory_iterator(); });
  const fs::path folder = entries()->path();
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(folder.filename().string().size(), std::string("onward-XXXXXX").size());
  started.send(SIGINT);
  EXPECT_EQ(started.wait().code, 130);
  EXPECT_TRUE(fs::is_empty(path("temporary")));
}

TEST_F(PaperCnn, WrongRequests) {
  wrong_usage("paper cnn --steps 30", {"--steps", "funnel"});
  wrong_usage("paper bnn --draws 30", {"--draws", "cnn"});
  wrong_usage("paper bnn --pretrain", {"--pretrain", "cnn"});
  wrong_usage("paper cnn --images 0", {"--images 0"});
  wrong_usage("paper cnn --part most", {"--part 'most'", "quality"});
  wrong_usage("paper cnn --part none", {"--pretrain"});
  wrong_usage("paper cnn --pretrain --start a.safetensors", {"--start"});
  wrong_usage("paper cnn --max-memory much", {"--max-memory much"});
  wrong_usage(sampling + "--part timing --sizes 301", {"sizes 301", "300"});
  wrong_usage(training + "--pretrain --train-images 280", {"280", "300"});
  cannot(base + "--part timing --sizes 20 --max-memory 50k", {"0.05 MB", "one image"});
  cannot("paper cnn --data nowhere --part timing --quiet", {"nowhere", "onward data get cifar10"});
  cannot(sampling + "--start nothing.safetensors", {"nothing.safetensors"});
  std::ofstream(path("wrong.safetensors")) << "weights";
  cannot(sampling + "--start wrong.safetensors", {"wrong.safetensors"});
}

TEST_F(PaperCnn, WithoutAStartItSaysHowToGetOne) {
  // A home without a cache.
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", path("empty").c_str(), 1), 0);
  cannot(sampling, {"--pretrain", "--start"});
  cannot("paper cnn --part timing --quiet", {"onward data get cifar10"});
  ASSERT_EQ(::unsetenv("XDG_CACHE_HOME"), 0);
}

}  // namespace
}  // namespace onward::testing
