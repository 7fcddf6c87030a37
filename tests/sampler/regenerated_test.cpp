// Steps without vectors: the draws are those of steps with vectors, bit for bit, and nothing is held.

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "onward/sampler/samplers.hpp"
#include "onward/target/target.hpp"

namespace onward::testing {
namespace {

constexpr std::size_t dimension = 4096 + 8 + 3;  // more than a stretch, and no multiple of 8

/// A quartic, by vectors and by sources.
struct Quartic {
  static std::size_t dimension() { return testing::dimension; }
  static Jet jet(VectorView theta, VectorView v, Order) {
    Jet jet;
    for (std::size_t i = 0; i < theta.size(); ++i) {
      const double x = theta[i], d = v.empty() ? 0 : v[i];
      jet.value -= 0.5 * x * x + 0.05 * x * x * x * x;
      jet.slope -= (x + 0.2 * x * x * x) * d;
      jet.curvature -= (1 + 0.6 * x * x) * d * d;
    }
    return jet;
  }
  static Jet jet_from(const VectorSource& theta, const VectorSource* v, Order order) {
    // In pieces of its own: who reads decides where they begin.
    static constexpr std::size_t piece = 1000;
    std::vector<double> place, direction;
    const auto read = [](const VectorSource& source, std::vector<double>& out) {
      out.resize(testing::dimension);
      std::vector<double> scratch(piece);
      for (std::size_t first = 0; first < out.size(); first += piece) {
        const std::size_t count = std::min(piece, out.size() - first);
        const VectorView part = source.read(first, std::span(scratch).first(count));
        std::copy(part.begin(), part.end(), out.begin() + static_cast<std::ptrdiff_t>(first));
      }
    };
    read(theta, place);
    if (v) read(*v, direction);
    return jet(place, direction, order);
  }
};

struct Trace {
  std::vector<double> last, values, acceptance;
  std::size_t accepted = 0, vectors = 0;
  bool operator==(const Trace& other) const {
    const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
    };
    return same(last, other.last) && same(values, other.values) && same(acceptance, other.acceptance);
  }
};

Trace trace(KernelSettings settings, Vectors vectors, std::uint64_t seed = 5) {
  settings.vectors = vectors;
  AnyTarget target{Quartic{}};
  const Kernel kernel = make_kernel(settings);
  const Stream stream(seed, 2);
  State state;
  state.position.resize(dimension);
  stream.normals(0, Purpose::start, state.position);
  state.value = target.value(state.position);
  Workspace w(dimension);
  Directions directions = SphereDirections{};
  Trace result;
  for (std::uint64_t number = 1; number <= 150; ++number) {
    const StepInfo info = step(kernel, state, target, Metric{}, stream, number, directions, w);
    result.accepted += info.accepted ? 1 : 0;
    result.values.push_back(state.value);
    result.acceptance.push_back(info.acceptance);
  }
  result.last = state.position;
  for (const auto* vector : {&w.noise, &w.direction, &w.reverse, &w.move, &w.pushed, &w.next, &w.proposal,
                             &state.tangent, &state.gradient})
    result.vectors += vector->empty() ? 0 : 1;
  return result;
}

std::vector<KernelSettings> kernels() {
  const double eta = 0.01;
  std::vector<KernelSettings> all{{.sampler = "rwm", .step_size = eta},
                                  {.sampler = "line-fmala", .step_size = 1.5},
                                  {.sampler = "line-fmala", .step_size = 1.5, .options = {{"inner", 3}}},
                                  {.sampler = "pc-line-fmala", .step_size = 1.5},
                                  {.sampler = "newton-line", .options = {{"inner", 2}}}};
  for (const Tangent tangent : {Tangent::kept, Tangent::fresh}) {
    all.push_back({.sampler = "fmala", .step_size = eta, .options = {{"tangent", to_string(tangent)}}});
    all.push_back({.sampler = "pc-fmala",
                   .step_size = eta,
                   .options = {{"bias_correction", "coupled"}, {"tangent", to_string(tangent)}}});
  }
  return all;
}

TEST(Regenerated, DrawsAreTheSameAndNothingIsHeld) {
  for (const auto& settings : kernels()) {
    const std::string name = settings.sampler + " " + settings.options.dump();
    const Trace held = trace(settings, Vectors::held), regenerated = trace(settings, Vectors::regenerated);
    EXPECT_TRUE(held == regenerated) << name;
    EXPECT_EQ(regenerated.vectors, 0u) << name;
    EXPECT_GT(held.vectors, 0u) << name;
    if (settings.sampler != "pc-fmala") {  // whose proposals are hardly ever accepted in many dimensions
      EXPECT_GT(held.accepted, 30u) << name;
      EXPECT_LT(held.accepted, 150u) << name;
    }
    EXPECT_FALSE(held == trace(settings, Vectors::regenerated, 6)) << name;
  }
}

TEST(Regenerated, UnitVectorsAreTheStreamsDirections) {
  const Stream stream(3, 1);
  std::vector<double> whole(dimension), part(16);
  stream.direction(7, Purpose::reverse_direction, whole);
  const UnitVector v(stream, 7, Purpose::reverse_direction, dimension);
  for (const std::size_t first : {std::size_t{0}, std::size_t{8}, std::size_t{4088}, dimension - 11}) {
    const std::size_t count = std::min(part.size(), dimension - first);
    const VectorView read = v.read(first, std::span(part).first(count));
    ASSERT_EQ(read.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(read[i], whole[first + i]) << first + i;
  }
}

TEST(Regenerated, SumsComeInStretches) {
  const Stream stream(3, 1);
  for (const std::size_t size : {1u, 7u, 8u, 40u, 4107u}) {
    std::vector<double> x(size);
    stream.normals(1, Purpose::noise, x);
    simd::SumOfSquares sum;
    for (std::size_t first = 0; first < size; first += 24)
      sum.add(std::span<const double>(x).subspan(first, std::min<std::size_t>(24, size - first)));
    EXPECT_EQ(sum.sum(), simd::sum_of_squares(std::span<const double>(x))) << size;
  }
}

}  // namespace
}  // namespace onward::testing
