#include "product.hpp"

#include <algorithm>

#include "layers.hpp"

// Of OpenMP's run-time library, which oneDNN brings along. Compiling with OpenMP would make other libraries'
// headers use it too.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}

namespace onward::net {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

memory::dim dim(std::size_t n) { return static_cast<memory::dim>(n); }

/// Scratch memory is ours, so that threads can execute one primitive at the same time.
dnnl::primitive_attr attributes(const dnnl::post_ops& after = {}) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attr.set_post_ops(after);
  return attr;
}

template <class Description>
dnnl::primitive_desc primitive_for(const Description& description, const dnnl::primitive_attr& attr,
                                   const dnnl::primitive_desc& hint = {}) {
  return {&description.data, &attr, cpu(), hint.get(true)};
}

memory::desc scratchpad_of(const dnnl::primitive_desc& primitive) {
  return primitive.query_md(dnnl::query::scratchpad_md);
}
memory::desc weights_of(const dnnl::primitive_desc& primitive) {
  return primitive.query_md(dnnl::query::weights_md);
}

/// A copy from one order of weights to another.
std::unique_ptr<Kernel> make_reorder(const memory::desc& from, const memory::desc& to, bool packed_to) {
  const dnnl::reorder::primitive_desc primitive(cpu(), from, cpu(), to, attributes());
  std::vector<Kernel::Argument> arguments{{DNNL_ARG_FROM, from}};
  if (!packed_to) arguments.push_back({DNNL_ARG_TO, to});
  return std::make_unique<Kernel>(dnnl::reorder(primitive), std::move(arguments),
                                  primitive.scratchpad_desc());
}

void resize_bytes(Floats& floats, std::size_t bytes) {
  const std::size_t size = (bytes + sizeof(float) - 1) / sizeof(float);
  if (floats.size() < size) floats.resize(size);
}

float* writable(const float* array) { return const_cast<float*>(array); }  // oneDNN does not tell in from out

}  // namespace

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

Kernel::Kernel(dnnl::primitive primitive, std::vector<Argument> arguments, const memory::desc& scratchpad)
    : primitive_(std::move(primitive)), arguments_(std::move(arguments)), scratchpad_(scratchpad) {}

void Kernel::run(Workbench& bench, std::span<float* const> arrays, int packed_name,
                 const memory* packed) const {
  auto& memories = bench.memories_[this];
  if (memories.empty())
    for (const auto& argument : arguments_) memories.emplace_back(argument.form, cpu(), nullptr);
  std::array<dnnl_exec_arg_t, 6> list{};
  int count = 0;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    memories[i].set_data_handle(arrays[i]);
    list[static_cast<std::size_t>(count++)] = {arguments_[i].name, memories[i].get()};
  }
  if (packed) list[static_cast<std::size_t>(count++)] = {packed_name, packed->get()};
  memory scratchpad;
  if (scratchpad_.get_size() > 0) {
    resize_bytes(bench.scratch_, scratchpad_.get_size());
    scratchpad = memory(scratchpad_, cpu(), bench.scratch_.data());
    list[static_cast<std::size_t>(count++)] = {DNNL_ARG_SCRATCHPAD, scratchpad.get()};
  }
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), bench.stream_.get(), count, list.data()),
                          "a product could not be computed");
}

Product::Product(const Layout::Step& step, bool relu, std::size_t rows)
    : in_(step.in), out_(step.out), has_bias_(step.has_bias()), relu_(relu), outputs_(step.out.channels) {
  if (const auto* conv = std::get_if<Conv2d>(&step.layer)) {
    is_conv_ = true;
    weight_dims_ = {dim(out_.channels), dim(in_.channels), dim(conv->kernel_height), dim(conv->kernel_width)};
    strides_ = {dim(conv->stride), dim(conv->stride)};
    padding_ = {dim(conv->padding), dim(conv->padding)};
  } else {
    weight_dims_ = {dim(out_.channels), dim(in_.channels)};
  }
  weights_ = (step.end - step.begin) - (has_bias_ ? outputs_ : 0);
  plain_form_ = weights_in(is_conv_ ? Tag::oihw : Tag::oi);
  if (Winograd::takes(step)) {
    winograd_.emplace(in_, out_, std::get<Conv2d>(step.layer).padding);
    winograd_backward_ = winograd_->backward();
    return;
  }
  const OneThread one_thread;
  forward_form_ = weights_of(forward_primitive(Use::plain, rows, weights_in(Tag::any)));
  pack_ = make_reorder(plain_form_, forward_form_, true);
}

memory::desc Product::activations(const Shape& shape, std::size_t rows) const {
  if (is_conv_)
    return {{dim(rows), dim(shape.channels), dim(shape.height), dim(shape.width)}, float32, Tag::nhwc};
  return {{dim(rows), dim(shape.channels)}, float32, Tag::nc};
}

dnnl::primitive_desc Product::forward_primitive(Use use, std::size_t rows, const Form& weights) const {
  dnnl::post_ops after;
  if (use == Use::sum) after.append_sum(1);
  const bool bias = has_bias_ && use == Use::biased;
  const Form source = activations(in_, rows), target = activations(out_, rows),
             bias_or_none = bias ? bias_form() : Form();
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  if (is_conv_)
    return primitive_for(
        dnnl::convolution_forward::desc(kind, dnnl::algorithm::convolution_direct, source, weights,
                                        bias_or_none, target, strides_, padding_, padding_),
        attributes(after));
  return primitive_for(dnnl::inner_product_forward::desc(kind, source, weights, bias_or_none, target),
                       attributes(after));
}

void Product::make_forward(Use use, std::size_t rows) {
  auto& kernel = forward_[static_cast<std::size_t>(use)][rows];
  if (kernel) return;
  const auto primitive = forward_primitive(use, rows, forward_form_);
  std::vector<Kernel::Argument> arguments{{DNNL_ARG_SRC, activations(in_, rows)},
                                          {DNNL_ARG_DST, activations(out_, rows)}};
  if (has_bias_ && use == Use::biased) arguments.push_back({DNNL_ARG_BIAS, bias_form()});
  kernel =
      std::make_unique<Kernel>(dnnl::primitive(primitive), std::move(arguments), scratchpad_of(primitive));
}

void Product::prepare(std::size_t rows, bool tangents) {
  if (winograd_) return;
  const OneThread one_thread;
  make_forward(has_bias_ ? Use::biased : Use::plain, rows);
  if (!tangents) return;
  for (const Use use : {Use::plain, Use::sum}) make_forward(use, rows);
}

void Product::prepare_backward(std::size_t rows) {
  if (backward_weights_.contains(rows)) return;
  const OneThread one_thread;
  const Form source = activations(in_, rows), target = activations(out_, rows);
  const Form bias_or_none = has_bias_ ? bias_form() : Form();
  const Form any = weights_in(Tag::any);
  const Form inputs_form = backward_form_ ? backward_form_ : any;
  const Form weights_form = gradient_form_ ? gradient_form_ : any;
  dnnl::primitive_desc inputs, weights;
  if (is_conv_) {
    constexpr auto direct = dnnl::algorithm::convolution_direct;
    const auto hint =
        primitive_for(dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, direct, source, any,
                                                      bias_or_none, target, strides_, padding_, padding_),
                      attributes());
    if (!winograd_)
      inputs = primitive_for(dnnl::convolution_backward_data::desc(direct, source, inputs_form, target,
                                                                   strides_, padding_, padding_),
                             attributes(), hint);
    weights =
        primitive_for(dnnl::convolution_backward_weights::desc(direct, source, weights_form, bias_or_none,
                                                               target, strides_, padding_, padding_),
                      attributes(), hint);
  } else {
    const auto hint = primitive_for(dnnl::inner_product_forward::desc(dnnl::prop_kind::forward_training,
                                                                      source, any, bias_or_none, target),
                                    attributes());
    inputs = primitive_for(dnnl::inner_product_backward_data::desc(source, inputs_form, target), attributes(),
                           hint);
    weights =
        primitive_for(dnnl::inner_product_backward_weights::desc(source, weights_form, bias_or_none, target),
                      attributes(), hint);
  }
  if (!gradient_form_) {
    gradient_form_ = weights.query_md(dnnl::query::diff_weights_md);
    unpack_gradient_ = make_reorder(gradient_form_, plain_form_, false);
  }
  if (!winograd_) {
    if (!backward_form_) {
      backward_form_ = weights_of(inputs);
      pack_backward_ = make_reorder(plain_form_, backward_form_, true);
    }
    backward_inputs_[rows] = std::make_unique<Kernel>(
        dnnl::primitive(inputs),
        std::vector<Kernel::Argument>{{DNNL_ARG_DIFF_DST, target}, {DNNL_ARG_DIFF_SRC, source}},
        scratchpad_of(inputs));
  }
  std::vector<Kernel::Argument> arguments{
      {DNNL_ARG_SRC, source}, {DNNL_ARG_DIFF_DST, target}, {DNNL_ARG_DIFF_WEIGHTS, gradient_form_}};
  if (has_bias_) arguments.push_back({DNNL_ARG_DIFF_BIAS, bias_form()});
  backward_weights_[rows] =
      std::make_unique<Kernel>(dnnl::primitive(weights), std::move(arguments), scratchpad_of(weights));
}

PackedWeights Product::packed_as(const Form& form) {
  PackedWeights packed;
  resize_bytes(packed.floats, form.get_size());
  packed.memory = memory(form, cpu(), packed.floats.data());
  return packed;
}

PackedWeights Product::packed_for(const Winograd& winograd) {
  PackedWeights packed;
  packed.floats.resize(winograd.packed_size());
  return packed;
}

PackedWeights Product::packed() const {
  return winograd_ ? packed_for(*winograd_) : packed_as(forward_form_);
}

PackedWeights Product::packed_backward() const {
  return winograd_ ? packed_for(*winograd_backward_) : packed_as(backward_form_);
}

std::size_t Product::packed_bytes() const {
  return winograd_ ? winograd_->packed_size() * sizeof(float) : forward_form_.get_size();
}

void Product::pack(float* plain, PackedWeights& out, Workbench& bench) const {
  if (winograd_) return winograd_->pack(plain, out.floats.data());
  pack_->run(bench, std::array{plain}, DNNL_ARG_TO, &out.memory);
}

void Product::pack_backward(float* plain, PackedWeights& out, Workbench& bench) const {
  if (winograd_) return winograd_backward_->pack_backward(plain, out.floats.data());
  pack_backward_->run(bench, std::array{plain}, DNNL_ARG_TO, &out.memory);
}

void Product::forward(std::size_t rows, const Stack& in, std::span<const Sum> sums, Workbench& bench) const {
  std::vector<Winograd::Sum> together;
  for (const Sum& sum : sums) {
    if (sum.count == 0) {
      std::fill_n(sum.out, rows * out_.size(), 0.0f);
      continue;
    }
    const float* bias = has_bias_ ? sum.bias : nullptr;
    if (winograd_) {
      Winograd::Sum made{
          .out = sum.out, .terms = {}, .count = sum.count, .bias = bias, .relu = sum.relu && relu_};
      for (std::size_t t = 0; t < sum.count; ++t)
        made.terms[t] = {sum.terms[t].part, sum.terms[t].weights->floats.data()};
      together.push_back(made);
      continue;
    }
    for (std::size_t t = 0; t < sum.count; ++t) {
      const Use use = t > 0 ? Use::sum : bias ? Use::biased : Use::plain;
      forward_[static_cast<std::size_t>(use)].at(rows)->run(
          bench, std::array{writable(in.part(sum.terms[t].part)), sum.out, writable(bias)}, DNNL_ARG_WEIGHTS,
          &sum.terms[t].weights->memory);
    }
    if (sum.relu && relu_) relu(sum.out, rows * out_.size());  // oneDNN's own makes 0 of NaN
  }
  if (!together.empty()) winograd_->forward(rows, in, together, bench.scratch_);
}

void Product::backward_inputs(std::size_t rows, const float* by_out, const PackedWeights& weights,
                              float* by_in, Workbench& bench) const {
  if (winograd_) {
    const Winograd::Sum sum{
        .out = by_in, .terms = {{{0, weights.floats.data()}}}, .count = 1, .bias = nullptr, .relu = false};
    return winograd_backward_->forward(rows, {writable(by_out), 0, 1}, std::span(&sum, 1), bench.scratch_);
  }
  backward_inputs_.at(rows)->run(bench, std::array{writable(by_out), by_in}, DNNL_ARG_WEIGHTS,
                                 &weights.memory);
}

void Product::backward_weights(std::size_t rows, const float* in, const float* by_out, float* by_weights,
                               float* by_bias, Workbench& bench) const {
  const auto& kernel = *backward_weights_.at(rows);
  if (gradient_form_ == plain_form_) {
    kernel.run(bench, std::array{writable(in), writable(by_out), by_weights, by_bias});
    return;
  }
  resize_bytes(bench.gradient_, gradient_form_.get_size());
  kernel.run(bench, std::array{writable(in), writable(by_out), bench.gradient_.data(), by_bias});
  unpack_gradient_->run(bench, std::array{bench.gradient_.data(), by_weights});
}

}  // namespace onward::net
