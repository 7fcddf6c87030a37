#pragma once
// Environment variables that a test sets and puts back, and programs of its own on the PATH.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace onward::testing {

class Variable {
 public:
  Variable(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
    if (const char* was = std::getenv(name_.c_str())) before_ = was;
    set(value);
  }
  ~Variable() { set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value)
      ::setenv(name_.c_str(), value->c_str(), 1);
    else
      ::unsetenv(name_.c_str());
  }
  std::string name_;
  std::optional<std::string> before_;
};

/// A PATH of one folder: links to the programs named, and scripts that stand in for others.
class Programs {
 public:
  Programs(const std::filesystem::path& folder, std::initializer_list<std::string> real)
      : folder_(folder), path_("PATH", search_and_link(folder, real)) {}

  void script(const std::string& name, const std::string& commands) const {
    const auto file = folder_ / name;
    std::filesystem::remove(file);
    std::ofstream(file) << "#!/bin/sh\n" << commands << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  void remove(const std::string& name) const { std::filesystem::remove(folder_ / name); }

 private:
  static std::string search_and_link(const std::filesystem::path& folder,
                                     std::initializer_list<std::string> real) {
    std::filesystem::create_directories(folder);
    for (const auto& name : real) {
      std::istringstream places(std::getenv("PATH"));
      bool found = false;
      for (std::string place; !found && std::getline(places, place, ':');)
        if (const auto file = std::filesystem::path(place) / name; std::filesystem::exists(file)) {
          std::filesystem::create_symlink(file, folder / name);
          found = true;
        }
      EXPECT_TRUE(found) << name;
    }
    return folder.string();
  }

  std::filesystem::path folder_;
  Variable path_;
};

}  // namespace onward::testing
