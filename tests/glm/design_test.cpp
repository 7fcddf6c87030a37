// Products with the design in every storage, against plain loops in double.

#include "onward/glm/design.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "onward/error.hpp"
#include "onward/random/stream.hpp"

namespace onward::glm {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

struct Sample {
  std::string name;
  Design design;
  Eigen::MatrixXd x;  // the column of ones included
};

std::vector<double> normals(std::size_t count, std::uint64_t step) {
  std::vector<double> z(count);
  Stream(3, 0).normals(step, Purpose::noise, z);
  return z;
}

Eigen::MatrixXd with_ones(const Eigen::MatrixXd& x, bool intercept) {
  if (!intercept) return x;
  Eigen::MatrixXd out(x.rows(), x.cols() + 1);
  out << Eigen::VectorXd::Ones(x.rows()), x;
  return out;
}

std::vector<Sample> samples(std::size_t rows, std::size_t columns, bool intercept) {
  const auto z = normals(rows * columns, 0);
  const auto n = static_cast<Eigen::Index>(rows), p = static_cast<Eigen::Index>(columns);
  Eigen::MatrixXd dense(n, p), bytes(n, p), sparse = Eigen::MatrixXd::Zero(n, p);
  std::vector<float> values;
  std::vector<std::uint8_t> pixels;
  const float scale = 0.0125f, shift = -0.4f;
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < p; ++j) {
      const double v = z[static_cast<std::size_t>(i * p + j)];
      values.push_back(static_cast<float>(v));
      dense(i, j) = values.back();
      // Blocks of zeros, as at the margins of images.
      const bool margin = j % 3 == 0 && (i / 64) % 2 == 0;
      pixels.push_back(static_cast<std::uint8_t>(margin ? 0 : std::min(255.0, 60 * std::abs(v))));
      bytes(i, j) = static_cast<double>(scale) * pixels.back() + static_cast<double>(shift);
      if (v > 1) sparse(i, j) = static_cast<float>(v);
    }
  SparseColumns nonzeros;
  for (Eigen::Index j = 0; j < p; ++j) {
    nonzeros.starts.push_back(nonzeros.rows.size());
    for (Eigen::Index i = 0; i < n; ++i)
      if (sparse(i, j) != 0) {
        nonzeros.rows.push_back(static_cast<std::uint32_t>(i));
        nonzeros.values.push_back(static_cast<float>(sparse(i, j)));
      }
  }
  nonzeros.starts.push_back(nonzeros.rows.size());
  ThreadPool pool(1);
  const auto column = [&](std::size_t j, std::size_t first, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[(first + i) * columns + j];
  };
  return {
      {"floats without ones", Design::from_columns(rows, columns, intercept, column, {}, pool, false),
       with_ones(dense, intercept)},
      {"floats", Design::dense(std::span<const float>(values), rows, columns, intercept),
       with_ones(dense, intercept)},
      {"bytes", Design::bytes(pixels, rows, columns, scale, shift, intercept), with_ones(bytes, intercept)},
      {"sparse", Design::sparse(nonzeros, rows, intercept), with_ones(sparse, intercept)}};
}

struct Case {
  std::size_t rows, columns, classes;
  bool intercept;
};
const std::vector<Case> cases{{1, 1, 1, true},    {17, 3, 2, false},    {64, 5, 4, true},
                              {200, 9, 10, true}, {5000, 12, 13, true}, {9000, 2, 1, false}};

template <class Use>
void for_each_sample(const Use& use) {
  for (const Case& c : cases)
    for (const Sample& s : samples(c.rows, c.columns, c.intercept)) {
      SCOPED_TRACE(s.name + " " + std::to_string(c.rows) + "x" + std::to_string(c.columns));
      use(c, s);
    }
}

TEST(Design, Multiplies) {
  for_each_sample([](const Case& c, const Sample& s) {
    ThreadPool pool(1);
    const std::size_t width = s.design.columns(), stride = padded_rows(c.rows);
    const auto v = normals(width * c.classes, 1);
    Floats out(stride * c.classes, 99.0f);
    s.design.multiply(v, c.classes, out.data(), pool);
    for (std::size_t k = 0; k < c.classes; ++k) {
      const Eigen::Map<const Eigen::VectorXd> factor(v.data() + k * width, static_cast<Eigen::Index>(width));
      const Eigen::VectorXd exact = s.x * factor, size = s.x.cwiseAbs() * factor.cwiseAbs();
      for (std::size_t i = 0; i < stride; ++i) {
        const float ours = out[k * stride + i];
        if (i >= c.rows)
          ASSERT_EQ(ours, 0.0f);
        else
          ASSERT_NEAR(ours, exact[static_cast<Eigen::Index>(i)],
                      1e-6 * size[static_cast<Eigen::Index>(i)] + 1e-6);
      }
    }
  });
}

TEST(Design, MultipliesTransposed) {
  for_each_sample([](const Case& c, const Sample& s) {
    ThreadPool pool(1);
    const std::size_t width = s.design.columns(), stride = padded_rows(c.rows);
    const auto z = normals(c.rows * c.classes, 2);
    Floats r(stride * c.classes, 0.0f);
    for (std::size_t k = 0; k < c.classes; ++k)
      for (std::size_t i = 0; i < c.rows; ++i) r[k * stride + i] = static_cast<float>(z[k * c.rows + i]);
    std::vector<double> out(width * c.classes);
    s.design.multiply_transposed(r.data(), c.classes, out, pool);
    for (std::size_t k = 0; k < c.classes; ++k) {
      const Eigen::VectorXd factor =
          Eigen::Map<const Eigen::VectorXf>(r.data() + k * stride, static_cast<Eigen::Index>(c.rows))
              .cast<double>();
      const Eigen::VectorXd exact = s.x.transpose() * factor,
                            size = s.x.cwiseAbs().transpose() * factor.cwiseAbs();
      for (std::size_t j = 0; j < width; ++j)
        ASSERT_NEAR(out[k * width + j], exact[static_cast<Eigen::Index>(j)],
                    1e-6 * size[static_cast<Eigen::Index>(j)] + 1e-7);
    }
  });
}

TEST(Design, GivesColumnsBlocksAndGram) {
  for_each_sample([](const Case& c, const Sample& s) {
    ThreadPool pool(1);
    const std::size_t width = s.design.columns(), stride = padded_rows(c.rows);
    Floats column(stride, 9.0f);
    for (std::size_t j = 0; j < width; ++j) {
      s.design.column(j, column.data());
      for (std::size_t i = 0; i < stride; ++i)
        ASSERT_NEAR(column[i],
                    i < c.rows ? s.x(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) : 0.0, 1e-6);
    }
    const std::size_t first = width / 3, count = std::max<std::size_t>(1, width / 3);
    const auto v = normals(count, 5);
    s.design.multiply_block(first, v, column.data(), pool);
    const Eigen::VectorXd block =
        s.x.middleCols(static_cast<Eigen::Index>(first), static_cast<Eigen::Index>(count)) *
        Eigen::Map<const Eigen::VectorXd>(v.data(), static_cast<Eigen::Index>(count));
    for (std::size_t i = 0; i < c.rows; ++i)
      ASSERT_NEAR(column[i], block[static_cast<Eigen::Index>(i)], 2e-5);
    Floats weights(stride, 0.0f);
    const auto z = normals(c.rows, 6);
    for (std::size_t i = 0; i < c.rows; ++i) weights[i] = static_cast<float>(z[i] * z[i]);
    const Eigen::VectorXd w =
        Eigen::Map<const Eigen::VectorXf>(weights.data(), static_cast<Eigen::Index>(c.rows)).cast<double>();
    const Eigen::MatrixXd exact = s.x.transpose() * w.asDiagonal() * s.x;
    EXPECT_LT((s.design.gram(weights.data(), pool) - exact).norm(), 1e-5 * exact.norm() + 1e-6);
  });
}

TEST(Design, SubtractsFromColumns) {
  for_each_sample([](const Case& c, const Sample& s) {
    ThreadPool pool(2);
    Design moved = s.design;
    std::vector<double> by = normals(moved.columns(), 8);
    if (c.intercept) by[0] = 0;
    moved.subtract(by, pool);
    Floats column(padded_rows(c.rows));
    for (std::size_t j = 0; j < moved.columns(); ++j) {
      moved.column(j, column.data());
      for (std::size_t i = 0; i < c.rows; ++i)
        ASSERT_NEAR(column[i], s.x(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) - by[j], 1e-5);
    }
  });
}

/// Arrays that are made piece by piece give the bits that whole ones give.
TEST(Design, PiecesAreTheWhole) {
  constexpr std::size_t rows = 2 * piece_rows + 77;
  for (const Sample& s : samples(rows, 7, true)) {
    SCOPED_TRACE(s.name);
    ThreadPool pool(2);
    const auto v = normals(s.design.columns(), 1);
    Floats whole(padded_rows(rows)), pieces(padded_rows(rows), 99.0f);
    s.design.multiply(v, whole.data(), pool);
    const Design::Factors factors = s.design.factors(v);
    for (std::size_t p = 0; p < pieces_of(rows); ++p)
      s.design.multiply(factors, p, pieces.data() + p * piece_rows);
    EXPECT_EQ(whole, pieces);
    const auto source = [&](std::size_t piece, std::span<float> out) {
      // What lies behind the rows of the piece, as far as a register goes, must not count.
      std::fill_n(out.data(), padded_rows(out.size()), 7.0f);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::abs(whole[piece * piece_rows + i]);
    };
    Floats made(padded_rows(rows), 0.0f);
    for (std::size_t i = 0; i < rows; ++i) made[i] = std::abs(whole[i]);
    std::vector<double> a(s.design.columns()), b(s.design.columns());
    s.design.multiply_transposed(made.data(), 1, a, pool);
    s.design.multiply_transposed(source, b, pool);
    EXPECT_EQ(a, b);
    EXPECT_EQ(s.design.gram(made.data(), pool), s.design.gram(source, pool));
  }
}

TEST(Design, BitsDoNotDependOnThreads) {
  for (const Sample& s : samples(20'000, 7, true)) {
    SCOPED_TRACE(s.name);
    ThreadPool one(1), two(2), three(3);
    const std::size_t stride = padded_rows(20'000), classes = 3, width = s.design.columns();
    const auto v = normals(width * classes, 1);
    Floats a(stride * classes), b(stride * classes);
    std::vector<double> ta(width * classes), tb(width * classes);
    s.design.multiply(v, classes, a.data(), one);
    s.design.multiply_transposed(a.data(), classes, ta, one);
    const Eigen::MatrixXd gram = s.design.gram(nullptr, one);
    for (ThreadPool* pool : {&two, &three}) {
      s.design.multiply(v, classes, b.data(), *pool);
      EXPECT_EQ(a, b);
      s.design.multiply_transposed(a.data(), classes, tb, *pool);
      EXPECT_EQ(ta, tb);
      EXPECT_EQ(gram, s.design.gram(nullptr, *pool));
    }
  }
}

TEST(PanelColumns, AreTheDesignTimesTheMatrix) {
  for_each_sample([](const Case& c, const Sample& s) {
    ThreadPool pool(2);
    const auto width = static_cast<Eigen::Index>(s.design.columns());
    Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(width, width);
    const auto z = normals(static_cast<std::size_t>(width * width), 8);
    for (Eigen::Index j = 0; j < width; ++j)
      for (Eigen::Index i = 0; i <= j; ++i) matrix(i, j) = z[static_cast<std::size_t>(i * width + j)];
    const Eigen::MatrixXd exact = s.x * matrix;
    Design used_up = s.design;
    for (const PanelColumns& columns :
         {PanelColumns(s.design, matrix, pool), PanelColumns(std::move(used_up), matrix, pool)}) {
      for (std::size_t j = 0; j < columns.columns(); ++j)
        for (std::size_t i = 0; i < c.rows; ++i)
          ASSERT_NEAR(columns.column(j)[i / piece_rows * columns.stride() + i % piece_rows],
                      exact(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)), 2e-5);
      const auto u = normals(columns.columns(), 9);
      const Eigen::VectorXd product = exact * Eigen::Map<const Eigen::VectorXd>(u.data(), width);
      Floats out(padded_rows(c.rows)), base(padded_rows(c.rows), 1.5f);
      columns.multiply(u, base.data(), out.data(), pool);
      for (std::size_t i = 0; i < c.rows; ++i)
        ASSERT_NEAR(out[i], 1.5 + product[static_cast<Eigen::Index>(i)], 1e-4);
    }
  });
}

TEST(Design, NamesTheFirstBadEntry) {
  std::vector<double> x(12, 1.0);
  x[7] = NAN;
  x[9] = INFINITY;
  EXPECT_THAT([&] { Design::dense(std::span<const double>(x), 4, 3, true); },
              ThrowsMessage<Error>(HasSubstr("row 3, column 2 is nan")));
  EXPECT_THROW(Design::dense(std::span<const double>(x), 5, 3, true), Error);
  EXPECT_THROW(Design::dense(std::span<const double>{}, 0, 3, true), Error);
  x[7] = 1e300;  // more than a float holds
  EXPECT_THAT([&] { Design::dense(std::span<const double>(x), 4, 3, true); },
              ThrowsMessage<Error>(HasSubstr("column 2 is 1e+300: X is kept as floats")));
  EXPECT_THAT(
      [&] {
        Design::sparse({{0, 1}, {7}, {1.0f}}, 5, false);
      },
      ThrowsMessage<Error>(HasSubstr("row 8 of 5")));
  EXPECT_THROW(Design::sparse({{0, 2}, {1}, {1.0f}}, 5, false), Error);
  EXPECT_THROW(Design::bytes(std::vector<std::uint8_t>(4), 2, 2, 0.0f, 0.0f, false), UsageError);
}

TEST(Design, NamesAColumnOfWhichFloatsKeepLittle) {
  for (const double mean : {0.0, 2000.0, -1e4}) {
    const std::vector<double> fine{mean + 1, 5, mean - 1, 5};
    EXPECT_NO_THROW(Design::dense(std::span<const double>(fine), 2, 2, true)) << mean;
  }
  for (const double mean : {1e5, -1e7, 1e12}) {
    const std::vector<double> coarse{5, mean + 1, 5, mean - 1};
    EXPECT_THAT([&] { Design::dense(std::span<const double>(coarse), 2, 2, true); },
                ThrowsMessage<Error>(AllOf(HasSubstr("column 2 of X has mean"), HasSubstr("deviation 1:"))))
        << mean;
  }
}

}  // namespace
}  // namespace onward::glm
