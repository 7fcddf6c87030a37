#include "cnn_samplers.hpp"

#include <fmt/format.h>

#include "checks.hpp"

namespace onward::experiments {
namespace {

// As with the regression network, the paper corrects for the bias of a unit direction where it can. With that
// correction a step of fmala is as long as one of mala at the root of D times the step size. pc-fmala is
// hardly ever accepted, whatever its step size: the scale of its noise depends on the direction, in all
// dimensions at once.
const CnnSampler known[] = {
    {"rwm", BiasCorrection::none, 5e-4, 5e-3, Order::value, 1},
    {"mala", BiasCorrection::none, 5e-4, 5e-3, Order::slope, 3},
    {"fmala", BiasCorrection::coupled, 3.2e-7, 3.2e-6, Order::slope, 3},
    {"line-fmala", BiasCorrection::coupled, 5e-4, 5e-3, Order::slope, 6},
    {"pc-fmala", BiasCorrection::coupled, 1e-3, 1e-3, Order::curvature, 5},
    {"pc-line-fmala", BiasCorrection::none, 0.3, 2, Order::curvature, 10},
    {"newton-line", BiasCorrection::none, 0, 0, Order::curvature, 10},
};

}  // namespace

const CnnSampler& find_cnn_sampler(std::string_view name) { return find_by_name(known, name); }

KernelSettings kernel_settings(const CnnSampler& sampler, std::optional<double> step_size) {
  KernelSettings settings;
  settings.sampler = sampler.name;
  settings.step_size = step_size.value_or(1);
  settings.options["bias_correction"] = to_string(sampler.correction);
  if (sampler.has_step_size()) settings.options["curvature_floor"] = 0;  // the paper's kernels have none
  return settings;
}

std::vector<std::optional<net::GradientForm>> forms_of(const CnnSampler& sampler) {
  using enum net::GradientForm;
  if (!find_sampler(sampler.name).needs_gradient) return {std::nullopt};
  return {whole, pieces, checkpoint};
}

std::string_view word_of(net::GradientForm form) {
  switch (form) {
    case net::GradientForm::whole:
      return "whole";
    case net::GradientForm::pieces:
      return "pieces";
    case net::GradientForm::checkpoint:
      return "checkpoint";
  }
  return "";
}

}  // namespace onward::experiments
