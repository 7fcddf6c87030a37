#pragma once
// What a density is built from in this folder: columns of stored data, and targets whose draws are reported
// as other numbers than the declared parameters.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/posteriors/models.hpp"
#include "onward/target/callable.hpp"

namespace onward::posteriors {

using Column = std::vector<double>;

inline Column column(const Data& data, const char* name) { return data.at(name).get<Column>(); }

/// A table that is stored as a list of its rows: one row after the other.
inline Column table_rows(const Data& data, const char* name) {
  Column all;
  for (const auto& row : data.at(name))
    for (const double x : row.get<Column>()) all.push_back(x);
  return all;
}

/// Data never change, so chains share them.
template <class T>
std::shared_ptr<const T> shared(T data) {
  return std::make_shared<const T>(std::move(data));
}

/// Draws of the declared parameters become the numbers that `report` writes, under these names.
template <class Base>
class Reported : public Base {
 public:
  using Report = std::function<void(std::span<const double> declared, std::span<double> out)>;
  Reported(Base base, std::vector<std::string> names, Report report)
      : Base(std::move(base)), names_(std::move(names)), report_(std::move(report)) {}

  std::vector<std::string> names() const { return names_; }
  void constrain(VectorView theta, std::span<double> out) const {
    std::vector<double> declared(this->parameters().constrained_size());
    Base::constrain(theta, declared);
    report_(declared, out);
  }

 private:
  std::vector<std::string> names_;
  Report report_;
};

/// "theta" becomes theta.1, theta.2, ...
inline void add_names(std::vector<std::string>& names, const std::string& name, std::size_t count) {
  for (std::size_t k = 1; k <= count; ++k) names.push_back(name + "." + std::to_string(k));
}

}  // namespace onward::posteriors
