#include "plugin.hpp"

#include <dlfcn.h>

#include <filesystem>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/target/density.hpp"
#include "onward/util/printable.hpp"

namespace onward::detail {
namespace {

using Plugin = int (*)(const char* argument, onward_density* out, char* message);

/// The function that the file exports. The file stays loaded: its threads and what it hands out may outlive
/// every model.
Plugin open(const std::string& file) {
  // A bare name would be looked for among the system's libraries.
  const std::string path = std::filesystem::absolute(file).string();
  if (!std::filesystem::exists(path))
    throw Error(fmt::format("there is no file {}: name the shared object of a model", printable(file)));
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(fmt::format("{} cannot be loaded as a model: {}", printable(file), printable(::dlerror())));
  void* const symbol = ::dlsym(library, "onward_plugin");
  if (symbol == nullptr)
    throw Error(
        fmt::format("{} exports no function onward_plugin: a model does (docs/plugins.md)", printable(file)));
  return reinterpret_cast<Plugin>(symbol);
}

}  // namespace

Model density_model(DensityTarget target) {
  const std::vector<std::size_t> indices = target.name_indices();
  Model model =
      target.offers_gradient() ? Model(DensityWithGradient(std::move(target))) : Model(std::move(target));
  model.name_indices = indices;
  return model;
}

ModelKind plugin_kind() {
  using enum Option::Type;
  return {.name = "plugin",
          .summary = "a model of your own in a shared object, in C, C++, Fortran, ...: plugin:FILE.so",
          .options = {{.name = "file",
                       .type = file,
                       .help = "the shared object; plugin:FILE.so is the same",
                       .required = true},
                      {.name = "data",
                       .type = text,
                       .help = "text that is handed to the model: what it means is for the model to say"}},
          .subject = "file",
          .build = [](const OptionValues& options, const BuildFor&) {
            const std::string file = options.text("file");
            const Plugin plugin = open(file);
            onward_density density{};
            char message[ONWARD_MESSAGE_SIZE] = "";
            const int answer = plugin(options.text("data").c_str(), &density, message);
            message[ONWARD_MESSAGE_SIZE - 1] = '\0';
            if (answer != ONWARD_OK)
              throw Error(fmt::format("the model {} could not be made: {}", printable(file),
                                      *message != '\0' ? printable(message) : "it did not say why"));
            return density_model(DensityTarget(density));
          }};
}

}  // namespace onward::detail
