// A small HTTP endpoint for metrics and probes: a few fixed paths, GET and HEAD, answered on a
// thread of its own.
//
// It listens from Start on, before anything else of the program exists: handlers look at what is
// there by then. It must not be able to harm the program it belongs to: headers, bodies,
// connections and their idle time are limited, and a connection above the limit waits in the
// kernel's backlog.
//
// Threads: Start, Stop and the destructor from one thread. Handlers run on the endpoint's own
// thread, one at a time; they must not block for long. Ownership: whatever a handler refers to must
// outlive Stop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace podcache::http {

struct Response {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

// Exceptions become an answer of 500.
using Handler = std::function<Response()>;

struct EndpointOptions {
  std::vector<std::string> addresses;  // See listen_address.h; TCP only.
  // By path, for example "/healthz". Other paths are 404, other methods 405. A query is ignored.
  std::map<std::string, Handler, std::less<>> routes;
  std::size_t max_connections = 64;
  std::size_t max_header_bytes = 8192;
  std::chrono::seconds idle_timeout{10};
  // How long Stop lets an answer be sent that has begun.
  std::chrono::milliseconds grace{500};
};

class Endpoint {
 public:
  // Listens on all the addresses, or returns null with the reason in `error`.
  static std::unique_ptr<Endpoint> Start(EndpointOptions options, std::string* error);

  // Stops as Stop does.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Accepts no more, finishes answers under way within the grace period, joins the thread. May be
  // called twice.
  void Stop();

  // Where it listens, with the ports the kernel chose: "127.0.0.1:41233", "[::]:9150".
  const std::vector<std::string>& bound_addresses() const;

 private:
  class Impl;
  explicit Endpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace podcache::http
