#include "operator/client/curl_transport.h"

#include <curl/curl.h>

#include <utility>

#include "operator/client/curl_session.h"

namespace podcache::kube {
namespace {

constexpr std::size_t kMaxIdleSessions = 8;

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, FreeUrl>;

std::string Part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return "";
  std::string result(text);
  curl_free(text);
  return result;
}

}  // namespace

CurlTransport::CurlTransport(const RestConfig& config, std::string user_agent, const Clock& clock,
                             std::stop_token stop)
    : config_(config),
      user_agent_(std::move(user_agent)),
      stop_(std::move(stop)),
      credentials_(config, clock) {
  curl_global_init(CURL_GLOBAL_DEFAULT);  // Counted by curl: each transport ends its own.
}

CurlTransport::~CurlTransport() {
  {
    MutexLock lock(mutex_);
    idle_.clear();
  }
  curl_global_cleanup();
}

absl::StatusOr<std::unique_ptr<CurlTransport>> CurlTransport::Create(const RestConfig& config,
                                                                     std::string user_agent,
                                                                     const Clock& clock,
                                                                     std::stop_token stop) {
  std::unique_ptr<CurlTransport> transport(
      new CurlTransport(config, std::move(user_agent), clock, std::move(stop)));
  PODCACHE_RETURN_IF_ERROR(transport->ParseServer());
  return transport;
}

absl::Status CurlTransport::ParseServer() {
  const Url url(curl_url());
  const std::string scheme =
      curl_url_set(url.get(), CURLUPART_URL, config_.server.c_str(), 0) == CURLUE_OK
          ? Part(url.get(), CURLUPART_SCHEME)
          : "";
  if (scheme != "http" && scheme != "https") {
    return InvalidArgument("the API server's address \"" + config_.server +
                           "\" is no http or https URL");
  }
  const std::string host = Part(url.get(), CURLUPART_HOST);
  const std::string port = Part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  host_ = host + ":" + port;
  base_url_ = config_.server;
  if (!config_.tls_server_name.empty()) {
    connect_to_ = "::" + host_;
    curl_url_set(url.get(), CURLUPART_HOST, config_.tls_server_name.c_str(), 0);
    base_url_ = Part(url.get(), CURLUPART_URL);
  }
  while (base_url_.back() == '/') base_url_.pop_back();
  return absl::OkStatus();
}

std::unique_ptr<CurlSession> CurlTransport::Acquire() {
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<CurlSession> session = std::move(idle_.back());
      idle_.pop_back();
      return session;
    }
  }
  return std::make_unique<CurlSession>();
}

void CurlTransport::Release(std::unique_ptr<CurlSession> session) {
  MutexLock lock(mutex_);
  if (idle_.size() < kMaxIdleSessions) idle_.push_back(std::move(session));
}

absl::StatusOr<HttpResponse> CurlTransport::Attempt(const HttpRequest& request,
                                                    const Credentials::SnapshotPtr& credentials,
                                                    const StartHandler& on_start,
                                                    const DataHandler& on_data,
                                                    const std::stop_token& stop) {
  std::unique_ptr<CurlSession> session = Acquire();
  absl::StatusOr<HttpResponse> response =
      session->Run({config_, base_url_, connect_to_, user_agent_}, request, *credentials,
                   on_start ? &on_start : nullptr, on_data ? &on_data : nullptr, stop, stop_);
  Release(std::move(session));
  return response;
}

absl::StatusOr<HttpResponse> CurlTransport::Exchange(const HttpRequest& request,
                                                     const StartHandler& on_start,
                                                     const DataHandler& on_data,
                                                     const std::stop_token& stop) {
  PODCACHE_ASSIGN_OR_RETURN(Credentials::SnapshotPtr credentials, credentials_.Current());
  absl::StatusOr<HttpResponse> response = Attempt(request, credentials, on_start, on_data, stop);
  // In both cases the server has not acted on the request.
  const bool refused =
      response.ok() ? response->code == 401 : absl::IsFailedPrecondition(response.status());
  if (!refused) return response;
  const Credentials::SnapshotPtr renewed = credentials_.RefreshAfterRefusal(credentials);
  if (renewed == nullptr) return response;
  return Attempt(request, renewed, on_start, on_data, stop);
}

absl::StatusOr<HttpResponse> CurlTransport::Send(const HttpRequest& request) {
  return Exchange(request, nullptr, nullptr, std::stop_token());
}

absl::StatusOr<HttpResponse> CurlTransport::Stream(const HttpRequest& request,
                                                   const StartHandler& on_start,
                                                   const DataHandler& on_data,
                                                   std::stop_token stop) {
  return Exchange(request, on_start, on_data, stop);
}

}  // namespace podcache::kube
