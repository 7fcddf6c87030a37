#include "onward/simulator/umbridge.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

#include "http.hpp"
#include "numbers.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/stopped.hpp"
#include "onward/util/suggest.hpp"
#include "onward/util/waiting.hpp"

namespace onward {

std::size_t SimulatorFacts::input_count() const {
  return std::accumulate(inputs.begin(), inputs.end(), std::size_t{0});
}
std::size_t SimulatorFacts::output_count() const {
  return std::accumulate(outputs.begin(), outputs.end(), std::size_t{0});
}

namespace {

using detail::HttpAnswer;
using detail::HttpClient;
using detail::HttpUrl;
using detail::WireProblem;
using nlohmann::json;

/// What all connections share.
struct Servers {
  std::vector<HttpUrl> urls;
  UmBridgeOptions options;
  std::string model, config;  ///< as they go into requests
  SimulatorFacts facts;

  /// The place in `urls` of the server that the fewest connections use, but for one that has just failed.
  std::size_t take(std::size_t failed) {
    const std::lock_guard lock(mutex_);
    std::size_t best = urls.size();
    for (std::size_t i = 0; i < urls.size(); ++i)
      if (i != failed && (best == urls.size() || users_[i] < users_[best])) best = i;
    if (best == urls.size()) best = failed;
    ++users_[best];
    return best;
  }
  void give_back(std::size_t url) {
    const std::lock_guard lock(mutex_);
    --users_[url];
  }
  void begin() { users_.assign(urls.size(), 0); }

 private:
  std::mutex mutex_;
  std::vector<std::size_t> users_;
};

/// "type: message" of an error that a server reports, and its type by itself.
struct Reported {
  std::string type, words;
};

Reported reported(const HttpAnswer& answer) {
  const json body = json::parse(answer.body, nullptr, false);
  if (body.is_object() && body.contains("error") && body["error"].is_object()) {
    const auto text = [&](const char* field) {
      const auto found = body["error"].find(field);
      return found != body["error"].end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    return {text("type"), printable(fmt::format("{}: {}", text("type"), text("message")))};
  }
  const std::string_view start = std::string_view(answer.body).substr(0, 80);
  return {"", answer.body.empty() ? "" : printable(start)};
}

class UmBridge final : public Simulator {
 public:
  explicit UmBridge(std::shared_ptr<Servers> servers) : servers_(std::move(servers)) {}
  ~UmBridge() override { leave(); }

  std::unique_ptr<Simulator> clone() const override { return std::make_unique<UmBridge>(servers_); }
  const SimulatorFacts& facts() const override { return servers_->facts; }

  void evaluate(VectorView x, std::span<double> out) override {
    begin(x);
    request("/Evaluate", "output", out);
  }

  /// The protocol knows one input and one output vector at a time.
  void apply_jacobian(VectorView x, VectorView v, std::span<double>, std::span<double> tangent) override {
    std::ranges::fill(tangent, 0.0);
    each_output([&](std::size_t output, std::size_t first_output, std::size_t outputs) {
      each_input([&](std::size_t input, std::size_t first, std::size_t inputs) {
        const VectorView part = v.subspan(first, inputs);
        if (std::ranges::all_of(part, [](double entry) { return entry == 0; })) return;
        begin(x);
        fmt::format_to(std::back_inserter(text_), ",\"outWrt\":{},\"inWrt\":{},\"vec\":", output, input);
        detail::append_numbers(text_, part);
        add("/ApplyJacobian", tangent.subspan(first_output, outputs));
      });
    });
  }

  void apply_transposed(VectorView x, VectorView s, std::span<double> out) override {
    std::ranges::fill(out, 0.0);
    each_output([&](std::size_t output, std::size_t first_output, std::size_t outputs) {
      each_input([&](std::size_t input, std::size_t first, std::size_t inputs) {
        begin(x);
        fmt::format_to(std::back_inserter(text_), ",\"outWrt\":{},\"inWrt\":{},\"sens\":", output, input);
        detail::append_numbers(text_, s.subspan(first_output, outputs));
        add("/Gradient", out.subspan(first, inputs));
      });
    });
  }

  void apply_hessian(VectorView x, VectorView s, VectorView v, std::span<double> out) override {
    std::ranges::fill(out, 0.0);
    each_output([&](std::size_t output, std::size_t first_output, std::size_t outputs) {
      each_input([&](std::size_t along, std::size_t first_along, std::size_t alongs) {
        each_input([&](std::size_t input, std::size_t first, std::size_t inputs) {
          begin(x);
          fmt::format_to(std::back_inserter(text_),
                         ",\"outWrt\":{},\"inWrt1\":{},\"inWrt2\":{},\"sens\":", output, input, along);
          detail::append_numbers(text_, s.subspan(first_output, outputs));
          text_ += ",\"vec\":";
          detail::append_numbers(text_, v.subspan(first_along, alongs));
          add("/ApplyHessian", out.subspan(first, inputs));
        });
      });
    });
  }

 private:
  template <class F>
  void each(const std::vector<std::size_t>& sizes, const F& f) const {
    std::size_t first = 0;
    for (std::size_t i = 0; i < sizes.size(); first += sizes[i++]) f(i, first, sizes[i]);
  }
  template <class F>
  void each_input(const F& f) const {
    each(facts().inputs, f);
  }
  template <class F>
  void each_output(const F& f) const {
    each(facts().outputs, f);
  }

  /// A request up to its own fields.
  void begin(VectorView x) {
    text_ = "{\"name\":" + servers_->model + ",\"config\":" + servers_->config + ",\"input\":[";
    each_input([&](std::size_t input, std::size_t first, std::size_t inputs) {
      if (input > 0) text_ += ',';
      detail::append_numbers(text_, x.subspan(first, inputs));
    });
    text_ += ']';
  }
  void add(const char* path, std::span<double> to) {
    sum_.resize(to.size());
    request(path, "output", sum_);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += sum_[i];
  }

  void leave() {
    if (client_) servers_->give_back(at_);
    client_.reset();
  }
  void settle(std::size_t failed) {
    if (client_) return;
    at_ = servers_->take(failed);
    client_ = std::make_unique<HttpClient>(servers_->urls[at_]);
  }

  [[noreturn]] void out_of_order(const std::string& what) const {
    throw Error(fmt::format("the UM-Bridge server {} is out of order: {}", servers_->urls[at_].text, what));
  }

  /// Asks until there is an answer, and reads its numbers.
  void request(const char* path, const char* field, std::span<double> out) {
    Waiting::announce();
    text_ += '}';
    const HttpAnswer answer = patiently(path);
    if (answer.status != 200) refused(answer, path);
    try {
      const json body = detail::parse_answer(answer.body);
      if (body.contains("error")) refused(answer, path);
      detail::read_numbers(body, field, out);
    } catch (const WireProblem& problem) {
      out_of_order(fmt::format("asked for {}, {}", path + 1, problem.what()));
    }
  }

  /// An error that the server reports: a place that it cannot simulate, unless it says that it was asked
  /// amiss.
  [[noreturn]] void refused(const HttpAnswer& answer, const char* path) const {
    const Reported error = reported(answer);
    constexpr std::string_view faults[] = {"InvalidInput", "InvalidOutput", "UnsupportedFeature",
                                           "ModelNotFound"};
    const std::string words = fmt::format("{} gave status {}{}{}", path + 1, answer.status,
                                          error.words.empty() ? "" : ", ", error.words);
    if ((answer.status >= 400 && answer.status < 500) ||
        std::ranges::find(faults, error.type) != std::end(faults))
      out_of_order(words);
    throw std::domain_error(words);
  }

  HttpAnswer patiently(const char* path) {
    constexpr double first_pause = 0.1, longest_pause = 2;
    double pause = first_pause;
    bool timed_out = false;
    std::optional<Clock::time_point> down_since;
    std::size_t failed = servers_->urls.size();
    for (;;) {
      settle(failed);
      const std::string& url = client_->url().text;
      std::string why;
      try {
        HttpAnswer answer =
            client_->ask("POST", path, text_, {servers_->options.timeout, Clock::now(), Waiting::stop()});
        // A gateway whose server is gone, or has too much to do.
        if (answer.status >= 502 && answer.status <= 504) {
          why = fmt::format("it gave status {}", answer.status);
        } else {
          if (down_since)
            Waiting::say(fmt::format("{} answers again after {:.1f} s", url, seconds_since(*down_since)));
          return answer;
        }
      } catch (const WireProblem& problem) {
        why = problem.what();
        if (problem.kind == WireProblem::Kind::garbage) out_of_order(why);
        if (problem.kind == WireProblem::Kind::timed_out && std::exchange(timed_out, true))
          throw Error(
              fmt::format("the UM-Bridge server {} gave no answer to {} within {:g} s, twice: see what it is "
                          "doing, or give "
                          "it longer by `timeout`",
                          url, path + 1, servers_->options.timeout));
      }
      if (!down_since) {
        down_since = Clock::now();
        Waiting::say(fmt::format("{} does not answer ({}): trying {} for {:g} s", url, why,
                                 servers_->urls.size() > 1 ? "the others and it" : "again",
                                 servers_->options.patience));
      }
      if (seconds_since(*down_since) >= servers_->options.patience)
        throw Error(
            fmt::format("the UM-Bridge server {} has not answered for {:g} s ({}): start it again, then go "
                        "on from the last "
                        "checkpoint; `patience` says how long to wait for it",
                        url, servers_->options.patience, why));
      failed = at_;
      leave();
      detail::pause_for(pause, Waiting::stop());
      pause = std::min(2 * pause, longest_pause);
    }
  }

  std::shared_ptr<Servers> servers_;
  std::unique_ptr<HttpClient> client_;
  std::size_t at_ = 0;
  std::string text_;
  std::vector<double> sum_;
};

/// What the server says of itself; before the run, so nothing is tried twice.
class Introduction {
 public:
  Introduction(const HttpUrl& url, double timeout) : client_(url), timeout_(timeout) {}

  json ask(std::string_view method, const char* path, const json& body) {
    try {
      const HttpAnswer answer = client_.ask(method, path, body.is_null() ? "" : body.dump(), {timeout_});
      json said = answer.status == 200 ? detail::parse_answer(answer.body) : json();
      if (answer.status == 200 && !said.contains("error")) return said;
      problem(
          fmt::format("asked for {} it gave status {}, {}", path + 1, answer.status, reported(answer).words));
    } catch (const WireProblem& error) {
      if (error.kind == WireProblem::Kind::refused)
        throw Error(
            fmt::format("there is no server at {} ({}): start the model's server, and give its address",
                        client_.url().text, error.what()));
      problem(fmt::format("asked for {}, {}", path + 1, error.what()));
    }
  }

  [[noreturn]] void problem(const std::string& what) const {
    throw Error(fmt::format("{} does not answer as a UM-Bridge server does: {}", client_.url().text, what));
  }

  std::vector<std::size_t> sizes(const char* path, const char* field, const json& body) {
    const json said = ask("POST", path, body);
    const auto found = said.find(field);
    constexpr std::size_t most = std::size_t{1} << 32;
    std::vector<std::size_t> result;
    if (found != said.end() && found->is_array())
      for (const json& one : *found)
        if (one.is_number() && one.get<double>() >= 0 && one.get<double>() < static_cast<double>(most))
          result.push_back(static_cast<std::size_t>(one.get<double>()));
    if (result.empty() || result.size() != found->size() ||
        std::accumulate(result.begin(), result.end(), std::size_t{0}) == 0)
      problem(fmt::format("its {} are not an array \"{}\" of sizes", path + 1, field));
    return result;
  }

 private:
  HttpClient client_;
  double timeout_;
};

std::string only_model(Introduction& server, const std::string& url, const std::string& wanted) {
  const json info = server.ask("GET", "/Info", nullptr);
  const auto version = info.find("protocolVersion");
  if (version == info.end() || !version->is_number()) server.problem("its Info has no \"protocolVersion\"");
  if (version->get<double>() != 1.0)
    throw Error(fmt::format("the server {} speaks version {} of UM-Bridge, and version 1.0 is spoken here",
                            url, version->get<double>()));
  std::vector<std::string> names;
  if (info.contains("models") && info["models"].is_array())
    for (const json& one : info["models"])
      if (one.is_string()) names.push_back(one.get<std::string>());
  if (names.empty()) server.problem("its Info has no \"models\"");
  if (wanted.empty() && names.size() == 1) return names.front();
  if (std::ranges::find(names, wanted) != names.end()) return wanted;
  if (wanted.empty())
    throw Error(fmt::format("the server {} has several models: say by `model` which one. Models: {}", url,
                            printable(joined(names))));
  throw Error(fmt::format("the server {} has no model '{}'.{} Models: {}", url, printable(wanted),
                          suggestion(wanted, names), printable(joined(names))));
}

/// Throws Error unless this server has the model, and it is the one that the first has.
void meet(Servers& servers, const HttpUrl& url, bool first) {
  constexpr double longest = 20;  // seconds: these are questions that need no simulation
  const UmBridgeOptions& options = servers.options;
  Introduction server(url, std::min(options.timeout, longest));
  const std::string name = only_model(server, url.text, options.model);
  const json body{{"name", name}, {"config", options.config}};
  SimulatorFacts facts{url.text, server.sizes("/InputSizes", "inputSizes", body),
                       server.sizes("/OutputSizes", "outputSizes", body)};
  const json info = server.ask("POST", "/ModelInfo", {{"name", name}});
  const auto offers = [&](const char* feature) {
    return info.contains("support") && info["support"].is_object() &&
           info["support"].value(feature, json(false)) == json(true);
  };
  if (!offers("Evaluate"))
    throw Error(fmt::format("the model '{}' of {} offers no Evaluate: it cannot be sampled", printable(name),
                            url.text));
  facts.jacobian = offers("ApplyJacobian");
  facts.gradient = offers("Gradient");
  facts.hessian = offers("ApplyHessian") && options.second_derivatives;
  if (first) {
    servers.facts = facts;
    servers.model = json(name).dump(-1, ' ', false, json::error_handler_t::replace);
    servers.config = json_text(options.config);
    return;
  }
  const SimulatorFacts& other = servers.facts;
  if (facts.inputs != other.inputs || facts.outputs != other.outputs || facts.jacobian != other.jacobian ||
      facts.gradient != other.gradient || facts.hessian != other.hessian)
    throw Error(fmt::format("the servers {} and {} have different models: sizes or what they offer differ",
                            other.name, url.text));
}

}  // namespace

std::unique_ptr<Simulator> umbridge(const std::string& urls, const UmBridgeOptions& options) {
  for (const auto& [field, seconds] : {std::pair{"timeout", options.timeout}, {"patience", options.patience}})
    if (!(seconds >= 0) || (seconds == 0 && std::string_view(field) == "timeout"))
      throw UsageError(fmt::format("`{}` is {}: it must be a number of seconds above 0", field, seconds));
  auto servers = std::make_shared<Servers>();
  servers->options = options;
  for (std::size_t begin = 0; begin <= urls.size();) {
    const std::size_t end = std::min(urls.find(',', begin), urls.size());
    servers->urls.push_back(detail::parse_url(urls.substr(begin, end - begin)));
    begin = end + 1;
  }
  servers->begin();
  for (std::size_t i = 0; i < servers->urls.size(); ++i) meet(*servers, servers->urls[i], i == 0);
  return std::make_unique<UmBridge>(std::move(servers));
}

}  // namespace onward
