#pragma once
// Arrays that models are given: numbers in memory, or in a .npy file. Both are described in NumPy's words,
// and numbers in memory are used where they are.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onward/io/npy.hpp"

namespace onward {

/// Numbers in memory, in the order that the header tells. Copies share them.
struct Array : NpyHeader {
  std::span<const std::byte> bytes = {};
  /// What keeps the memory while it is needed. Without an owner it must outlive the models that are built
  /// from it.
  std::shared_ptr<const void> owner = {};

  Array() = default;
  /// Takes the numbers of a file over.
  Array(NpyArray array);  // NOLINT: what was read is an array
  /// Takes numbers over; without a shape they are one dimension. The last index runs fastest.
  template <class T>
  static Array of(std::vector<T> values, std::vector<std::size_t> shape = {}) {
    auto kept = std::make_shared<const std::vector<T>>(std::move(values));
    Array array;
    array.shape = shape.empty() ? std::vector{kept->size()} : std::move(shape);
    array.dtype = detail::npy_dtype<T>();
    array.bytes = std::as_bytes(std::span(*kept));
    array.owner = std::move(kept);
    return array;
  }

  /// Throws UsageError, which begins with `what`, unless the type is known and the bytes fill the shape.
  void check(const std::string& what) const;

  /// The elements without a copy; T must be what dtype says.
  template <class T>
  std::span<const T> as() const {
    return detail::elements<T>(*this, bytes);
  }
  /// As NpyArray::visit.
  template <class F>
  void visit(F&& f) const {
    detail::visit_elements(dtype, bytes, std::forward<F>(f));
  }
  std::vector<double> to_doubles() const { return detail::to_doubles(dtype, bytes); }
};

/// Where a model finds an array: in memory, or in a .npy file, which is read when it is asked for.
struct ArraySource {
  std::string word;                ///< for messages: memory:NAME, or the file
  std::optional<Array> held = {};  ///< in memory

  NpyHeader header() const;
  Array read() const;
};

}  // namespace onward
