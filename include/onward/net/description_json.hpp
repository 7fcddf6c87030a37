#pragma once
// A network's description as a small JSON file, in the words of kind_of:
//
//     {"input": [1, 28, 28],
//      "layers": [{"kind": "conv2d", "channels": 8, "padding": 1}, "relu", "max-pool", "flatten",
//                 {"kind": "linear", "outputs": 10}]}
//
// A layer that needs no numbers is its word alone; numbers that are left out are the defaults of
// description.hpp.

#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "onward/net/description.hpp"

namespace onward::net {

/// Everything is written out, defaults included.
nlohmann::ordered_json to_json(const Description& description);

/// Throws Error that names `where` (a file, say), the layer by its number, the key, the value and what is
/// allowed. Shapes are not compared: that is Layout's part.
Description description_from_json(const nlohmann::ordered_json& json, const std::string& where);

/// Throws Error as above, also for what is no JSON.
Description read_description(const std::filesystem::path& file);
/// Also check that the shapes fit, naming the file in what Layout says.
Layout layout_from_json(const nlohmann::ordered_json& json, const std::string& where);
Layout read_layout(const std::filesystem::path& file);
void write_description(const std::filesystem::path& file, const Description& description);

}  // namespace onward::net
