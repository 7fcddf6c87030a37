#pragma once
// A target as a UM-Bridge server, so that other tools can use it:
//
//     onward::ModelServer server(target, {.name = "funnel"});
//     server.run(stop);  // at http://127.0.0.1:<server.port()>
//
// The one input is a place as it is sampled, the one output is its log density.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "onward/target/target.hpp"

namespace onward {

struct ServeOptions {
  std::string name = "model";  ///< what the model is called there
  std::uint16_t port = 0;      ///< 0: one that is free
};

class ModelServer {
 public:
  /// Listens on the loopback interface from here on: other machines cannot reach it. Throws Error if the port
  /// is taken.
  ModelServer(const AnyTarget& target, const ServeOptions& options = {});
  ~ModelServer();
  ModelServer(const ModelServer&) = delete;
  ModelServer& operator=(const ModelServer&) = delete;

  std::uint16_t port() const;
  /// Answers until `stop` becomes true. Each connection has a thread and a copy of the target.
  void run(const std::atomic<bool>& stop);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace onward
