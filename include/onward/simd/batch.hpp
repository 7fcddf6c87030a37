#pragma once
// A number or a register full of numbers, behind the same names.
//
// Everything here works for double, float, Batch<double> and Batch<float>, and gives each lane of a batch the
// very bits that the plain number would get. Code written once as a template over `Real T` therefore runs one
// chain or eight with identical results.
//
// Call these functions qualified (`simd::exp(x)`): an unqualified call on a batch finds xsimd's function of
// the same name, whose bits differ from those of a plain number. For the same reason use `simd::neg(x)`
// rather than
// `-x` where the sign of zero matters (xsimd computes 0 - x), and `!(a == b)` rather than `a != b` where NaN
// may occur (xsimd's `!=` is false for NaN).

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <xsimd/xsimd.hpp>

/// Arithmetic and elementary functions that do the same to a number and to every lane of a SIMD register.
namespace onward::simd {

/// A SIMD register of the widest kind that the program is compiled for.
template <class T>
using Batch = xsimd::batch<T>;

namespace detail {

template <class T>
struct Traits {
  static constexpr bool is_batch = false;
  static constexpr std::size_t lanes = 1;
  using scalar = T;
  using mask = bool;
};

template <class T, class A>
struct Traits<xsimd::batch<T, A>> {
  static constexpr bool is_batch = true;
  static constexpr std::size_t lanes = xsimd::batch<T, A>::size;
  using scalar = T;
  using mask = xsimd::batch_bool<T, A>;
};

}  // namespace detail

/// True for a SIMD register, false for a number.
template <class T>
inline constexpr bool is_batch_v = detail::Traits<T>::is_batch;
/// How many numbers a T holds.
template <class T>
inline constexpr std::size_t lanes_v = detail::Traits<T>::lanes;
/// What a comparison of two T gives: bool, or a register of them.
template <class T>
using mask_t = typename detail::Traits<T>::mask;
/// The number type of one lane.
template <class T>
using scalar_t = typename detail::Traits<T>::scalar;

/// float, double, or a batch of either.
template <class T>
concept Real = std::same_as < scalar_t<T>,
double > || std::same_as<scalar_t<T>, float>;

/// Lane i of x; x itself for a number.
template <Real T>
inline scalar_t<T> lane(const T& x, [[maybe_unused]] std::size_t i) {
  if constexpr (is_batch_v<T>)
    return x.get(i);
  else
    return x;
}

/// Applies a function of one number to each lane.
template <class F, Real T>
inline T for_each_lane(F&& f, const T& x) {
  if constexpr (is_batch_v<T>) {
    alignas(T) std::array<scalar_t<T>, lanes_v<T>> a;
    x.store_aligned(a.data());
    for (auto& e : a) e = f(e);
    return T::load_aligned(a.data());
  } else {
    return f(x);
  }
}

/// Applies a function of two numbers to each pair of lanes.
template <class F, Real T>
inline T for_each_lane(F&& f, const T& x, const T& y) {
  if constexpr (is_batch_v<T>) {
    alignas(T) std::array<scalar_t<T>, lanes_v<T>> a, b;
    x.store_aligned(a.data());
    y.store_aligned(b.data());
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = f(a[i], b[i]);
    return T::load_aligned(a.data());
  } else {
    return f(x, y);
  }
}

namespace detail {

#if defined(__FMA__)
// xsimd 8.1 has no fused form for AVX-512, so the instruction is named here for every width.
inline __m128d fused(__m128d a, __m128d b, __m128d c) { return _mm_fmadd_pd(a, b, c); }
inline __m128 fused(__m128 a, __m128 b, __m128 c) { return _mm_fmadd_ps(a, b, c); }
inline __m256d fused(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
inline __m256 fused(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
#if defined(__AVX512F__)
inline __m512d fused(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
inline __m512 fused(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
#endif
#endif

// What xsimd does for a register, apart from AVX-512: there GCC 12 warns of an uninitialised value inside its
// own header unless the zero-masked form (with a full mask, hence the same instruction) is named.
template <class T>
struct BatchOps {
  static T sqrt(const T& x) { return xsimd::sqrt(x); }
  static T floor(const T& x) { return keep_sign(xsimd::floor(x), x); }
  static T ceil(const T& x) { return keep_sign(xsimd::ceil(x), x); }
  static T nearest(const T& x) { return keep_sign(xsimd::nearbyint(x), x); }
  static T min(const T& a, const T& b) { return xsimd::min(a, b); }
  static T max(const T& a, const T& b) { return xsimd::max(a, b); }

 private:
  // Without an instruction for rounding, xsimd turns -0 into 0.
  static T keep_sign(const T& rounded, [[maybe_unused]] const T& x) {
#if defined(__SSE4_1__)
    return rounded;
#else
    return xsimd::copysign(rounded, x);
#endif
  }
};

#if defined(__AVX512F__)
template <>
struct BatchOps<Batch<double>> {
  using T = Batch<double>;
  static T sqrt(const T& x) { return _mm512_maskz_sqrt_pd(0xff, x); }
  static T floor(const T& x) { return _mm512_maskz_roundscale_pd(0xff, x, _MM_FROUND_TO_NEG_INF); }
  static T ceil(const T& x) { return _mm512_maskz_roundscale_pd(0xff, x, _MM_FROUND_TO_POS_INF); }
  static T nearest(const T& x) { return _mm512_maskz_roundscale_pd(0xff, x, _MM_FROUND_TO_NEAREST_INT); }
  static T min(const T& a, const T& b) { return _mm512_maskz_min_pd(0xff, a, b); }
  static T max(const T& a, const T& b) { return _mm512_maskz_max_pd(0xff, a, b); }
};

template <>
struct BatchOps<Batch<float>> {
  using T = Batch<float>;
  static T sqrt(const T& x) { return _mm512_maskz_sqrt_ps(0xffff, x); }
  static T floor(const T& x) { return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_NEG_INF); }
  static T ceil(const T& x) { return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_POS_INF); }
  static T nearest(const T& x) { return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_NEAREST_INT); }
  static T min(const T& a, const T& b) { return _mm512_maskz_min_ps(0xffff, a, b); }
  static T max(const T& a, const T& b) { return _mm512_maskz_max_ps(0xffff, a, b); }
};
#endif

// Shifts of the integers of a register by a constant; xsimd's own draw the same warning.
template <class I, std::size_t bytes>
struct CompilerVector {
  typedef I type __attribute__((vector_size(bytes)));  // NOLINT(modernize-use-using): GCC takes no alias here
};

template <int count, class B>
inline B shift_left(const B& x) {
  if constexpr (is_batch_v<B>) {
    using V = typename CompilerVector<scalar_t<B>, sizeof(B)>::type;
    return B(std::bit_cast<typename B::register_type>(std::bit_cast<V>(x.data) << count));
  } else {
    return x << count;
  }
}

template <int count, class B>
inline B shift_right(const B& x) {
  if constexpr (is_batch_v<B>) {
    using V = typename CompilerVector<scalar_t<B>, sizeof(B)>::type;
    return B(std::bit_cast<typename B::register_type>(std::bit_cast<V>(x.data) >> count));
  } else {
    return x >> count;
  }
}

template <Real T>
struct BitsOf;
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};
template <>
struct BitsOf<float> {
  using type = std::uint32_t;
};
template <class A>
struct BitsOf<xsimd::batch<double, A>> {
  using type = xsimd::batch<std::uint64_t, A>;
};
template <class A>
struct BitsOf<xsimd::batch<float, A>> {
  using type = xsimd::batch<std::uint32_t, A>;
};

}  // namespace detail

/// The unsigned integer (or batch of them) that holds the bits of a T.
template <Real T>
using bits_t = typename detail::BitsOf<T>::type;

/// The bits of x as unsigned integers.
template <Real T>
inline bits_t<T> to_bits(const T& x) {
  if constexpr (is_batch_v<T>)
    return xsimd::bitwise_cast<bits_t<T>>(x);
  else
    return std::bit_cast<bits_t<T>>(x);
}

/// The number with these bits.
template <Real T>
inline T from_bits(const bits_t<T>& b) {
  if constexpr (is_batch_v<T>)
    return xsimd::bitwise_cast<T>(b);
  else
    return std::bit_cast<T>(b);
}

/// True when mul_add rounds once; a property of the machine the program is compiled for, and the only one
/// that the bits of this library's results depend on.
#if defined(__FMA__)
inline constexpr bool has_fused_mul_add = true;
#else
inline constexpr bool has_fused_mul_add = false;
#endif

/// a*b + c, rounded once where the machine has the instruction and twice where not, alike for one and for
/// many.
template <Real T>
inline T mul_add(const T& a, const T& b, const T& c) {
#if defined(__FMA__)
  if constexpr (is_batch_v<T>) {
    using R = typename T::register_type;
    return T(detail::fused(static_cast<R>(a), static_cast<R>(b), static_cast<R>(c)));
  } else if constexpr (std::same_as<T, double>) {
    return __builtin_fma(a, b, c);
  } else {
    return __builtin_fmaf(a, b, c);
  }
#else
  return a * b + c;
#endif
}

/// Lane by lane: a where the mask is true, b elsewhere.
template <Real T>
inline T select(const mask_t<T>& mask, const T& a, const T& b) {
  if constexpr (is_batch_v<T>)
    return xsimd::select(mask, a, b);
  else
    return mask ? a : b;
}

/// True if any lane is.
inline bool any(bool mask) { return mask; }
/// True if all lanes are.
inline bool all(bool mask) { return mask; }
/// True if any lane is.
template <class T, class A>
inline bool any(const xsimd::batch_bool<T, A>& mask) {
  return xsimd::any(mask);
}
/// True if all lanes are.
template <class T, class A>
inline bool all(const xsimd::batch_bool<T, A>& mask) {
  return xsimd::all(mask);
}

/// -x, zeros and NaN included (only the sign bit changes).
template <Real T>
inline T neg(const T& x) {
  if constexpr (is_batch_v<T>)
    return from_bits<T>(to_bits(x) ^ to_bits(T(scalar_t<T>(-0.0))));
  else
    return -x;
}

/// The absolute value.
template <Real T>
inline T abs(const T& x) {
  if constexpr (is_batch_v<T>)
    return from_bits<T>(to_bits(x) & ~to_bits(T(scalar_t<T>(-0.0))));
  else
    return std::abs(x);
}

/// The magnitude of x with the sign bit of y.
template <Real T>
inline T copysign(const T& x, const T& y) {
  if constexpr (is_batch_v<T>) {
    const auto sign = to_bits(T(scalar_t<T>(-0.0)));
    return from_bits<T>(to_bits(simd::abs(x)) | (to_bits(y) & sign));
  } else {
    return std::copysign(x, y);
  }
}

/// True where x is NaN.
template <Real T>
inline mask_t<T> is_nan(const T& x) {
  return !(x == x);
}

/// True where x is neither infinite nor NaN.
template <Real T>
inline mask_t<T> is_finite(const T& x) {
  return simd::abs(x) <= T(std::numeric_limits<scalar_t<T>>::max());
}

/// a where a < b, else b: b also if one is NaN or both are zero.
template <Real T>
inline T min(const T& a, const T& b) {
  if constexpr (is_batch_v<T>)
    return detail::BatchOps<T>::min(a, b);
  else
    return a < b ? a : b;
}

/// a where a > b, else b: b also if one is NaN or both are zero.
template <Real T>
inline T max(const T& a, const T& b) {
  if constexpr (is_batch_v<T>)
    return detail::BatchOps<T>::max(a, b);
  else
    return a > b ? a : b;
}

/// The square root, correctly rounded.
template <Real T>
inline T sqrt(const T& x) {
  if constexpr (is_batch_v<T>)
    return detail::BatchOps<T>::sqrt(x);
  else
    return std::sqrt(x);
}

/// The largest whole number not above x.
template <Real T>
inline T floor(const T& x) {
  if constexpr (is_batch_v<T>)
    return detail::BatchOps<T>::floor(x);
  else
    return std::floor(x);
}

/// The smallest whole number not below x.
template <Real T>
inline T ceil(const T& x) {
  if constexpr (is_batch_v<T>)
    return detail::BatchOps<T>::ceil(x);
  else
    return std::ceil(x);
}

/// The nearest whole number, ties to the even one.
template <Real T>
inline T round_to_even(const T& x) {
  if constexpr (is_batch_v<T>)
    return detail::BatchOps<T>::nearest(x);
  else
    return std::nearbyint(x);
}

/// The first n numbers at p, n at most the number of lanes; the other lanes are 0 and their memory is not
/// touched.
inline Batch<double> load_partial(const double* p, std::size_t n) {
#if defined(__AVX512F__)
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1u), p);
#else
  alignas(Batch<double>) std::array<double, lanes_v<Batch<double>>> a{};
  for (std::size_t i = 0; i < n; ++i) a[i] = p[i];
  return Batch<double>::load_aligned(a.data());
#endif
}

/// Writes the first n lanes of x to p, n at most their number.
inline void store_partial(double* p, std::size_t n, const Batch<double>& x) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1u), x);
#else
  alignas(Batch<double>) std::array<double, lanes_v<Batch<double>>> a;
  x.store_aligned(a.data());
  for (std::size_t i = 0; i < n; ++i) p[i] = a[i];
#endif
}

}  // namespace onward::simd
