#pragma once
// Simulators that speak UM-Bridge, the protocol by which tools for uncertainty quantification talk to models
// over HTTP (protocol version 1.0):
//
//     auto model = onward::umbridge("http://localhost:4242");

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "onward/simulator/simulator.hpp"

namespace onward {

struct UmBridgeOptions {
  std::string model = {};  ///< its name on the server; may be left out where there is one model only
  nlohmann::ordered_json config = nlohmann::ordered_json::object();  ///< handed on with every request
  double timeout = 60;                                               ///< seconds that an answer may take
  double patience = 60;            ///< seconds in which a server that has gone away may come back
  bool second_derivatives = true;  ///< false: not even where the server offers them
};

/// The model behind one address, or behind several, separated by commas, that all have the same model: each
/// connection takes the one that the fewest others use. Asks the server what it offers. Throws UsageError for
/// what is no address, Error if there is no server or it has no such model.
std::unique_ptr<Simulator> umbridge(const std::string& urls, const UmBridgeOptions& options = {});

}  // namespace onward
