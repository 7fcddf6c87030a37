#pragma once
// A target as a plug-in, by one macro. Compiled to a shared object it is a model for `onward sample
// plugin:FILE.so` and for onward.plugin() in Python:
//
//     #include <onward/plugin.hpp>
//     ONWARD_PLUGIN(argument) {
//       return onward::target(2, [](const auto& t) { return -0.5 * (t[0] * t[0] + t[1] * t[1]); });
//     }
//
// The body is that of a function that gives any target; `argument` is the text that the user gave, as a
// std::string. What it throws is told to the user.

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <onward.h>

#include "onward/io/named_arrays.hpp"
#include "onward/onward.hpp"

namespace onward::plugin {

inline int told(char* message, int code, const char* words) {
  std::strncpy(message, words, ONWARD_MESSAGE_SIZE - 1);
  message[ONWARD_MESSAGE_SIZE - 1] = '\0';
  return code;
}

template <class Call>
int guarded(char* message, const Call& call) {
  try {
    call();
    return ONWARD_OK;
  } catch (const std::domain_error& e) {
    return told(message, ONWARD_NO_DENSITY, e.what());
  } catch (const std::exception& e) {
    return told(message, ONWARD_FAILED, e.what());
  } catch (...) {
    return told(message, ONWARD_FAILED, "something was thrown that is no std::exception");
  }
}

/// What stands behind an onward_density. Each chain has a copy: targets have scratch memory.
struct Held {
  AnyTarget target;
  std::vector<NamedShape> shapes;
  std::vector<onward_parameter> parameters;
  std::vector<std::size_t> order, blocks;  // order: which of the target's numbers each entry is
  std::vector<double> reported;

  explicit Held(AnyTarget given) : target(std::move(given)) {
    ParameterShapes all = parameter_shapes(target.names());
    shapes = std::move(all.variables);
    order = std::move(all.order);
    reported.resize(order.size());
    for (const NamedShape& one : shapes)
      parameters.push_back({one.name.c_str(), one.shape.size(), one.shape.data()});
    for (const ParameterBlock& block : target.blocks()) blocks.push_back(block.size);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

inline Held& held(void* data) { return *static_cast<Held*>(data); }

inline void fill(AnyTarget target, onward_density& out) {
  auto owned = std::make_unique<Held>(std::move(target));
  const Held& model = *owned;
  out = {};
  out.version = ONWARD_INTERFACE;
  out.dimension = model.target.dimension();
  out.jet = [](void* data, const double* theta, const double* v, int order, double* result, char* message) {
    return guarded(message, [&] {
      const std::size_t n = held(data).target.dimension();
      const Jet jet = held(data).target.jet({theta, n}, {v, v == nullptr ? 0 : n}, static_cast<Order>(order));
      result[0] = jet.value;
      if (order >= 1) result[1] = jet.slope;
      if (order == 2) result[2] = jet.curvature;
    });
  };
  if (model.target.has_gradient())
    out.gradient = [](void* data, const double* theta, double* value, double* slopes, char* message) {
      return guarded(message, [&] {
        const std::size_t n = held(data).target.dimension();
        *value = held(data).target.gradient({theta, n}, {slopes, n});
      });
    };
  out.constrain = [](void* data, const double* theta, double* result, char* message) {
    return guarded(message, [&] {
      Held& model_here = held(data);
      model_here.target.constrain({theta, model_here.target.dimension()}, model_here.reported);
      for (std::size_t i = 0; i < model_here.order.size(); ++i)
        result[i] = model_here.reported[model_here.order[i]];
    });
  };
  out.parameter_count = model.parameters.size();
  out.parameters = model.parameters.data();
  out.block_count = model.blocks.size();
  out.blocks = model.blocks.data();
  out.copy = [](void* data) -> void* {
    try {
      return new Held(AnyTarget(held(data).target));
    } catch (...) {
      return nullptr;
    }
  };
  out.release = [](void* data) { delete static_cast<Held*>(data); };
  out.data = owned.release();
}

}  // namespace onward::plugin

// A function of the user's own name: the body follows the macro.
#define ONWARD_PLUGIN(argument)                                                                       \
  static onward::AnyTarget onward_plugin_target(const std::string& argument);                         \
  extern "C" ONWARD_PUBLIC int onward_plugin(const char* given, onward_density* out, char* message) { \
    return onward::plugin::guarded(message,                                                           \
                                   [&] { onward::plugin::fill(onward_plugin_target(given), *out); }); \
  }                                                                                                   \
  static onward::AnyTarget onward_plugin_target([[maybe_unused]] const std::string& argument)
