#pragma once
// Arrays by name, as files describe them: a model's parameters, the data that it was given, and the log
// likelihood of each observation.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace onward {

/// A variable by name and shape. A scalar has an empty shape.
struct NamedShape {
  std::string name;
  std::vector<std::size_t> shape;
  std::vector<std::string> dims = {};  ///< names of the dimensions; if empty NAME_dim_0, NAME_dim_1, ...
  /// For each dimension the names of its entries; without them, or where one's are empty, they are 0, 1, ...
  std::vector<std::vector<std::string>> coordinates = {};
  /// The values come as Stan lists them (theta.1.1, theta.2.1, ...) instead of last index fastest.
  bool first_index_fastest = false;
  /// What tables call an entry: theta.{}, where each {} stands for an index, which is the name of the entry
  /// in that dimension if it has one and else is counted from 1. Empty: as ArviZ has it, theta[0].
  std::string entry_names = {};

  std::size_t size() const;
};

/// Parameters by name and shape: theta.1 to theta.8 are one variable. Names that do not fill a box of indices
/// stay single numbers.
struct ParameterShapes {
  std::vector<NamedShape> variables;
  std::vector<std::size_t>
      order;  ///< which parameter each value is, variable after variable, last index fastest
};

/// `indices`: how many of the numbers that each name ends in are indices, as for csv_names().
ParameterShapes parameter_shapes(const std::vector<std::string>& names,
                                 const std::vector<std::size_t>& indices = {});

/// How numbers are stored that are no draws.
enum class NumberType { float64, float32, uint8 };

/// Hands on all values of an array, last index fastest, in parts of any length: not all of them need be in
/// memory at a time.
using ValueSource = std::function<void(const std::function<void(std::span<const double> part)>& take)>;

/// What a model was given: observations, or what they are to be explained by.
struct DataArray {
  enum class Role { observed, constant };
  Role role = Role::constant;
  NamedShape shape;
  NumberType type = NumberType::float64;
  ValueSource values;
};

/// The log likelihood of each observation, as a function of a draw.
struct LogLikelihood {
  NamedShape shape;
  /// From the parameters as the model's names have them, constants included. Several threads may call it at a
  /// time.
  std::function<void(std::span<const double> parameters, std::span<double> out)> at;
  /// The same of the observations first, first + 1, ... alone, as many as `out` has room for; may be empty.
  /// Whoever wants a few observations at all draws then need not compute the others.
  std::function<void(std::span<const double> parameters, std::size_t first, std::span<double> out)> part = {};
  /// The row of the table, from 0, that each observation is, if rows were left out; empty: all, in order.
  std::vector<std::uint32_t> rows = {};
};

}  // namespace onward
