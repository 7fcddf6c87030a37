#pragma once
// All that is needed to sample a model of one's own:
//
//     auto target = onward::target(2, [](const auto& t) { return -0.5 * (t[0] * t[0] + t[1] * t[1]); });
//     auto run = onward::sample(target, {.sampler = "pc-line-fmala", .draws = 1000, .seed = 1});
//     std::cout << run.report();

#include "onward/diagnostics/summary.hpp"
#include "onward/error.hpp"
#include "onward/model/model.hpp"
#include "onward/run/run.hpp"
#include "onward/sampler/samplers.hpp"
#include "onward/target/callable.hpp"
#include "onward/target/observed.hpp"
#include "onward/target/target.hpp"
#include "onward/version.hpp"
