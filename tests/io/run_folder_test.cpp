#include "onward/io/run_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "io/scratch.hpp"
#include "onward/error.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class RunFolderTest : public testing::Scratch {};

TEST_F(RunFolderTest, MakesFoldersAndKnowsItsFiles) {
  const RunFolder folder = RunFolder::create(path("a/b/out"));
  EXPECT_TRUE(fs::is_directory(path("a/b/out")));
  EXPECT_EQ(folder.path(), path("a/b/out"));
  EXPECT_EQ(folder.run_json(), path("a/b/out/run.json"));
  EXPECT_EQ(folder.summary_json(), path("a/b/out/summary.json"));
  EXPECT_EQ(folder.checkpoint(), path("a/b/out/checkpoint"));
  EXPECT_EQ(folder.netcdf(), path("a/b/out/draws.nc"));
  EXPECT_EQ(folder.chain_csv(12), path("a/b/out/chain-12.csv"));
}

TEST_F(RunFolderTest, KeepsWhatExists) {
  std::ignore = RunFolder::create(path("out"));
  put("out/run.json", "{}");
  const auto message = error_of([&] { std::ignore = RunFolder::create(path("out")); });
  EXPECT_THAT(message, HasSubstr(path("out").string() + " exists already"));
  EXPECT_THAT(message, HasSubstr("`force`"));
  EXPECT_EQ(get(path("out/run.json")), "{}");
  put("file", "precious");
  for (bool force : {false, true})
    EXPECT_THAT(error_of([&] { std::ignore = RunFolder::create(path("file"), force); }),
                HasSubstr("is a file"));
  EXPECT_EQ(get(path("file")), "precious");
}

TEST_F(RunFolderTest, ForceRemovesARunAndNothingElse) {
  std::ignore = RunFolder::create(path("out"));
  for (const char* name :
       {"run.json", "summary.json", "chain-1.csv", "chain-12.csv", "draws.nc", "checkpoint", "draws.png",
        "predictions.png", "report.html", "comparison.html", "check.png"})
    put(std::string("out/") + name, "old");
  fs::create_directory(path("out/effects"));
  put("out/effects/x.csv", "old");
  put("out/effects/x.png", "old");
  const std::vector<std::string> kept{"notes.txt",   "chain-.csv", "chain-1.csv.bak", "chain-x.csv",
                                      "my-run.json", "data.csv",   "photo.png",       "drawing.svg"};
  for (const auto& name : kept) put("out/" + name, "mine");
  fs::create_directories(path("out/inner.png"));
  put("out/inner.png/run.json", "mine");

  RunFolder::create(path("out"), true).replace();
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(path("out"))) left.push_back(entry.path().filename());
  auto expected = kept;
  expected.push_back("inner.png");
  EXPECT_THAT(left, ::testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(get(path("out/inner.png/run.json")), "mine");
  std::ignore = RunFolder::create(path("fresh"), true);
  EXPECT_TRUE(fs::is_directory(path("fresh")));
}

TEST_F(RunFolderTest, AnEmptyFolderIsFree) {
  fs::create_directories(path("out"));
  put("out/.lock", "1\n");  // left by a run that was killed before it wrote anything
  RunFolder::check(path("out"));
  EXPECT_EQ(RunFolder::create(path("out")).path(), path("out"));
  EXPECT_TRUE(fs::is_empty(path("out")));  // a lock does not outlive its run
}

TEST_F(RunFolderTest, OneWriterAtATime) {
  std::optional<RunFolder> first = RunFolder::create(path("out"));
  put("out/chain-1.csv", "draws");
  const auto message = error_of([&] { std::ignore = RunFolder::create(path("out"), true); });
  EXPECT_THAT(message, HasSubstr("a run is writing to the folder " + path("out").string()));
  EXPECT_THAT(message, HasSubstr("(process " + std::to_string(::getpid()) + ")"));
  EXPECT_THAT(error_of([&] { RunFolder::check(path("out"), true); }), HasSubstr("a run is writing"));
  EXPECT_THAT(error_of([&] { std::ignore = RunFolder::reopen(path("out")); }), HasSubstr("a run is writing"));
  EXPECT_EQ(get(path("out/chain-1.csv")), "draws");
  EXPECT_EQ(FolderLock::holder(path("out")), ::getpid());

  // The lock goes where the folder goes, and ends with it.
  std::optional<RunFolder> moved = std::move(*first);
  first.reset();
  EXPECT_EQ(FolderLock::holder(path("out")), ::getpid());
  moved.reset();
  EXPECT_EQ(FolderLock::holder(path("out")), std::nullopt);
  EXPECT_EQ(RunFolder::reopen(path("out")).path(), path("out"));
  EXPECT_EQ(get(path("out/chain-1.csv")), "draws");
  EXPECT_THAT(error_of([&] { std::ignore = RunFolder::reopen(path("none")); }),
              HasSubstr("there is no folder"));
}

TEST_F(RunFolderTest, ALockDiesWithItsProcess) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const RunFolder folder = RunFolder::create(path("out"));
    [[maybe_unused]] const auto told = ::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(FolderLock::holder(path("out")), child);
  EXPECT_THAT(error_of([&] { std::ignore = RunFolder::create(path("out"), true); }),
              HasSubstr("(process " + std::to_string(child) + ")"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(FolderLock::holder(path("out")), std::nullopt);
  EXPECT_EQ(RunFolder::create(path("out")).path(), path("out"));
}

TEST_F(RunFolderTest, TheOldRunStaysUntilTheNewOneHasBegun) {
  fs::create_directories(path("out"));
  put("out/run.json", "old");
  put("out/chain-1.csv", "old");
  put("out/chain-2.csv", "old");
  put("out/notes.txt", "mine");
  const auto expect_old_run = [&] {
    for (const char* name : {"out/run.json", "out/chain-1.csv", "out/chain-2.csv"})
      EXPECT_EQ(get(path(name)), "old") << name;
    EXPECT_EQ(get(path("out/notes.txt")), "mine");
    EXPECT_EQ(std::distance(fs::directory_iterator(path("out")), {}), 4);
  };
  {
    const RunFolder failing = RunFolder::create(path("out"), true);
    EXPECT_FALSE(fs::exists(path("out/chain-1.csv")));
    put("out/run.json", "new");
    put("out/chain-3.csv", "new");
  }
  expect_old_run();

  // Killed before it began: the old run comes back with whoever takes the folder next.
  const auto killed = [&](const std::function<void()>& before) {
    const pid_t child = ::fork();
    if (child == 0) {
      const RunFolder folder = RunFolder::create(path("out"), true);
      before();
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  };
  killed([&] { put("out/run.json", "new"); });
  EXPECT_EQ(get(path("out/run.json")), "new");
  std::ignore = RunFolder::reopen(path("out"));
  expect_old_run();
  // Killed while the files were being moved: those that are still in place are of the old run.
  killed([&] {
    fs::rename(path("out/.replaced"), path("out/.moving"));
    fs::rename(path("out/.moving/chain-2.csv"), path("out/chain-2.csv"));
  });
  std::ignore = RunFolder::create(path("out"), true);
  expect_old_run();

  // Killed while the old run was being removed: what is left of it does not come back.
  killed([&] {
    put("out/run.json", "new");
    fs::rename(path("out/.replaced"), path("out/.removing"));
    fs::remove(path("out/.removing/run.json"));
  });
  std::ignore = RunFolder::reopen(path("out"));
  EXPECT_EQ(get(path("out/run.json")), "new");
  EXPECT_FALSE(fs::exists(path("out/.removing")));
  EXPECT_FALSE(fs::exists(path("out/chain-2.csv")));

  RunFolder begun = RunFolder::create(path("out"), true);
  put("out/run.json", "new");
  begun.replace();
  begun.replace();
  EXPECT_EQ(get(path("out/run.json")), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("out")), {}), 3);  // and the notes and the lock
}

TEST_F(RunFolderTest, WhatAKilledRunHadNotFinishedIsRemoved) {
  const std::vector<std::string> half{"checkpoint.123.tmp", "run.json.7.tmp", "chain-1.csv.tmp",
                                      "draws.nc.part", "draws.nc.chain-2.part"};
  const std::vector<std::string> kept{"run.json",  "checkpoint", "chain-1.csv",
                                      "notes.tmp", "my.part",    "chain-x.csv.tmp"};
  for (const bool force : {false, true}) {
    for (const auto& names : {half, kept})
      for (const auto& name : names) put(name, "text");
    if (force) {
      const RunFolder folder = RunFolder::create(path(""), true);
    } else {
      const RunFolder folder = RunFolder::reopen(path(""));
    }
    for (const auto& name : half) EXPECT_FALSE(fs::exists(path(name))) << name;
    for (const auto& name : kept) EXPECT_TRUE(fs::exists(path(name))) << name;
  }
}

TEST_F(RunFolderTest, TheNextFreeNameIsTakenByOneAlone) {
  fs::create_directories(path("out"));
  put("out-3", "a file");
  std::vector<RunFolder> folders;
  for (int i = 0; i < 3; ++i) folders.push_back(RunFolder::create_next(path("out")));
  EXPECT_EQ(folders[0].path(), path("out-2"));
  EXPECT_EQ(folders[1].path(), path("out-4"));
  EXPECT_EQ(folders[2].path(), path("out-5"));
  EXPECT_THAT(error_of([&] { std::ignore = RunFolder::create(path("out-4")); }),
              HasSubstr("a run is writing"));

  std::vector<fs::path> taken(16);
  {
    std::vector<std::jthread> threads;
    for (auto& place : taken)
      threads.emplace_back([&] {
        const RunFolder folder = RunFolder::create_next(path("race"));
        place = folder.path();
        put(place.filename().string() + "/run.json", "");
      });
  }
  std::ranges::sort(taken);
  EXPECT_EQ(std::ranges::adjacent_find(taken), taken.end());
  EXPECT_TRUE(fs::exists(path("race-16")));
  EXPECT_FALSE(fs::exists(path("race-17")));
  EXPECT_THAT(error_of([&] { std::ignore = RunFolder::create_next(path("none/out")); }),
              HasSubstr("No such file"));
}

TEST_F(RunFolderTest, SaysWhyAFolderCannotBeMade) {
  put("file", "x");
  EXPECT_THAT(error_of([&] { std::ignore = RunFolder::create(path("file/out")); }),
              HasSubstr("Not a directory"));
  EXPECT_THAT(error_of([&] { std::ignore = RunFolder::create("/proc/onward-out"); }),
              HasSubstr("cannot make the folder /proc/onward-out"));
  EXPECT_THAT(error_of([&] { std::ignore = RunFolder::create(path(std::string(300, 'x'))); }),
              HasSubstr("File name too long"));
  EXPECT_THAT(error_of([&] { RunFolder::open(path("none")); }), HasSubstr("there is no folder"));
  EXPECT_THAT(error_of([&] { RunFolder::open(path("file")); }), HasSubstr("is not a folder"));
}

TEST_F(RunFolderTest, ChainsComeByNumber) {
  std::ignore = RunFolder::create(path("out"));
  EXPECT_THAT(error_of([&] { find_chains(path("out")); }), HasSubstr("no chain-1.csv"));
  for (const char* name : {"chain-10.csv", "chain-2.csv", "chain-1.csv", "chain-01.csv", "chain-1.txt"})
    put(std::string("out/") + name, "");
  EXPECT_THAT(find_chains(path("out")),
              ElementsAre(path("out/chain-1.csv"), path("out/chain-2.csv"), path("out/chain-10.csv")));
  EXPECT_THAT(error_of([&] { find_chains(path("none")); }), HasSubstr("there is no folder"));
}

TEST_F(RunFolderTest, AtomicWritesReplaceWholeFilesOrNothing) {
  write_file_atomically(path("run.json"), "one");
  write_file_atomically(path("run.json"), "two");
  EXPECT_EQ(get(path("run.json")), "two");
  EXPECT_THAT(error_of([&] { write_file_atomically(path("none/run.json"), "x"); }),
              HasSubstr("No such file"));
  fs::create_directories(path("folder/inner"));
  EXPECT_THAT(error_of([&] { write_file_atomically(path("folder"), "x"); }), HasSubstr("cannot write"));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(path(""))) ++files;
  EXPECT_EQ(files, 2u);  // no temporary is left
}

}  // namespace
}  // namespace onward
