#pragma once
// What networks learn from and predict: arrays in files or in memory, or images by the name of their data
// set. Messages name the field of the specification that a file was given by.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/model/model.hpp"
#include "onward/net/data.hpp"
#include "onward/net/description.hpp"

namespace onward::net {

/// What training and test data there are.
struct Sets {
  Data train;
  Inputs test;
  std::optional<Answers> test_answers;
  bool own_rows = true;          ///< test are the rows of train
  nlohmann::ordered_json units;  ///< of standardised data: means and sds; null without
  std::vector<std::string> notes;
};

/// Reads what the options say, and checks it against what the network takes and gives.
Sets read_sets(const OptionValues& given, const BuildFor& what_for, const Layout& layout);

/// What `data` may be.
std::vector<std::string> data_names();

}  // namespace onward::net
