#pragma once
// A server for tests on a port that is free: it reads requests by rules of its own and sends back any bytes
// that a test wants, so that it can misbehave as real ones do.

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

namespace onward::testing {

struct Asked {
  std::string path;
  nlohmann::json body;
};

struct Reply {
  std::string bytes;    ///< as they go over the wire
  bool closes = false;  ///< the connection afterwards
  double seconds = 0;   ///< before anything is said
};

inline Reply http(int status, const std::string& body, bool closes = false) {
  return {"HTTP/1.1 " + std::to_string(status) +
              " whatever\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
          closes};
}
inline Reply http(const nlohmann::json& body) { return http(200, body.dump()); }

class TestServer {
 public:
  using Answer = std::function<Reply(const Asked&)>;

  explicit TestServer(Answer answer, std::uint16_t port = 0) : answer_(std::move(answer)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
    ::listen(listener_, 64);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept(); });
  }
  ~TestServer() {
    over_ = true;
    thread_.join();
    for (auto& one : talks_) one.join();
    ::close(listener_);
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }

 private:
  bool ready(int socket) const {
    while (!over_) {
      pollfd one{socket, POLLIN, 0};
      if (::poll(&one, 1, 10) > 0) return true;
    }
    return false;
  }
  void accept() {
    while (ready(listener_)) {
      const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      ++connections_;
      talks_.emplace_back([this, socket] {
        talk(socket);
        ::close(socket);
      });
    }
  }
  void talk(int socket) {
    std::string text;
    while (ready(socket)) {
      char part[65536];
      const auto came = ::recv(socket, part, sizeof part, 0);
      if (came <= 0) return;
      text.append(part, static_cast<std::size_t>(came));
      const auto end = text.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      const auto field = text.find("Content-Length: ");
      const std::size_t length = field < end ? std::stoul(text.substr(field + 16)) : 0;
      if (text.size() < end + 4 + length) continue;
      const auto first = text.find(' '), second = text.find(' ', first + 1);
      const Reply reply =
          answer_({text.substr(first + 1, second - first - 1),
                   length > 0 ? nlohmann::json::parse(text.substr(end + 4, length)) : nullptr});
      text.erase(0, end + 4 + length);
      for (double slept = 0; slept < reply.seconds && !over_; slept += 0.01)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (over_) return;
      static_cast<void>(::send(socket, reply.bytes.data(), reply.bytes.size(), MSG_NOSIGNAL));
      if (reply.closes) return;
    }
  }

  Answer answer_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> over_{false};
  std::atomic<int> connections_{0};
  std::list<std::thread> talks_;
  std::thread thread_;
};

/// What a model is, as servers tell it.
struct TestModel {
  std::vector<std::size_t> inputs{2}, outputs{1};
  bool jacobian = false, gradient = false, hessian = false;
};

/// A well-behaved UM-Bridge server with one model; `answer` says what comes of /Evaluate and the like.
inline TestServer::Answer umbridge_server(const TestModel& model, TestServer::Answer answer) {
  return [model, answer = std::move(answer)](const Asked& asked) -> Reply {
    using nlohmann::json;
    if (asked.path == "/Info") return http(json{{"protocolVersion", 1.0}, {"models", {"test"}}});
    if (asked.path == "/InputSizes") return http(json{{"inputSizes", model.inputs}});
    if (asked.path == "/OutputSizes") return http(json{{"outputSizes", model.outputs}});
    if (asked.path == "/ModelInfo")
      return http(json{{"support",
                        {{"Evaluate", true},
                         {"Gradient", model.gradient},
                         {"ApplyJacobian", model.jacobian},
                         {"ApplyHessian", model.hessian}}}});
    return answer(asked);
  };
}

}  // namespace onward::testing
