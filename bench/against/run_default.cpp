// run_default [--posteriordb DIR] [--sampler NAME] [--draws N] [--max-seconds S] [--library] NAME SEED...:
// one run without options for each seed, and one line of JSON each. --data prints a posterior's data instead.

#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/posteriors/default_run.hpp"

int main(int count, char** words) {
  using namespace onward::bench;
  std::string folder;
  DefaultSettings settings;
  std::vector<std::string> rest;
  bool data = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto next = [&] { return i + 1 < count ? std::string(words[++i]) : std::string(); };
    if (word == "--posteriordb") {
      folder = next();
    } else if (word == "--sampler") {
      settings.sampler = next();
    } else if (word == "--draws") {
      settings.draws = std::stoul(next());
    } else if (word == "--max-seconds") {
      settings.max_seconds = std::stod(next());
    } else if (word == "--library") {
      settings.length = Length::library;
    } else if (word == "--data") {
      data = true;
    } else {
      rest.push_back(word);
    }
  }
  try {
    if (rest.empty()) {
      for (const auto& name : posterior_names(folder)) fmt::print("{}\n", name);
      return 0;
    }
    if (data) {
      fmt::print("{}\n", posterior_data(rest[0], folder).dump());
      return 0;
    }
    const auto posterior = make_posterior(rest[0], folder);
    for (std::size_t k = 1; k < rest.size(); ++k) {
      settings.seed = std::stoull(rest[k]);
      fmt::print("{}\n", to_json(default_figures(posterior, settings)).dump());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "run_default: {}\n", error.what());
    return 1;
  }
  return 0;
}
