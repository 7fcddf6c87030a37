#include "http.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "onward/error.hpp"
#include "onward/util/printable.hpp"

namespace onward::detail {
namespace {

using Kind = WireProblem::Kind;

// What no server of numbers needs more of: a peer cannot fill the memory.
constexpr std::size_t most_header = 1 << 16, most_body = std::size_t{1} << 30;

[[noreturn]] void garbage(std::string_view what) {
  throw WireProblem(Kind::garbage, fmt::format("it does not speak HTTP: {}", what));
}

std::string small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::size_t length_of(std::string_view text, int base) {
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes, base);
  if (error != std::errc{} || end == text.data() || bytes > most_body)
    garbage(fmt::format("'{}' is no length of a body", printable(text.substr(0, 40))));
  return bytes;
}

/// The number in "HTTP/1.1 200 OK".
int status_of(const std::string& line) {
  int status = 0;
  const auto blank = line.find(' ');
  if (!line.starts_with("HTTP/1.") || blank == std::string::npos)
    garbage(fmt::format("it began its answer with '{}'", printable(line.substr(0, 60))));
  const char* const begin = line.data() + blank + 1;
  const auto [end, error] = std::from_chars(begin, line.data() + line.size(), status);
  if (error != std::errc{} || end != begin + 3)
    garbage(fmt::format("'{}' has no status", printable(line.substr(0, 60))));
  return status;
}

}  // namespace

std::string HttpUrl::authority() const {
  return host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
}

HttpUrl parse_url(std::string_view text) {
  HttpUrl url{std::string(text), "", "80", ""};
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("'{}' is not the address of a server: {}; it is written as in http://localhost:4242",
                    printable(text), why));
  };
  std::string_view rest = text;
  if (rest.starts_with("https://"))
    refuse(
        "https is not spoken here; put a proxy or an ssh tunnel before it and give that one's http address");
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  if (rest.find("://") != std::string_view::npos) refuse("it must begin with http://");
  const auto slash = std::min(rest.find('/'), rest.size());
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  rest = rest.substr(0, slash);
  const auto bracket = rest.find(']');
  const auto colon = rest.find(':', rest.starts_with('[') ? std::min(bracket, rest.size()) : 0);
  url.host = rest.substr(0, colon);
  if (url.host.starts_with('[') && url.host.ends_with(']'))
    url.host = url.host.substr(1, url.host.size() - 2);
  if (colon != std::string_view::npos) url.port = rest.substr(colon + 1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(url.port.data(), url.port.data() + url.port.size(), port);
  if (error != std::errc{} || end != url.port.data() + url.port.size() || port == 0 || port > 65535)
    refuse(fmt::format("'{}' is no port", printable(url.port)));
  const auto odd = [](char c) { return c <= ' ' || c == 127 || c == '@' || c == '"' || c == '<'; };
  if (url.host.empty()) refuse("it names no host");
  if (std::ranges::any_of(url.host, odd) || std::ranges::any_of(url.path, odd))
    refuse("it has a character that no address has");
  return url;
}

std::string_view HttpMessage::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : found->second;
}

bool HttpMessage::keeps_open() const {
  const std::string said = small_letters(header("connection"));
  if (said.find("close") != std::string::npos) return false;
  return first_line.find("HTTP/1.0") == std::string::npos || said.find("keep-alive") != std::string::npos;
}

void HttpReader::need(std::size_t bytes, const Wait& wait) {
  while (buffer_.size() < bytes)
    if (read_some(descriptor_, buffer_, wait) == 0)
      throw WireProblem(Kind::lost, buffer_.empty() ? "it closed the connection without an answer"
                                                    : "it closed the connection in the middle of an answer");
}

std::string HttpReader::take(std::size_t bytes) {
  std::string part = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return part;
}

std::string HttpReader::line(const Wait& wait, std::size_t most) {
  std::size_t looked = 0;
  for (;;) {
    const auto end = buffer_.find('\n', looked);
    if (end != std::string::npos) {
      std::string text = take(end + 1);
      while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
      return text;
    }
    looked = buffer_.size();
    if (looked > most) garbage(fmt::format("it began with '{}'", printable(buffer_.substr(0, 60))));
    need(looked + 1, wait);
  }
}

HttpMessage HttpReader::read(Side side, const Wait& wait) {
  HttpMessage message;
  message.first_line = line(wait, most_header);
  if (side == Side::answer) status_of(message.first_line);
  std::size_t total = 0;
  for (std::string text = line(wait, most_header); !text.empty(); text = line(wait, most_header)) {
    total += text.size();
    const auto colon = text.find(':');
    if (colon == std::string::npos || total > most_header)
      garbage(fmt::format("'{}' is no header", printable(text.substr(0, 60))));
    message.headers[small_letters(text.substr(0, colon))] =
        std::string(trimmed(std::string_view(text).substr(colon + 1)));
  }
  read_body(message, side, wait);
  return message;
}

void HttpReader::read_body(HttpMessage& message, Side side, const Wait& wait) {
  if (small_letters(message.header("transfer-encoding")).find("chunked") != std::string::npos)
    return read_chunks(message.body, wait);
  if (const std::string_view length = message.header("content-length"); !length.empty()) {
    const std::size_t bytes = length_of(length, 10);
    need(bytes, wait);
    message.body = take(bytes);
    return;
  }
  if (side == Side::request || status_of(message.first_line) < 200) return;
  // The end of the connection is the end of the body.
  message.headers["connection"] = "close";
  while (read_some(descriptor_, buffer_, wait) > 0)
    if (buffer_.size() > most_body) garbage("its answer has no end");
  message.body = take(buffer_.size());
}

void HttpReader::read_chunks(std::string& body, const Wait& wait) {
  for (;;) {
    const std::size_t bytes = length_of(line(wait, most_header), 16);
    if (bytes == 0) break;
    if (body.size() + bytes > most_body) garbage("its answer has no end");
    need(bytes, wait);
    body += take(bytes);
    line(wait, most_header);
  }
  while (!line(wait, most_header).empty()) {
  }
}

void HttpClient::connect(const Wait& wait) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int problem = ::getaddrinfo(url_.host.c_str(), url_.port.c_str(), &hints, &list); problem != 0)
    throw WireProblem(Kind::refused,
                      fmt::format("the host '{}' is not known ({})", url_.host, ::gai_strerror(problem)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(list, &::freeaddrinfo);
  std::string why = "it has no address";
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    Descriptor socket(
        ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol));
    if (!socket.is_open()) continue;
    int error = ::connect(socket.number(), one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      wait_for(socket.number(), POLLOUT, wait);
      socklen_t size = sizeof error;
      ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error != 0) {
      why = std::strerror(error);
      continue;
    }
    // A request is written at once and waits for nothing.
    const int on = 1;
    ::setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    socket_ = std::move(socket);
    reader_ = HttpReader(socket_.number());
    return;
  }
  throw WireProblem(Kind::refused, why);
}

HttpAnswer HttpClient::exchange(std::string_view text, const Wait& wait) {
  write_all(socket_.number(), text, wait);
  HttpMessage message = reader_.read(HttpReader::Side::answer, wait);
  while (status_of(message.first_line) == 100) message = reader_.read(HttpReader::Side::answer, wait);
  if (!message.keeps_open()) socket_.close();
  return {status_of(message.first_line), std::move(message.body)};
}

HttpAnswer HttpClient::ask(std::string_view method, std::string_view path, std::string_view body,
                           const Wait& wait) {
  const std::string text = fmt::format(
      "{} {}{} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: "
      "application/json\r\nContent-Length: {}\r\n\r\n{}",
      method, url_.path, path, url_.authority(), body.size(), body);
  try {
    const bool kept = socket_.is_open();
    if (kept) {
      // A server may have closed a connection that it had kept: then the request goes over a new one.
      try {
        return exchange(text, wait);
      } catch (const WireProblem& problem) {
        if (problem.kind != Kind::lost || !reader_.fresh()) throw;
        socket_.close();
      }
    }
    connect(wait);
    return exchange(text, wait);
  } catch (...) {
    socket_.close();
    throw;
  }
}

std::string http_answer(int status, std::string_view body, bool keeps_open) {
  const std::string_view word = status == 200   ? "OK"
                                : status == 400 ? "Bad Request"
                                : status == 404 ? "Not Found"
                                                : "Internal Server Error";
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: {}\r\n\r\n{}",
      status, word, body.size(), keeps_open ? "keep-alive" : "close", body);
}

}  // namespace onward::detail
