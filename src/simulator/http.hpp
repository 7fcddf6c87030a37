#pragma once
// As much of HTTP/1.1 as models and servers on a network of one's own need: requests with a body, answers
// with a length or in chunks, connections that stay open.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "wire.hpp"

namespace onward::detail {

/// Where a server is.
struct HttpUrl {
  std::string text;  ///< as it was given, for messages
  std::string host, port, path;
  std::string authority() const;  ///< host:port
};

/// From "http://localhost:4242/path" or "localhost:4242". Throws UsageError.
HttpUrl parse_url(std::string_view text);

/// A request or an answer as it came.
struct HttpMessage {
  std::string first_line;
  std::map<std::string, std::string> headers;  ///< names in small letters
  std::string body;

  std::string_view header(const std::string& name) const;
  /// Whether the other side keeps the connection open after it.
  bool keeps_open() const;
};

/// The far end of a connection, read message by message.
class HttpReader {
 public:
  HttpReader() = default;
  explicit HttpReader(int descriptor) : descriptor_(descriptor) {}

  enum class Side { request, answer };
  /// The next message. Throws WireProblem: `lost` if the other side went away, and then fresh() says whether
  /// it had not begun to say anything.
  HttpMessage read(Side side, const Wait& wait);
  bool fresh() const { return buffer_.empty(); }

 private:
  void need(std::size_t bytes, const Wait& wait);
  std::string line(const Wait& wait, std::size_t most);
  void read_body(HttpMessage& message, Side side, const Wait& wait);
  void read_chunks(std::string& body, const Wait& wait);
  std::string take(std::size_t bytes);

  int descriptor_ = -1;
  std::string buffer_;
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

/// A connection to a server, opened when it is first used and again when the server has closed it.
class HttpClient {
 public:
  explicit HttpClient(HttpUrl url) : url_(std::move(url)) {}
  const HttpUrl& url() const { return url_; }

  /// Throws WireProblem and Stopped; the connection is closed then.
  HttpAnswer ask(std::string_view method, std::string_view path, std::string_view body, const Wait& wait);
  void close() { socket_.close(); }

 private:
  void connect(const Wait& wait);
  HttpAnswer exchange(std::string_view text, const Wait& wait);

  HttpUrl url_;
  Descriptor socket_;
  HttpReader reader_;
};

/// The text of an answer.
std::string http_answer(int status, std::string_view body, bool keeps_open);

}  // namespace onward::detail
