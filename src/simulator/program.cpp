#include "onward/simulator/program.hpp"

#include <atomic>
#include <stdexcept>

#include <fmt/format.h>

#include "numbers.hpp"
#include "onward/error.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/waiting.hpp"
#include "process.hpp"

namespace onward {
namespace {

using detail::Process;
using detail::WireProblem;
using nlohmann::json;

struct Shared {
  std::vector<std::string> words;
  ProgramOptions options;
  SimulatorFacts facts;
  std::atomic<bool> told_of_crash{false}, told_of_hang{false};
};

class ProgramSimulator final : public Simulator {
 public:
  explicit ProgramSimulator(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::unique_ptr<Simulator> clone() const override { return std::make_unique<ProgramSimulator>(shared_); }
  const SimulatorFacts& facts() const override { return shared_->facts; }

  void evaluate(VectorView x, std::span<double> out) override {
    const json answer = ask(request("evaluate", x));
    read(answer, "output", out);
  }
  void apply_jacobian(VectorView x, VectorView v, std::span<double> out, std::span<double> tangent) override {
    const json answer = ask(request("jacobian", x, "vector", v));
    read(answer, "output", out);
    read(answer, "tangent", tangent);
  }
  void apply_transposed(VectorView x, VectorView s, std::span<double> out) override {
    const json answer = ask(request("gradient", x, "sensitivity", s));
    read(answer, "gradient", out);
  }
  void apply_hessian(VectorView, VectorView, VectorView, std::span<double>) override {
    throw std::logic_error("programs are not asked for second derivatives");
  }

  /// What the program says of itself.
  void meet() {
    const json said = introduced();
    SimulatorFacts& facts = shared_->facts;
    const auto inputs = said.find("inputs"), outputs = said.find("outputs");
    const auto is_count = [](const json& value) { return value.is_number_unsigned() && value > 0; };
    if (inputs != said.end() && inputs->is_array())
      for (const json& name : *inputs)
        if (name.is_string()) facts.input_names.push_back(name.get<std::string>());
    if (inputs != said.end() && is_count(*inputs))
      facts.inputs = {inputs->get<std::size_t>()};
    else if (inputs != said.end() && inputs->is_array() && !inputs->empty() &&
             facts.input_names.size() == inputs->size())
      facts.inputs = {inputs->size()};
    else
      amiss("its answer has no \"inputs\": say how many numbers go in, or give a list of their names");
    if (outputs == said.end() || !is_count(*outputs))
      amiss("its answer has no \"outputs\": say how many numbers come out");
    facts.outputs = {outputs->get<std::size_t>()};
    facts.jacobian = facts.outputs_beside = said.value("jacobian", json(false)) == json(true);
    facts.gradient = said.value("gradient", json(false)) == json(true);
  }

 private:
  static std::string request(const char* what, VectorView x, const char* field = nullptr,
                             VectorView numbers = {}) {
    std::string text = fmt::format("{{\"ask\":\"{}\",\"input\":", what);
    detail::append_numbers(text, x);
    if (field != nullptr) {
      text += fmt::format(",\"{}\":", field);
      detail::append_numbers(text, numbers);
    }
    return text + "}";
  }

  json introduced() {
    try {
      process_ = std::make_unique<Process>(shared_->words);
      const std::string answer = process_->ask(R"({"ask":"model"})", {shared_->options.timeout});
      json said = detail::parse_answer(answer);
      if (said.contains("error")) amiss(fmt::format("it says: {}", words_of(said["error"])));
      return said;
    } catch (const WireProblem& problem) {
      amiss(problem.what());
    }
  }
  [[noreturn]] void amiss(const std::string& what) const {
    throw Error(
        fmt::format("the program {} was asked what it is by {{\"ask\":\"model\"}}, and {}", name(), what));
  }
  std::string name() const { return shared_->facts.name; }
  static std::string words_of(const json& error) {
    return printable(error.is_string() ? error.get<std::string>() : error.dump());
  }

  /// The line that the program answers. One that ends well after an answer is run for each.
  std::string told(const std::string& line) {
    Waiting::announce();
    const detail::Wait wait{shared_->options.timeout, Clock::now(), Waiting::stop()};
    const bool was_there = process_ != nullptr;
    if (!process_) process_ = std::make_unique<Process>(shared_->words);
    try {
      return process_->ask(line, wait);
    } catch (const WireProblem& problem) {
      if (problem.kind != WireProblem::Kind::lost) throw;
      if (!was_there || !process_->ended_well()) throw WireProblem(problem.kind, process_->how_it_ended());
    }
    process_ = std::make_unique<Process>(shared_->words);
    try {
      return process_->ask(line, wait);
    } catch (const WireProblem& problem) {
      throw WireProblem(problem.kind,
                        problem.kind == WireProblem::Kind::lost ? process_->how_it_ended() : problem.what());
    }
  }

  /// The answer to a request. A program that crashes or hangs cannot simulate this place, and is started anew
  /// for the next; one that answers something else is out of order.
  json ask(const std::string& line) {
    try {
      json answer = detail::parse_answer(told(line));
      hung_ = 0;
      if (!answer.contains("error")) return answer;
      throw std::domain_error(fmt::format("the program says: {}", words_of(answer["error"])));
    } catch (const WireProblem& problem) {
      if (problem.kind == WireProblem::Kind::garbage) out_of_order(problem.what());
      process_.reset();
      no_answer(problem);
    } catch (const std::domain_error&) {
      throw;
    } catch (...) {
      process_.reset();  // it may still answer what nobody waits for any more
      throw;
    }
  }
  [[noreturn]] void no_answer(const WireProblem& problem) {
    const bool hung = problem.kind == WireProblem::Kind::timed_out;
    hung_ = hung ? hung_ + 1 : 0;
    const std::string what = hung ? fmt::format("gave {}", problem.what())
                                  : fmt::format("ended before it answered: {}", problem.what());
    if (hung_ == most_hangs)
      throw Error(fmt::format(
          "the program {} {}, {} times in a row: see what it is doing, or give it longer by `timeout`",
          name(), what, most_hangs));
    // Once: how many there are is counted, and shown at the end.
    if (!(hung ? shared_->told_of_hang : shared_->told_of_crash).exchange(true))
      Waiting::say(fmt::format(
          "the program {} {}; the place counts as one without density, and the program is started again",
          name(), what));
    throw std::domain_error(fmt::format("the program {}", what));
  }
  void read(const json& answer, const char* field, std::span<double> out) {
    try {
      detail::read_numbers(answer, field, out);
    } catch (const WireProblem& problem) {
      out_of_order(problem.what());
    }
  }
  [[noreturn]] void out_of_order(const std::string& what) const {
    throw Error(fmt::format("the program {} is out of order: {}", name(), what));
  }

  static constexpr int most_hangs = 3;
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Process> process_;
  int hung_ = 0;  // times in a row
};

}  // namespace

std::vector<std::string> command_words(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool any = false;
  char quote = 0;
  for (const char c : command) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      any = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (any) words.push_back(std::exchange(word, {}));
      any = false;
    } else {
      word += c;
      any = true;
    }
  }
  if (quote != 0)
    throw UsageError(
        fmt::format("the command '{}' opens a quotation that it does not close", printable(command)));
  if (any) words.push_back(word);
  if (words.empty() || words.front().empty())
    throw UsageError("the command names no program: write it as in program:./simulate");
  return words;
}

std::unique_ptr<Simulator> program(const std::string& command, const ProgramOptions& options) {
  if (!(options.timeout > 0))
    throw UsageError(fmt::format("`timeout` is {}: it must be a number of seconds above 0", options.timeout));
  auto shared = std::make_shared<Shared>();
  shared->words = command_words(command);
  shared->options = options;
  shared->facts.name = printable(shared->words.front());
  auto simulator = std::make_unique<ProgramSimulator>(shared);
  simulator->meet();
  return simulator;
}

}  // namespace onward
