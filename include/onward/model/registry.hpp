#pragma once
// Kinds of models by name. Whatever takes a model from outside (the program, Python, run.json) asks here and
// nowhere else; a kind is added by one call.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "onward/model/model.hpp"
#include "onward/util/option.hpp"

namespace onward {

struct ModelKind {
  std::string name, summary;
  std::vector<Option> options = {};
  /// The name of the sampler that models of this kind have besides the usual ones; empty if there is none.
  std::string own_sampler = {};
  /// The option that a word after the name and a colon stands for: plugin:FILE is plugin with that file.
  /// Empty if there is none.
  std::string subject = {};
  /// What is built depends on the run that it is for, so that a model that was built without one is built
  /// anew.
  bool depends_on_run = false;
  /// What is reported may be less than what is sampled: a run may be asked for all of it as arrays of floats.
  bool has_arrays = false;
  /// Builds it from options that are checked. Specification and files are filled in by who calls it, unless
  /// it has something of its own to fill in.
  std::function<Model(const OptionValues& options, const BuildFor& what_for)> build = {};
};

class ModelRegistry {
 public:
  /// With the kinds of the core: built-in models and regressions.
  ModelRegistry();

  /// Throws std::logic_error if there is one of that name.
  void add(ModelKind kind);
  const std::vector<ModelKind>& kinds() const { return kinds_; }
  /// Throws UsageError with the nearest name and all there are.
  const ModelKind& find(std::string_view name) const;
  /// Names of the kinds that have an option of this name.
  std::vector<std::string> kinds_with(std::string_view option) const;

  Model build(const ModelSpec& spec, const BuildFor& what_for = {}) const;

 private:
  std::vector<ModelKind> kinds_;
};

/// Throws Error for a file of the specification that is gone or is not what it was, and for an array that is
/// another.
void check_files(const ModelSpec& spec, const BuildFor& what_for = {});

/// The one that build() asks. Add kinds to it before threads use it.
ModelRegistry& model_registry();

}  // namespace onward
