#pragma once
// What is reported of a model's draws besides its parameters, or in place of some: quantities that are
// generated from them, with random numbers of their own, and the log likelihood of each observation.
//
//     auto target = onward::target(parameters, density)
//                       .generate(onward::Quantities{}.vector("theta", 8),
//                                 [](auto& random, auto mu, auto tau, auto z, auto theta) {
//                                   for (std::size_t j = 0; j < 8; ++j) theta[j] = mu + tau * z[j];
//                                 })
//                       .hide({"z"});

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onward/ad/no_plain_number.hpp"
#include "onward/error.hpp"
#include "onward/random/random.hpp"
#include "onward/target/jet.hpp"
#include "onward/target/quantities.hpp"

namespace onward {

/// The log likelihood of each observation, from all of a model's parameters.
struct ObservationLikelihood {
  std::string name;
  std::size_t count = 0;
  std::function<double(std::size_t i, std::span<const double> parameters)> at;
};

/// What is reported of a place, by name: constrained parameters, then quantities, without those that are
/// hidden. It does not know the parameters' kinds.
class Reporting {
 public:
  explicit Reporting(const ParameterLayout& parameters)
      : names_(parameters.names()), parameters_(parameters), size_(names_.size()) {
    show_all();
  }

  /// Throws UsageError if there are quantities already, or one has the name of a parameter.
  void add(const ParameterLayout& quantities,
           std::function<void(Random&, std::span<const double>, std::span<double>)> generate);
  /// Throws UsageError for a name that there is not, and if nothing would be left.
  void hide(std::string_view name);
  void observe(ObservationLikelihood observations);

  std::vector<std::string> names() const;
  /// From all constrained parameters.
  void report(std::span<const double> parameters, Random& random, std::span<double> out) const;
  /// Throws UsageError if what they need is hidden.
  const ObservationLikelihood* observations() const;

 private:
  void show_all();
  std::vector<std::string> names_;  // of parameters and quantities
  ParameterLayout parameters_, quantities_;
  std::size_t size_;  // of the parameters
  std::vector<std::size_t> shown_;
  std::string hidden_;  // a parameter that is
  std::function<void(Random&, std::span<const double>, std::span<double>)> generate_;
  ObservationLikelihood observations_;
};

namespace detail {

template <class F, class Tuple>
constexpr bool applies = false;
template <class F, class... A>
constexpr bool applies<F, const std::tuple<A...>> = std::is_invocable_v<const F&, const A&...>;

}  // namespace detail

/// A parametrised target (`Base`) with more to report, or less.
template <class Base>
class Reported : public Base {
 public:
  explicit Reported(Base base) : Base(std::move(base)), reporting_(Base::parameters()) {}

  std::vector<std::string> names() const { return reporting_.names(); }
  /// Of a place that belongs to no chain: random numbers depend on the place alone.
  void constrain(VectorView theta, std::span<double> out) const {
    Random random = Random::of_place(theta);
    report(theta, random, out);
  }
  void report(VectorView theta, Random& random, std::span<double> out) const {
    std::vector<double> x(Base::parameters().constrained_size());
    Base::parameters().constrain(theta, x);
    reporting_.report(x, random, out);
  }
  std::vector<ParameterBlock> blocks() const { return Base::parameters().blocks(); }
  const ObservationLikelihood* observations() const { return reporting_.observations(); }

  /// Reports these quantities too. f(random, parameters..., quantities...) is called for each draw that is
  /// kept: it gets an onward::Random, each parameter as the log density does, made of doubles, and fills in
  /// the quantities, each a RealOut, a std::span<double> or a
  /// MatrixOut. What it does not fill in is NaN.
  template <class... Kinds, class F>
  Reported generate(const Quantities<Kinds...>& quantities, F f) const {
    Reported result = *this;
    result.reporting_.add(quantities, [parameters = Base::parameters(), quantities, f = std::move(f)](
                                          Random& random, std::span<const double> x, std::span<double> out) {
      const auto arguments =
          std::tuple_cat(std::tuple<Random&>(random), parameters.arguments(x), quantities.arguments(out));
      if constexpr (detail::applies<F, decltype(arguments)>)
        std::apply(f, arguments);
      else
        static_assert(ad::never<F>,
                      "what generates quantities takes `auto& random`, then one argument for each parameter, "
                      "then one for each quantity, in the order of declaration: write auto for them, without "
                      "& or const");
    });
    return result;
  }

  /// Does not report these parameters or quantities.
  Reported hide(std::initializer_list<std::string_view> hidden) const {
    Reported result = *this;
    for (const std::string_view name : hidden) result.reporting_.hide(name);
    return result;
  }

  /// What is known of each of `count` observations, called `name`: f(i, parameters...) is the log likelihood
  /// of number i, from 0, with all its constants. It is for cross-validation (loo) and for files, and is not
  /// added to the log density.
  template <class F>
  Reported log_likelihood(std::string name, std::size_t count, F f) const {
    Reported result = *this;
    result.reporting_.observe(
        {std::move(name), count,
         [parameters = Base::parameters(), f = std::move(f)](std::size_t i,
                                                             std::span<const double> x) -> double {
           const auto arguments = std::tuple_cat(std::tuple<std::size_t>(i), parameters.arguments(x));
           if constexpr (detail::applies<F, decltype(arguments)>)
             return std::apply(f, arguments);
           else
             static_assert(ad::never<F>,
                           "a log likelihood takes the number of an observation (std::size_t i), then one "
                           "argument for each parameter, in the order of declaration: write auto for them");
         }});
    return result;
  }

 private:
  Reporting reporting_;
};

}  // namespace onward
