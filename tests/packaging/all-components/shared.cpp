// Onward within a shared library, which only position-independent code can be.
#include <onward/models/models.hpp>
#include <onward/net/description.hpp>
#include <onward/onward.hpp>

std::size_t sizes_in_all() {
  const onward::net::Layout layout(onward::net::paper_cnn(false, 4));
  return onward::models::list().size() + layout.parameter_count();
}
