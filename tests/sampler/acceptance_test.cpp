// Each kernel's acceptance probability and proposal against the brute force of brute_force.hpp, with every
// metric and every bias correction; and the broken twins, which the same comparison must catch.

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "broken_kernels.hpp"
#include "brute_force.hpp"
#include "models/funnel.hpp"
#include "models/rosenbrock.hpp"
#include "onward/target/callable.hpp"

namespace onward::testing {
namespace {

using StepFunction =
    std::function<StepInfo(State&, AnyTarget&, const Metric&, const StepRandom&, Workspace&)>;
using BruteFunction = std::function<Expected(BruteForce&)>;

StepFunction stepper(const KernelSettings& settings) {
  return [kernel = make_kernel(settings)](State& s, AnyTarget& t, const Metric& m, const StepRandom& r,
                                          Workspace& w) { return step(kernel, s, t, m, r, w); };
}

template <class K>
StepFunction stepper_of(K kernel) {
  return [kernel](State& s, AnyTarget& t, const Metric& m, const StepRandom& r, Workspace& w) {
    return kernel.step(s, t, m, r, w);
  };
}

struct Comparison {
  double acceptance_error = 0, position_error = 0;
  int accepted = 0,
      undecided = 0;  // undecided: an acceptance strictly between 0 and 1, where errors can show
};

Metric metric_of(MetricKind kind, std::size_t dimension, Matrix& lower) {
  const auto size = static_cast<Eigen::Index>(dimension);
  lower = Matrix::Identity(size, size);
  if (kind == MetricKind::none) return {};
  for (Eigen::Index i = 0; i < size; ++i) {
    lower(i, i) = 0.5 + 0.3 * static_cast<double>(i);
    if (kind == MetricKind::dense)
      for (Eigen::Index j = 0; j < i; ++j) lower(i, j) = 0.1 * static_cast<double>(i + 2 * j) - 0.2;
  }
  if (kind == MetricKind::dense) return Metric::dense(lower);
  if (kind == MetricKind::lowrank) {
    Vector wide = Vector::LinSpaced(size, -1, 2).normalized();
    const Vector gain = Vector::Constant(1, 1.5);
    const Vector scales = lower.diagonal();
    lower = scales.asDiagonal() * (Matrix::Identity(size, size) + gain[0] * wide * wide.transpose());
    return Metric::lowrank({scales.begin(), scales.end()}, wide, gain);
  }
  const Vector diagonal = lower.diagonal();
  return Metric::diagonal({diagonal.begin(), diagonal.end()});
}

Comparison compare(const AnyTarget& target, MetricKind kind, const StepFunction& kernel_step,
                   const BruteFunction& brute) {
  const std::size_t dimension = target.dimension();
  Matrix lower;
  const Metric metric = metric_of(kind, dimension, lower);
  Comparison result;
  for (std::uint32_t chain = 0; chain < 1000; ++chain) {
    const Stream stream(5, chain);
    AnyTarget model(target);
    State state;
    state.position.resize(dimension);
    stream.normals(0, Purpose::start, state.position);
    state.value = model.value(state.position);
    const Vector theta = Eigen::Map<Vector>(state.position.data(), static_cast<Eigen::Index>(dimension));
    const StepRandom random(stream, 1);
    BruteForce reference(target, lower, theta, random);
    const Expected expected = brute(reference);

    Workspace workspace(dimension);
    const StepInfo info = kernel_step(state, model, metric, random, workspace);
    result.acceptance_error =
        std::max(result.acceptance_error, std::abs(info.acceptance - expected.acceptance));
    const Vector now = Eigen::Map<Vector>(state.position.data(), static_cast<Eigen::Index>(dimension));
    const Vector due = info.accepted ? expected.proposal : theta;
    result.position_error = std::max(result.position_error, (now - due).norm() / (1 + due.norm()));
    result.accepted += info.accepted ? 1 : 0;
    result.undecided += expected.acceptance > 0.01 && expected.acceptance < 0.99 ? 1 : 0;
    EXPECT_EQ(info.accepted, random.uniform() < info.acceptance);
  }
  return result;
}

struct Case {
  std::string name;
  KernelSettings settings;
  BruteFunction brute;
};

std::vector<Case> cases() {
  std::vector<Case> list;
  const double eta = 0.15;
  list.push_back({"rwm", {.sampler = "rwm", .step_size = eta}, [=](BruteForce& b) { return b.rwm(eta); }});
  list.push_back({"mala", {.sampler = "mala", .step_size = eta}, [=](BruteForce& b) { return b.mala(eta); }});
  list.push_back({"mala as published",
                  {.sampler = "mala", .step_size = eta, .options = {{"as_published", true}}},
                  [=](BruteForce& b) { return b.mala(eta); }});
  for (auto c : {BiasCorrection::none, BiasCorrection::coupled, BiasCorrection::drift}) {
    const std::string with = " with bias correction " + std::string(to_string(c));
    list.push_back({"fmala" + with,
                    {.sampler = "fmala", .step_size = eta, .options = {{"bias_correction", to_string(c)}}},
                    [=](BruteForce& b) { return b.fmala(eta, c); }});
    list.push_back({"fresh fmala" + with,
                    {.sampler = "fmala",
                     .step_size = eta,
                     .options = {{"bias_correction", to_string(c)}, {"tangent", "fresh"}}},
                    [=](BruteForce& b) { return b.fmala(eta, c); }});
    list.push_back(
        {"line-fmala" + with,
         {.sampler = "line-fmala", .step_size = eta, .options = {{"bias_correction", to_string(c)}}},
         [=](BruteForce& b) { return b.line_fmala(eta, c); }});
    for (double floor : {0.0, 0.1})
      list.push_back({"pc-fmala" + with + " floor " + std::to_string(floor),
                      {.sampler = "pc-fmala",
                       .step_size = eta,
                       .options = {{"bias_correction", to_string(c)}, {"curvature_floor", floor}}},
                      [=](BruteForce& b) { return b.pc_fmala(eta, c, floor); }});
    list.push_back(
        {"fresh pc-fmala" + with,
         {.sampler = "pc-fmala",
          .step_size = eta,
          .options = {{"bias_correction", to_string(c)}, {"curvature_floor", 0.1}, {"tangent", "fresh"}}},
         [=](BruteForce& b) { return b.pc_fmala(eta, c, 0.1); }});
  }
  for (double floor : {0.0, 0.1})
    list.push_back({"pc-line-fmala floor " + std::to_string(floor),
                    {.sampler = "pc-line-fmala", .step_size = 1.2, .options = {{"curvature_floor", floor}}},
                    [=](BruteForce& b) { return b.pc_line_fmala(1.2, floor); }});
  for (double relaxation : {0.5, 1.0, 1.5})
    list.push_back(
        {"newton-line of relaxation " + std::to_string(relaxation),
         {.sampler = "newton-line", .options = {{"curvature_floor", 0.1}, {"relaxation", relaxation}}},
         [=](BruteForce& b) { return b.newton_line(relaxation, 0.1); }});
  list.push_back({"fresh newton-line without a floor",
                  {.sampler = "newton-line", .options = {{"curvature_floor", 0}, {"tangent", "fresh"}}},
                  [=](BruteForce& b) { return b.newton_line(1, 0); }});
  list.push_back({"line-barker", {.sampler = "line-barker", .step_size = 0.8}, [](BruteForce& b) {
                    return b.line_barker(0.8);
                  }});
  return list;
}

std::vector<AnyTarget> targets() {
  return {target(2, models::RosenbrockDensity{}), target(4, models::FunnelDensity{})};
}

TEST(Acceptance, EqualsBruteForce) {
  for (const auto& c : cases())
    for (const auto& model : targets())
      for (auto kind : {MetricKind::none, MetricKind::diag, MetricKind::dense, MetricKind::lowrank}) {
        SCOPED_TRACE(c.name + ", metric " + std::string(to_string(kind)) +
                     ", D = " + std::to_string(model.dimension()));
        const Comparison result = compare(model, kind, stepper(c.settings), c.brute);
        EXPECT_LT(result.acceptance_error, 1e-10);
        EXPECT_LT(result.position_error, 1e-12);
        // The comparison says something only where the probability is neither 0 nor 1.
        EXPECT_GT(result.undecided, 5);
        EXPECT_GT(result.accepted, 0);
      }
}

TEST(Acceptance, BruteForceCatchesBrokenTwins) {
  const double eta = 0.15;
  const auto newton_line = [](BruteForce& b) { return b.newton_line(1, 0.1); };
  const std::vector<std::pair<StepFunction, BruteFunction>> twins{
      {stepper_of(BrokenRwm{eta}), [=](BruteForce& b) { return b.rwm(eta); }},
      {stepper_of(BrokenMala{eta}), [=](BruteForce& b) { return b.mala(eta); }},
      {stepper_of(BrokenFmala{eta}), [=](BruteForce& b) { return b.fmala(eta, BiasCorrection::none); }},
      {stepper_of(BrokenLineFmala{eta}),
       [=](BruteForce& b) { return b.line_fmala(eta, BiasCorrection::none); }},
      {stepper_of(BrokenPcFmala{eta}),
       [=](BruteForce& b) { return b.pc_fmala(eta, BiasCorrection::none, 0); }},
      {stepper_of(BrokenPcLineFmala{1.2}), [=](BruteForce& b) { return b.pc_line_fmala(1.2, 0); }},
      {stepper_of(BrokenLineBarker{0.8}), [](BruteForce& b) { return b.line_barker(0.8); }},
      {stepper_of(NewtonLineWithoutNormalisers{}), newton_line},
      {stepper_of(NewtonLineWithoutCutBack{}), newton_line},
      {stepper_of(PlainMovesAsWideAsTheSlope{}), newton_line},
      {stepper_of(DirectionOfTheState{}), newton_line}};
  for (std::size_t i = 0; i < twins.size(); ++i)
    for (const auto& model : targets()) {
      SCOPED_TRACE("twin " + std::to_string(i));
      const Comparison result = compare(model, MetricKind::none, twins[i].first, twins[i].second);
      EXPECT_GT(result.acceptance_error, 1e-3);
    }
}

}  // namespace
}  // namespace onward::testing
