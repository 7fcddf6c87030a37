#pragma once
// What a model must offer to be sampled (the concept Target), and one type that holds any such model
// (AnyTarget).

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "onward/target/direction.hpp"
#include "onward/target/jet.hpp"
#include "onward/target/parameter_block.hpp"
#include "onward/target/vector_source.hpp"
#include "onward/util/thread_pool.hpp"

namespace onward {

/// The least a model offers: its size and its jet at theta along v. It need not be a gradient code, a tape or
/// even differentiable by us: a tangent-linear simulator can be a Target.
///
/// It may also offer
/// - `JetPair jet_pair(theta, v, w, order)`: jets along two directions in one pass, order slope or curvature;
/// - `double jet_pair_price(order)`: what that costs, in jets of that order; 1 if it is not said;
/// - `line(theta, const Direction& v)`: an object with `Jet jet(alpha, order)` at theta + alpha v,
/// `void commit(alpha)`, which makes that place the one that alpha counts from, and perhaps `JetPair
/// jet_pair(alpha, const Direction& next, order)`, along v and along the next line. For models that can save
/// work on a line. theta and v outlive the line; theta itself is moved by the caller, after commit(). There
/// is one line at a time, and nothing else is asked of the target meanwhile;
/// - `double refresh()`, if what it carries along from commit to commit drifts (rounding adds up): computes
/// all of it again, so that from then on results depend on the arguments alone and not on the way here, and
/// says how far it had drifted;
/// - `Jet jet_from(const VectorSource& theta, const VectorSource* v, order)`: the jet of a place and a
/// direction that are not in memory (v is null for order value); samplers can then do without vectors
/// (Vectors::regenerated). A place whose entries are not all finite has the value -inf;
/// - `double gradient(theta, out)`, returning the value: baseline MALA needs it;
/// - `std::vector<std::string> names()`: what the parameters are called in output, Stan style ("theta.1");
/// - `void constrain(theta, out)`: from the space that is sampled to the parameters, out.size() ==
/// names().size();
/// - `std::vector<ParameterBlock> blocks()`: which parameters, as they are sampled, belong together; without
/// it those of one name do;
/// - `void use_pool(std::shared_ptr<ThreadPool>)`: threads that share the work of an evaluation. Its bits
/// must not depend on how many they are.
///
/// A target is copied once for each chain, so it may keep scratch memory, but must not share mutable state.
template <class T>
concept Target = std::copy_constructible<T> && requires(T& t, VectorView theta, VectorView v, Order order) {
  { t.dimension() } -> std::convertible_to<std::size_t>;
  { t.jet(theta, v, order) } -> std::same_as<Jet>;
};

template <class T>
concept HasJetPair = requires(T& t, VectorView theta, VectorView v, VectorView w, Order order) {
  { t.jet_pair(theta, v, w, order) } -> std::same_as<JetPair>;
};
template <class T>
concept HasJetPairPrice = requires(const T& t, Order order) {
  { t.jet_pair_price(order) } -> std::convertible_to<double>;
};
template <class T>
concept HasJetFrom = requires(T& t, const VectorSource& theta, const VectorSource* v, Order order) {
  { t.jet_from(theta, v, order) } -> std::same_as<Jet>;
};
/// What the model gives for a line.
template <class T>
using LineOf =
    decltype(std::declval<T&>().line(std::declval<VectorView>(), std::declval<const Direction&>()));
template <class T>
concept HasLine = requires(T& t, LineOf<T>& line, double alpha, Order order) {
  { line.jet(alpha, order) } -> std::same_as<Jet>;
  line.commit(alpha);
};
template <class T>
concept HasLinePair = HasLine<T> && requires(LineOf<T>& line, const Direction& next, Order order) {
  { line.jet_pair(0.0, next, order) } -> std::same_as<JetPair>;
};
template <class T>
concept HasRefresh = requires(T& t) {
  { t.refresh() } -> std::convertible_to<double>;
};
template <class T>
concept HasGradient = requires(T& t, VectorView theta, std::span<double> out) {
  { t.gradient(theta, out) } -> std::convertible_to<double>;
};
template <class T>
concept HasNames = requires(const T& t) {
  { t.names() } -> std::convertible_to<std::vector<std::string>>;
};
template <class T>
concept HasConstrain = requires(const T& t, VectorView theta, std::span<double> out) {
  t.constrain(theta, out);
};

template <class T>
concept HasPool = requires(T& t, std::shared_ptr<ThreadPool> pool) {
  t.use_pool(std::move(pool));
};

template <class T>
concept HasBlocks = requires(const T& t) {
  { t.blocks() } -> std::convertible_to<std::vector<ParameterBlock>>;
};

/// What a target was asked, and what went wrong on the way.
struct Counts {
  std::uint64_t values = 0, slopes = 0, curvatures = 0;  ///< evaluations by their order
  std::uint64_t slope_pairs = 0, curvature_pairs = 0;    ///< evaluations along two lines at once
  std::uint64_t gradients = 0;                           ///< full gradients
  std::uint64_t nonfinite = 0;  ///< evaluations without density: not finite, or std::domain_error
  std::uint64_t threw = 0;      ///< those of them where the model threw std::domain_error
  std::string first_message;    ///< what the first of those said

  /// Evaluations of any order, along one line or two, plain values included.
  std::uint64_t jets() const { return values + slopes + curvatures + slope_pairs + curvature_pairs; }
  Counts& operator+=(const Counts& other);
};

/// Any target behind one type. Copying it copies the model, so that each chain has its own scratch memory and
/// counts. Where a model throws std::domain_error there is no density (value -inf), and it is counted; any
/// other exception is a fault of the model and goes through.
class AnyTarget {
 public:
  // The first condition comes first: asking whether AnyTarget itself is a Target would ask this again.
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, AnyTarget>) && Target<T> AnyTarget(T target)
      : model_(std::make_unique<Model<T>>(std::move(target))) {}  // NOLINT: any target is an AnyTarget

  AnyTarget(const AnyTarget& other) : model_(other.model_->clone()), temperature_(other.temperature_) {}
  AnyTarget(AnyTarget&&) noexcept = default;
  AnyTarget& operator=(const AnyTarget& other) { return *this = AnyTarget(other); }
  AnyTarget& operator=(AnyTarget&&) noexcept = default;
  ~AnyTarget() = default;

  /// The target that was given, if it is a T; else null.
  template <class T>
  const T* get_if() const {
    const auto* model = dynamic_cast<const Model<T>*>(model_.get());
    return model == nullptr ? nullptr : &model->target;
  }

  std::size_t dimension() const { return model_->dimension(); }
  Jet jet(VectorView theta, VectorView v, Order order);
  double value(VectorView theta) { return jet(theta, {}, Order::value).value; }
  bool has_jet_pair() const { return model_->has_jet_pair(); }
  /// What jets along two directions cost together, in jets of that order: from 1 to 2.
  double jet_pair_price(Order order) const { return model_->jet_pair_price(order); }
  /// Jets along v and w, in one pass if the model can do that, else in two.
  JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order);
  bool has_jet_from() const { return model_->has_jet_from(); }
  /// The jet of a place and a direction that need not be in memory. Throws UsageError if the model offers
  /// none.
  Jet jet_from(const VectorSource& theta, const VectorSource* v, Order order);

  /// A place, and the line through it along v: what a line kernel works with. The plain form, with a vector
  /// for theta + alpha v, serves models that have no line of their own.
  class Line {
   public:
    Jet here(Order order) { return jet(0, order); }
    Jet jet(double alpha, Order order);  ///< at theta + alpha v, along v
    /// The same, and the jet along `next` at that place, in one pass if the model can do that.
    JetPair jet_pair(double alpha, const Direction& next, Order order);
    /// Moves theta to theta + alpha v, from where alpha counts from then on; nothing where it is not
    /// accepted.
    void commit(double alpha, bool accepted = true) {
      if (accepted && alpha != 0) move(alpha);
    }

   private:
    friend class AnyTarget;
    Line(AnyTarget& target, std::vector<double>& position, const Direction& v)
        : target_(&target), position_(&position), v_(v), plain_(!v.source() && !target.model_->has_line) {}
    VectorView place(double alpha);
    void move(double alpha);
    VectorView along(Order order) const { return order == Order::value ? VectorView{} : v_.held(); }
    template <class Evaluate>
    auto guarded(double alpha, const Evaluate& evaluate) -> decltype(evaluate());
    AnyTarget* target_;
    std::vector<double>* position_;
    Direction v_;
    bool plain_;
    double placed_ = 0;     // the alpha whose place is in the target's scratch memory; 0: none
    bool started_ = false;  // the model's own line
  };
  /// The position and what v views must outlive the line. There is one line at a time, and nothing else is
  /// asked of the target meanwhile. A direction that is not in memory needs jet_from().
  Line line(std::vector<double>& position, const Direction& v) {
    if (v.source()) check_reads_sources();
    return Line(*this, position, v);
  }

  /// Whether what the model carries along from commit to commit drifts, and refresh() is worth calling.
  bool drifts() const { return model_->drifts(); }
  /// Computes it again: from then on results depend on the arguments alone and not on the way here. Whoever
  /// runs a chain does this at fixed step numbers; jets that a State keeps are older and stay what they are.
  double refresh() { return model_->refresh(); }

  bool has_gradient() const { return model_->has_gradient(); }
  /// The value; the gradient goes to out. Throws UsageError if the model offers none.
  double gradient(VectorView theta, std::span<double> out);

  std::vector<std::string> names() const;
  void constrain(VectorView theta, std::span<double> out) const;
  /// The model's own; empty if it offers none.
  std::vector<ParameterBlock> blocks() const { return model_->blocks(); }

  /// Sample density^(1/T) instead of the density: value, slope, curvature and gradient are divided by T.
  AnyTarget tempered(double temperature) const;
  double temperature() const { return temperature_; }

  /// Threads to share an evaluation's work; nothing happens if the model has no use for them.
  void use_pool(std::shared_ptr<ThreadPool> pool) { model_->use_pool(std::move(pool)); }
  bool has_use_for_pool() const { return model_->has_use_for_pool(); }

  const Counts& counts() const { return counts_; }
  void set_counts(Counts counts) { counts_ = std::move(counts); }
  void reset_counts() { counts_ = {}; }

 private:
  struct Interface {
    explicit Interface(bool own_line) : has_line(own_line) {}
    virtual ~Interface() = default;
    const bool has_line;  // not virtual: it is asked at every step
    virtual std::unique_ptr<Interface> clone() const = 0;
    virtual std::size_t dimension() const = 0;
    virtual Jet jet(VectorView theta, VectorView v, Order order) = 0;
    virtual bool has_jet_pair() const = 0;
    virtual double jet_pair_price(Order order) const = 0;
    virtual JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order) = 0;
    virtual bool has_jet_from() const = 0;
    virtual Jet jet_from(const VectorSource& theta, const VectorSource* v, Order order) = 0;
    virtual bool has_line_pair() const = 0;
    virtual void start_line(VectorView theta, const Direction& v) = 0;
    virtual Jet line_jet(double alpha, Order order) = 0;
    virtual JetPair line_jet_pair(double alpha, const Direction& next, Order order) = 0;
    virtual void commit(double alpha) = 0;
    virtual bool drifts() const = 0;
    virtual double refresh() = 0;
    virtual bool has_gradient() const = 0;
    virtual double gradient(VectorView theta, std::span<double> out) = 0;
    virtual std::vector<std::string> names() const = 0;  // empty: none given
    virtual bool has_constrain() const = 0;
    virtual void constrain(VectorView theta, std::span<double> out) const = 0;
    virtual std::vector<ParameterBlock> blocks() const = 0;
    virtual void use_pool(std::shared_ptr<ThreadPool> pool) = 0;
    virtual bool has_use_for_pool() const = 0;
  };

  template <class T>
  struct OwnLine {
    struct Type {};
  };
  template <HasLine T>
  struct OwnLine<T> {
    using Type = std::optional<LineOf<T>>;
  };

  template <class T>
  struct Model final : Interface {
    explicit Model(T t) : Interface(HasLine<T>), target(std::move(t)) {}
    std::unique_ptr<Interface> clone() const override { return std::make_unique<Model>(target); }
    std::size_t dimension() const override { return target.dimension(); }
    Jet jet(VectorView theta, VectorView v, Order order) override { return target.jet(theta, v, order); }
    bool has_jet_pair() const override { return HasJetPair<T>; }
    double jet_pair_price([[maybe_unused]] Order order) const override {
      if constexpr (HasLine<T> ? !HasLinePair<T> : !HasJetPair<T>)
        return 2;
      else if constexpr (HasJetPairPrice<T>)
        return target.jet_pair_price(order);
      else
        return 1;
    }
    JetPair jet_pair(VectorView theta, VectorView v, VectorView w, Order order) override {
      if constexpr (HasJetPair<T>)
        return target.jet_pair(theta, v, w, order);
      else
        return {target.jet(theta, v, order), target.jet(theta, w, order)};
    }
    bool has_jet_from() const override { return HasJetFrom<T>; }
    Jet jet_from([[maybe_unused]] const VectorSource& theta, [[maybe_unused]] const VectorSource* v,
                 [[maybe_unused]] Order order) override {
      if constexpr (HasJetFrom<T>)
        return target.jet_from(theta, v, order);
      else
        return {};
    }
    bool has_line_pair() const override { return HasLinePair<T>; }
    void start_line([[maybe_unused]] VectorView theta, [[maybe_unused]] const Direction& v) override {
      if constexpr (HasLine<T>) line.emplace(target.line(theta, v));
    }
    Jet line_jet([[maybe_unused]] double alpha, [[maybe_unused]] Order order) override {
      if constexpr (HasLine<T>)
        return line->jet(alpha, order);
      else
        return {};
    }
    JetPair line_jet_pair([[maybe_unused]] double alpha, [[maybe_unused]] const Direction& next,
                          [[maybe_unused]] Order order) override {
      if constexpr (HasLinePair<T>)
        return line->jet_pair(alpha, next, order);
      else
        return {};
    }
    void commit([[maybe_unused]] double alpha) override {
      if constexpr (HasLine<T>) line->commit(alpha);
    }
    bool drifts() const override { return HasRefresh<T>; }
    double refresh() override {
      if constexpr (HasRefresh<T>)
        return target.refresh();
      else
        return 0;
    }
    bool has_gradient() const override { return HasGradient<T>; }
    double gradient([[maybe_unused]] VectorView theta, [[maybe_unused]] std::span<double> out) override {
      if constexpr (HasGradient<T>)
        return target.gradient(theta, out);
      else
        return 0;
    }
    std::vector<std::string> names() const override {
      if constexpr (HasNames<T>)
        return target.names();
      else
        return {};
    }
    bool has_constrain() const override { return HasConstrain<T>; }
    void constrain([[maybe_unused]] VectorView theta, [[maybe_unused]] std::span<double> out) const override {
      if constexpr (HasConstrain<T>) target.constrain(theta, out);
    }
    std::vector<ParameterBlock> blocks() const override {
      if constexpr (HasBlocks<T>)
        return target.blocks();
      else
        return {};
    }
    void use_pool([[maybe_unused]] std::shared_ptr<ThreadPool> pool) override {
      if constexpr (HasPool<T>) target.use_pool(std::move(pool));
    }
    bool has_use_for_pool() const override { return HasPool<T>; }
    T target;
    typename OwnLine<T>::Type line;  // of which there is one at a time
  };

  void check_reads_sources() const;
  Jet settled(Jet jet);
  template <class Evaluate>
  auto guarded(const Evaluate& evaluate) -> decltype(evaluate());
  template <class Evaluate>
  auto guarded(VectorView theta, const Evaluate& evaluate) -> decltype(evaluate());
  template <class Guarded>
  Jet counted(Order order, const Guarded& guarded);
  template <class Guarded>
  JetPair counted_pair(Order order, const Guarded& guarded);

  std::unique_ptr<Interface> model_;
  double temperature_ = 1;
  Counts counts_;
  std::vector<double> place_;  // of a line in its plain form
};

}  // namespace onward
