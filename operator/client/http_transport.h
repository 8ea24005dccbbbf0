// HTTP to one API server. A seam: CurlTransport is the real one.
//
// Threads: any, at once. Every call blocks until done, its deadline, or a stop.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "common/status/status.h"

namespace podcache::kube {

struct HttpRequest {
  std::string method = "GET";
  std::string target{};  // Path and query, already encoded; starts with a slash.
  std::string content_type{};
  std::string body{};
  std::chrono::milliseconds timeout{30'000};               // For the whole exchange.
  std::size_t max_response_bytes = std::size_t{64} << 20;  // Of a buffered body.
};

struct HttpResponse {
  int code = 0;
  std::string body{};
  std::optional<std::chrono::seconds> retry_after{};  // The header, a date counted from now.
};

class HttpTransport {
 public:
  // Pieces of a body as they arrive; false ends the exchange, which is no error.
  using DataHandler = std::function<bool(std::string_view bytes)>;
  // Called once, when a 2xx answer starts.
  using StartHandler = std::function<void(int code)>;

  virtual ~HttpTransport() = default;

  // An answer of any code is a success here. Errors: Unavailable (connection), DeadlineExceeded,
  // Cancelled (stop), ResourceExhausted (body too large), FailedPrecondition (certificate refused).
  virtual absl::StatusOr<HttpResponse> Send(const HttpRequest& request) = 0;
  // As Send, but a 2xx body goes to `on_data`; other bodies are in the response.
  virtual absl::StatusOr<HttpResponse> Stream(const HttpRequest& request,
                                              const StartHandler& on_start,
                                              const DataHandler& on_data, std::stop_token stop) = 0;
  // Host and port of the server, for metrics.
  virtual std::string_view host() const = 0;
};

}  // namespace podcache::kube
