// `onward serve MODEL`: a model for other tools, by the UM-Bridge protocol.

#include <memory>

#include <fmt/format.h>

#include "commands.hpp"
#include "model_options.hpp"
#include "notes.hpp"
#include "number_options.hpp"
#include "onward/error.hpp"
#include "onward/simulator/serve.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

struct Settings {
  ModelWords model;
  std::size_t port = 4242;
  bool quiet = false;
};

int serve(const Settings& s) {
  constexpr std::size_t last_port = 65535;
  if (s.port > last_port)
    throw UsageError(
        fmt::format("--port {} is none: ports go up to {}, and 0 is any that is free", s.port, last_port));
  const ModelSpec spec = spec_of(s.model);
  const Model model = build(spec, {.checksums = false});
  ModelServer server(model.target, {.name = spec.kind, .port = static_cast<std::uint16_t>(s.port)});
  const std::atomic<bool>& stop = stop_when_told();
  fmt::print("serving {} at http://127.0.0.1:{}\n", spec.kind, server.port());
  std::fflush(stdout);
  if (!s.quiet)
    say("input: {} number{}, a place as it is sampled; output: the log density there. Ctrl-C ends it\n",
        model.dimension(), model.dimension() == 1 ? "" : "s");
  server.run(stop);
  return done;
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  auto s = std::make_shared<Settings>();
  auto* command = app.add_subcommand(
      "serve", "make a model a UM-Bridge server on this machine, which tools of other makers can use");
  add_model_options(*command, s->model, false);
  add_count(*command, "--port", s->port, 0,
            "where it listens, on the loopback interface; 0: any port that is free");
  command->add_flag("--quiet", s->quiet, "nothing but the address");
  command->callback([s, &action] { action = [s] { return serve(*s); }; });
}

}  // namespace onward::app
