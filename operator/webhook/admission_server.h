// HTTPS endpoint of the mutating webhook: reads an AdmissionReview, asks the handler, answers.
//
//   POST <path>   200 with the review; 400 malformed, 405 other method, 413 too large, 415 no JSON,
//   500 handler failed other paths   404
//
// A request is answered on the server's own thread, so the handler must be quick and may not wait
// for anything. Connections, headers, body and idle time are limited. A handler's exception costs
// one request, never the process.
//
// Threads: UseCertificate from any thread at any time; Start and Stop from one. The handler runs on
// the server's thread. Ownership: borrows observer and clock. The destructor stops.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/logging/logger.h"
#include "common/tls/certificate.h"
#include "operator/webhook/admission_review.h"

namespace podcache::control {

// Where requests are counted; called on the server's thread.
class AdmissionObserver {
 public:
  virtual ~AdmissionObserver() = default;
  virtual void OnRequestStart() = 0;
  virtual void OnRequestEnd(int http_code, std::chrono::nanoseconds took) = 0;
};

struct AdmissionServerOptions {
  std::string listen = "*:9443";  // See common/http/listen_address.h.
  std::string path = "/mutate";
  std::size_t max_body_bytes = 3U << 20;  // What the API server accepts as one object.
  std::size_t max_connections = 256;
  std::chrono::seconds idle_timeout{60};
};

class AdmissionServer {
 public:
  using Handler = std::function<AdmissionResponse(const AdmissionRequest& request)>;

  // `observer` may be null.
  AdmissionServer(AdmissionServerOptions options, Handler handler, AdmissionObserver* observer,
                  const Clock& clock, Logger log);
  ~AdmissionServer();
  AdmissionServer(const AdmissionServer&) = delete;
  AdmissionServer& operator=(const AdmissionServer&) = delete;

  // New connections use it; established ones end with the one they began with.
  absl::Status UseCertificate(const tls::KeyPair& pair);
  // Binds and serves. FailedPrecondition without a certificate: it never speaks plain HTTP.
  absl::Status Start();
  // Ends all connections and joins. Idempotent.
  void Stop();

  bool serving() const;
  // The port bound; 0 before Start.
  std::uint16_t port() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace podcache::control
