// HttpTransport over libcurl.
//
// HTTP/1.1, one connection per exchange in progress: a watch keeps its own, requests reuse the
// others. A session is a curl easy and multi handle; exactly one thread uses it at a time, idle
// ones wait in a small pool, most recently used first. A dead peer is noticed after about 45 s
// (keep-alive after 30 s, three probes 5 s apart, TCP_USER_TIMEOUT); an idle watch stays open, for
// its peer answers probes. Threads: any, at once. A stop wakes every blocked call at once.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "operator/client/credentials.h"
#include "operator/client/http_transport.h"
#include "operator/client/rest_config.h"

namespace podcache::kube {

class CurlSession;

class CurlTransport final : public HttpTransport {
 public:
  // `stop` aborts all exchanges, now and later. InvalidArgument when the server is no http or https
  // URL.
  static absl::StatusOr<std::unique_ptr<CurlTransport>> Create(const RestConfig& config,
                                                               std::string user_agent,
                                                               const Clock& clock,
                                                               std::stop_token stop);
  ~CurlTransport() override;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  absl::StatusOr<HttpResponse> Send(const HttpRequest& request) override;
  absl::StatusOr<HttpResponse> Stream(const HttpRequest& request, const StartHandler& on_start,
                                      const DataHandler& on_data, std::stop_token stop) override;
  std::string_view host() const override { return host_; }

 private:
  CurlTransport(const RestConfig& config, std::string user_agent, const Clock& clock,
                std::stop_token stop);
  absl::Status ParseServer();
  absl::StatusOr<HttpResponse> Exchange(const HttpRequest& request, const StartHandler& on_start,
                                        const DataHandler& on_data, const std::stop_token& stop);
  absl::StatusOr<HttpResponse> Attempt(const HttpRequest& request,
                                       const Credentials::SnapshotPtr& credentials,
                                       const StartHandler& on_start, const DataHandler& on_data,
                                       const std::stop_token& stop);
  std::unique_ptr<CurlSession> Acquire();
  void Release(std::unique_ptr<CurlSession> session);

  const RestConfig config_;
  const std::string user_agent_;
  const std::stop_token stop_;
  Credentials credentials_;
  std::string host_;        // host:port, for metrics.
  std::string base_url_;    // Names what the certificate must name.
  std::string connect_to_;  // "::host:port" when that is not where to connect.
  Mutex mutex_;
  std::vector<std::unique_ptr<CurlSession>> idle_ GUARDED_BY(mutex_);
};

}  // namespace podcache::kube
