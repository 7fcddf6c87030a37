#include "onward/simulator/serve.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <list>
#include <thread>

#include <fmt/format.h>

#include "http.hpp"
#include "numbers.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/util/printable.hpp"
#include "onward/util/stopped.hpp"

namespace onward {
namespace {

using detail::Descriptor;
using detail::HttpMessage;
using nlohmann::json;

/// What a request is answered by instead of numbers.
struct Refusal {
  int status;
  std::string type, message;
};

/// The protocol over one target.
class Answers {
 public:
  Answers(AnyTarget target, std::string name) : target_(std::move(target)), name_(std::move(name)) {}

  /// Status and body.
  std::pair<int, std::string> to(const HttpMessage& request) {
    try {
      return {200, answer(request)};
    } catch (const Refusal& r) {
      return {r.status, json_text(json{{"error", {{"type", r.type}, {"message", r.message}}}})};
    } catch (const std::exception& problem) {
      return {500, json_text(json{{"error", {{"type", "ModelFailed"}, {"message", problem.what()}}}})};
    }
  }

 private:
  std::string answer(const HttpMessage& request) {
    const std::string_view line = request.first_line;
    const auto first = line.find(' '), last = line.rfind(' ');
    const std::string path(first < last ? line.substr(first + 1, last - first - 1) : "");
    if (path == "/Info") return json_text(json{{"protocolVersion", 1.0}, {"models", {name_}}});
    static constexpr std::string_view known[] = {"/ModelInfo", "/InputSizes",    "/OutputSizes", "/Evaluate",
                                                 "/Gradient",  "/ApplyJacobian", "/ApplyHessian"};
    if (std::ranges::find(known, path) == std::end(known))
      throw Refusal{404, "UnknownRequest", fmt::format("nothing is at {}", printable(path))};
    const json asked =
        json_depth(request.body) <= most_json_depth ? json::parse(request.body, nullptr, false) : json();
    if (!asked.is_object()) throw Refusal{400, "InvalidInput", "the request is no JSON object"};
    if (asked.value("name", json()) != json(name_))
      throw Refusal{400, "ModelNotFound", fmt::format("the only model here is {}", name_)};
    if (path == "/ModelInfo")
      return json_text(json{{"support",
                             {{"Evaluate", true},
                              {"Gradient", target_.has_gradient()},
                              {"ApplyJacobian", true},
                              {"ApplyHessian", true}}}});
    if (path == "/InputSizes") return json_text(json{{"inputSizes", {target_.dimension()}}});
    if (path == "/OutputSizes") return json_text(json{{"outputSizes", {1}}});
    const std::vector<double> place = numbers(asked, "input", 1);
    if (path == "/Evaluate") return numbers_text({&(result_ = value(target_.value(place))), 1}, true);
    if (path == "/Gradient") return gradient(asked, place);
    if (path == "/ApplyJacobian") {
      const auto v = numbers(asked, "vec", 0);
      const Jet jet = target_.jet(place, v, Order::slope);
      value(jet.value);
      return numbers_text({&jet.slope, 1}, false);
    }
    return hessian(asked, place);
  }

  std::string gradient(const json& asked, VectorView place) {
    if (!target_.has_gradient()) throw Refusal{400, "UnsupportedFeature", "the model offers no gradient"};
    const double sensitivity = numbers(asked, "sens", 0, 1)[0];
    std::vector<double> out(place.size());
    value(target_.gradient(place, out));
    for (double& one : out) one *= sensitivity;
    return numbers_text(out, false);
  }

  /// What targets have is vᵀHv along any v: eᵀHv is a quarter of what e + v and e - v differ by in it.
  std::string hessian(const json& asked, VectorView place) {
    const double sensitivity = numbers(asked, "sens", 0, 1)[0];
    std::vector<double> v = numbers(asked, "vec", 0), out(v.size());
    double norm = 0;
    for (const double entry : v) norm += entry * entry;
    norm = std::sqrt(norm);
    for (double& entry : v) entry /= norm > 0 ? norm : 1;
    std::vector<double> sum = v;
    for (std::size_t i = 0; i < v.size() && norm > 0; ++i) {
      sum[i] = v[i] + 1;
      const Jet plus = target_.jet(place, sum, Order::curvature);
      sum[i] = v[i] - 1;
      const Jet minus = target_.jet(place, sum, Order::curvature);
      sum[i] = v[i];
      value(plus.value);
      value(minus.value);
      out[i] = sensitivity * norm * 0.25 * (plus.curvature - minus.curvature);
    }
    return numbers_text(out, false);
  }

  static double value(double found) {
    if (std::isfinite(found)) return found;
    throw Refusal{500, "NoDensity", "the model has no density at this place"};
  }

  /// A field with a number for each parameter, or `size` of them: a list, or `depth` lists in each other.
  std::vector<double> numbers(const json& asked, const char* field, int depth, std::size_t size = 0) {
    if (size == 0) size = target_.dimension();
    const auto refuse = [&] {
      throw Refusal{400, "InvalidInput",
                    fmt::format("\"{}\" must be {} list of {} number{}", field,
                                depth > 0 ? "a list with one" : "a", size, size == 1 ? "" : "s")};
    };
    const auto found = asked.find(field);
    if (found == asked.end() || !found->is_array()) refuse();
    const json* list = &*found;
    if (depth > 0) {
      if (list->size() != 1 || !list->front().is_array()) refuse();
      list = &list->front();
    }
    std::vector<double> out;
    for (const json& one : *list) {
      if (!one.is_number()) refuse();
      out.push_back(one.get<double>());
    }
    if (out.size() != size) refuse();
    return out;
  }

  static std::string numbers_text(VectorView numbers, bool nested) {
    std::string text = nested ? "{\"output\":[" : "{\"output\":";
    detail::append_numbers(text, numbers);
    return text + (nested ? "]}" : "}");
  }

  AnyTarget target_;
  std::string name_;
  double result_ = 0;
};

/// One connection: a thread that answers until the other side goes away.
struct Talk {
  std::thread thread;
  std::atomic<bool> over{false};
};

void talk(Talk& self, Descriptor socket, Answers answers, const std::atomic<bool>& stop) {
  constexpr double idle = 24 * 3600;  // seconds that a connection may be silent
  try {
    const int on = 1;
    ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    detail::never_block(socket.number());
    detail::HttpReader reader(socket.number());
    for (bool open = true; open;) {
      const HttpMessage request = reader.read(detail::HttpReader::Side::request, {idle, Clock::now(), &stop});
      open = request.keeps_open();
      const auto [status, body] = answers.to(request);
      detail::write_all(socket.number(), detail::http_answer(status, body, open), {60, Clock::now(), &stop});
    }
  } catch (const Stopped&) {
  } catch (const std::exception&) {  // a peer that goes away, or speaks no HTTP
  }
  self.over = true;
}

}  // namespace

class ModelServer::Implementation {
 public:
  Implementation(const AnyTarget& target, const ServeOptions& options)
      : target_(target), name_(options.name) {
    listener_ = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    ::setsockopt(listener_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    constexpr int waiting = 128;
    if (::bind(listener_.number(), any, size) != 0 || ::listen(listener_.number(), waiting) != 0 ||
        ::getsockname(listener_.number(), any, &size) != 0)
      throw Error(
          fmt::format("the `port` {} cannot be listened on: {}; take another one, or 0 for any that is free",
                      options.port, std::strerror(errno)));
    port_ = ntohs(address.sin_port);
  }

  std::uint16_t port() const { return port_; }

  void run(const std::atomic<bool>& stop) {
    while (!stop) {
      std::erase_if(talks_, [](Talk& one) {
        if (!one.over) return false;
        one.thread.join();
        return true;
      });
      pollfd one{listener_.number(), POLLIN, 0};
      constexpr int slice = 50;  // milliseconds
      if (::poll(&one, 1, slice) <= 0) continue;
      Descriptor socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.is_open()) continue;
      Talk& next = talks_.emplace_back();
      try {
        next.thread =
            std::thread(talk, std::ref(next), std::move(socket), Answers(target_, name_), std::cref(stop));
      } catch (...) {  // no thread: this connection is closed, the others go on
        talks_.pop_back();
      }
    }
    for (Talk& one : talks_) one.thread.join();
    talks_.clear();
  }

 private:
  AnyTarget target_;
  std::string name_;
  Descriptor listener_;
  std::uint16_t port_ = 0;
  std::list<Talk> talks_;
};

ModelServer::ModelServer(const AnyTarget& target, const ServeOptions& options)
    : implementation_(std::make_unique<Implementation>(target, options)) {}
ModelServer::~ModelServer() = default;
std::uint16_t ModelServer::port() const { return implementation_->port(); }
void ModelServer::run(const std::atomic<bool>& stop) { implementation_->run(stop); }

}  // namespace onward
