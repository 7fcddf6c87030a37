#pragma once
// A population that grows and spreads over a square, solved by explicit steps:
//
//     du/dt = div(d grad u) + g u (1 - u)
//
// It begins in the middle and moves outwards as a front. How fast it spreads, d, differs from patch to patch
// and is unknown. The code is written over any scalar, so that a number, a slope along a direction, or a
// slope and a curvature can go through it. Nothing of the past is kept: two squares of u and the passages
// between cells are all its memory, for any number of steps.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

struct Square {
  std::size_t side = 10;     ///< cells
  std::size_t patches = 10;  ///< of equal d, in either direction
  std::size_t steps = 10'000;
  std::size_t times = 10;   ///< at which it is observed
  std::size_t sensors = 8;  ///< in either direction
  double growth = 0.1, duration = 50;
  double spread = 0.1;  ///< of d = 1, in squares of cells for a unit of time

  std::size_t cells() const { return side * side; }
  std::size_t inputs() const { return patches * patches; }
  std::size_t outputs() const { return times * sensors * sensors; }
  double step() const { return duration / static_cast<double>(steps); }
  std::size_t patch(std::size_t cell) const {
    const std::size_t row = cell / side, column = cell % side;
    return row * patches / side * patches + column * patches / side;
  }
  /// The cell in which a sensor stands.
  std::size_t sensor(std::size_t k) const {
    const auto at = [&](std::size_t i) { return (2 * i + 1) * side / (2 * sensors); };
    return at(k / sensors) * side + at(k % sensors);
  }
  double start(std::size_t cell) const {
    const auto from_middle = [&](std::size_t i) {
      return (static_cast<double>(i) + 0.5) / static_cast<double>(side) - 0.5;
    };
    const double x = from_middle(cell % side), y = from_middle(cell / side);
    return x * x + y * y < 0.01 ? 1.0 : 0.0;
  }
};

/// Numbers of the cells, row after row, with a row of zeros above and below, so that every cell has
/// neighbours.
template <class T>
struct Field {
  std::size_t side;
  std::vector<T> numbers;
  explicit Field(const Square& square)
      : side(square.side), numbers(square.cells() + 2 * square.side, T(0.0)) {}
  T* cells() { return numbers.data() + side; }
  const T* cells() const { return numbers.data() + side; }
};

/// What flows through the sides of cells in a step, for a difference of 1: d is the mean of both cells, and
/// nothing leaves the square.
template <class T>
struct Passages {
  Field<T> right, down;

  Passages(const Square& square, std::span<const T> d) : right(square), down(square) {
    const std::size_t side = square.side;
    const double half = 0.5 * square.spread * square.step();
    for (std::size_t i = 0; i < square.cells(); ++i) {
      const T& here = d[square.patch(i)];
      if ((i + 1) % side != 0) right.cells()[i] = half * (here + d[square.patch(i + 1)]);
      if (i + side < square.cells()) down.cells()[i] = half * (here + d[square.patch(i + side)]);
    }
  }
};

/// One step, from u to next.
template <class T>
void advance(const Square& square, const Passages<T>& passages, const Field<T>& from, Field<T>& to) {
  const std::size_t side = square.side, cells = square.cells();
  const double growth = square.growth * square.step();
  const T *u = from.cells(), *right = passages.right.cells(), *down = passages.down.cells();
  const T *above = u - side, *passage_above = down - side;
  T* __restrict next = to.cells();
  for (std::size_t i = 0; i < cells; ++i) {
    const T here = u[i];
    next[i] = here + growth * (here * (1.0 - here)) + right[i] * (u[i + 1] - here) -
              right[i - 1] * (here - u[i - 1]) + down[i] * (u[i + side] - here) -
              passage_above[i] * (here - above[i]);
  }
}

/// What all sensors show at all times.
template <class T>
void simulate(const Square& square, std::span<const T> d, std::span<T> out) {
  const Passages<T> passages(square, d);
  Field<T> u(square), next(square);
  for (std::size_t i = 0; i < square.cells(); ++i) u.cells()[i] = T(square.start(i));
  const std::size_t sensors = square.sensors * square.sensors, between = square.steps / square.times;
  for (std::size_t t = 0; t < square.times; ++t) {
    for (std::size_t n = 0; n < between; ++n) {
      advance(square, passages, u, next);
      std::swap(u.numbers, next.numbers);
    }
    for (std::size_t k = 0; k < sensors; ++k) out[t * sensors + k] = u.cells()[square.sensor(k)];
  }
}
