#pragma once
// The table of rules: each function once, as value, first and second derivative. Everything that carries
// derivatives (Value, Dual, Jet2, Reverse) takes its functions from here.
//
// A rule is an object with `at<N>(x)`, which gives the value and the first N derivatives for any plain
// number: double, float or a batch. Rules are free of branches on single lanes, so that a batch has the bits
// of its lanes taken one at a time. What their forms take care of:
//   - relative accuracy of the derivatives far out (1 - tanh² would be 0 long before its limit);
//   - limits at 0, -0 and ±inf, where the plain formula would multiply 0 by inf;
//   - the sign of zero in a batch (simd::neg, not the minus sign: xsimd makes +0 of it);
//   - the value does not depend on N: an evaluation without derivatives has the same bits.

#include "onward/ad/elementary_rules.hpp"
#include "onward/ad/special_rules.hpp"
