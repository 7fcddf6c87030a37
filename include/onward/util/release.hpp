#pragma once
// Vectors that are no longer needed, while what they are a member of still is.

namespace onward {

/// Empties a vector and gives its memory back. `values = {}` would empty it and keep the memory.
template <class Vector>
void release(Vector& values) {
  Vector().swap(values);
}

}  // namespace onward
