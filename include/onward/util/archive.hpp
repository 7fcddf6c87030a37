#pragma once
// The state of a chain as bytes, and back. One function a type serves both ways: it hands its fields to an
// Archive, which writes them when it saves and fills them when it loads. Whoever loads checks the bytes
// first (checkpoint.hpp has a checksum); what does not fit all the same is an Error, never a read beyond the
// end.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "onward/error.hpp"

namespace onward {

class Archive {
 public:
  Archive() = default;  ///< saves
  explicit Archive(std::string_view bytes) : loading_(true), left_(bytes) {}

  bool loading() const { return loading_; }
  std::string take() && { return std::move(saved_); }
  /// After loading: throws if something is left over.
  void finish() const {
    if (!left_.empty()) damaged();
  }

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(T& value) { raw(&value, sizeof value); }

  void operator()(std::string& text) {
    text.resize(count(text.size(), 1));
    raw(text.data(), text.size());
  }

  template <class T>
  requires std::is_arithmetic_v<T>
  void operator()(std::vector<T>& values) {
    values.resize(count(values.size(), sizeof(T)));
    raw(values.data(), values.size() * sizeof(T));
  }

  template <class Scalar, int rows, int columns>
  void operator()(Eigen::Matrix<Scalar, rows, columns>& matrix) {
    auto height = static_cast<std::uint64_t>(matrix.rows()),
         width = static_cast<std::uint64_t>(matrix.cols());
    (*this)(height);
    (*this)(width);
    if (loading_) {
      const std::uint64_t most = left_.size() / sizeof(Scalar);
      if (height != 0 && width > most / height) damaged();
      if ((rows == 1 && height != 1) || (columns == 1 && width != 1)) damaged();
      matrix.resize(static_cast<Eigen::Index>(height), static_cast<Eigen::Index>(width));
    }
    raw(matrix.data(), height * width * sizeof(Scalar));
  }

  /// Several fields, one after the other.
  template <class First, class Second, class... Rest>
  void operator()(First& first, Second& second, Rest&... rest) {
    (*this)(first);
    (*this)(second, rest...);
  }

  /// How many entries follow: `size` when saving; when loading no more than there are bytes for.
  std::size_t count(std::size_t size, std::size_t bytes_each) {
    auto n = static_cast<std::uint64_t>(size);
    (*this)(n);
    if (loading_ && n > left_.size() / bytes_each) damaged();
    return static_cast<std::size_t>(n);
  }

 private:
  [[noreturn]] static void damaged() {
    throw Error("the saved state of a chain does not fit this run: it is damaged, or of another version");
  }
  void raw(void* data, std::size_t bytes) {
    if (bytes == 0) return;
    if (!loading_) {
      saved_.append(static_cast<const char*>(data), bytes);
      return;
    }
    if (bytes > left_.size()) damaged();
    std::memcpy(data, left_.data(), bytes);
    left_.remove_prefix(bytes);
  }

  bool loading_ = false;
  std::string saved_;
  std::string_view left_;
};

}  // namespace onward
