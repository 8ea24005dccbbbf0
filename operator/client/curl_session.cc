#include "operator/client/curl_session.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/check.h"

namespace podcache::kube {
namespace {

constexpr long kConnectTimeoutMs = 10'000;
// A peer that answers nothing is given up after 30 s of silence and three probes 5 s apart.
constexpr long kKeepAliveIdleSeconds = 30;
constexpr long kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveProbes = 3;
constexpr unsigned kUserTimeoutMs = 45'000;
// Only a safety net: stops and data wake the poll.
constexpr int kPollMs = 1'000;
constexpr std::size_t kMaxErrorBody = std::size_t{64} << 10;

curl_blob Blob(const std::string& text) {
  // NOCOPY: the credentials outlive the attempt.
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
}

absl::StatusCode CodeOf(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return absl::StatusCode::kDeadlineExceeded;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

bool IsSuccess(long code) { return code >= 200 && code < 300; }

}  // namespace

CurlSession::CurlSession() : easy_(curl_easy_init()), multi_(curl_multi_init()) {
  PODCACHE_CHECK(easy_ != nullptr && multi_ != nullptr);  // Fails only without memory.
}

CurlSession::~CurlSession() {
  curl_easy_cleanup(easy_);
  curl_multi_cleanup(multi_);
}

long CurlSession::ResponseCode() const {
  long code = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

std::size_t CurlSession::OnHeader(char* data, std::size_t size, std::size_t count, void* self) {
  const std::string_view line(data, size * count);
  auto& session = *static_cast<CurlSession*>(self);
  // The empty line ends the headers; those of a 1xx answer are not the last.
  if (line == "\r\n" || line == "\n") {
    const long code = session.ResponseCode();
    if (session.exchange_.on_start != nullptr && IsSuccess(code)) {
      (*session.exchange_.on_start)(static_cast<int>(code));
    }
  }
  return line.size();
}

std::size_t CurlSession::OnBody(char* data, std::size_t size, std::size_t count, void* self) {
  const std::string_view bytes(data, size * count);
  auto& session = *static_cast<CurlSession*>(self);
  Exchange& exchange = session.exchange_;
  if (exchange.on_data != nullptr && IsSuccess(session.ResponseCode())) {
    if ((*exchange.on_data)(bytes)) return bytes.size();
    exchange.ended_by_handler = true;
    return CURL_WRITEFUNC_ERROR;
  }
  const std::size_t limit = IsSuccess(session.ResponseCode())
                                ? exchange.max_body
                                : std::min(exchange.max_body, kMaxErrorBody);
  if (exchange.body.size() + bytes.size() > limit) {
    exchange.too_large = true;
    return CURL_WRITEFUNC_ERROR;
  }
  exchange.body.append(bytes);
  return bytes.size();
}

int CurlSession::OnSocket(void*, curl_socket_t socket, curlsocktype) {
  // curl sets idle time and interval, not these two. What the kernel refuses is only a slower
  // notice.
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kKeepAliveProbes, sizeof kKeepAliveProbes);
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof kUserTimeoutMs);
  return CURL_SOCKOPT_OK;
}

void CurlSession::SetUpTls(const RestConfig& config, const Credentials::Snapshot& credentials) {
  curl_easy_setopt(easy_, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, config.insecure ? 0L : 1L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, config.insecure ? 0L : 2L);
  if (!credentials.ca.empty()) {
    curl_blob ca = Blob(credentials.ca);
    curl_easy_setopt(easy_, CURLOPT_CAINFO_BLOB, &ca);
    curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
  }
  if (!credentials.client_certificate.empty()) {
    curl_blob certificate = Blob(credentials.client_certificate);
    curl_blob key = Blob(credentials.client_key);
    curl_easy_setopt(easy_, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(easy_, CURLOPT_SSLKEY_BLOB, &key);
  }
}

void CurlSession::SetUpBody(const HttpRequest& request) {
  curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.body.empty()) return;
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request.body.c_str());
}

void CurlSession::SetUp(const CurlTarget& target, const HttpRequest& request,
                        const Credentials::Snapshot& credentials) {
  curl_easy_reset(easy_);  // Keeps connections and TLS sessions.
  error_[0] = '\0';
  const std::string url = target.base_url + request.target;
  curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  curl_easy_setopt(easy_, CURLOPT_PROXY, target.config.proxy_url.c_str());
  curl_easy_setopt(easy_, CURLOPT_USERAGENT, target.user_agent.c_str());
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  curl_easy_setopt(easy_, CURLOPT_SOCKOPTFUNCTION, &CurlSession::OnSocket);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &CurlSession::OnHeader);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &CurlSession::OnBody);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  SetUpTls(target.config, credentials);
  SetUpBody(request);

  headers_.reset(curl_slist_append(nullptr, "Accept: application/json"));
  const auto add = [this](const std::string& line) {
    headers_.reset(curl_slist_append(headers_.release(), line.c_str()));
  };
  if (!request.content_type.empty()) add("Content-Type: " + request.content_type);
  if (!credentials.token.empty()) add("Authorization: Bearer " + credentials.token);
  add("Expect:");  // No extra round trip for bodies above 1 KiB.
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_.get());
  if (!target.connect_to.empty()) {
    connect_to_.reset(curl_slist_append(nullptr, target.connect_to.c_str()));
    curl_easy_setopt(easy_, CURLOPT_CONNECT_TO, connect_to_.get());
  }
}

// CURLE_ABORTED_BY_CALLBACK for a stop.
CURLcode CurlSession::Drive(const std::stop_token& stop, const std::stop_token& stop_all) {
  const auto wake = [this] { curl_multi_wakeup(multi_); };
  const std::stop_callback on_stop(stop, wake);
  const std::stop_callback on_stop_all(stop_all, wake);
  for (;;) {
    if (stop.stop_requested() || stop_all.stop_requested()) return CURLE_ABORTED_BY_CALLBACK;
    int running = 0;
    if (curl_multi_perform(multi_, &running) != CURLM_OK) return CURLE_FAILED_INIT;
    if (running == 0) break;
    if (curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr) != CURLM_OK) return CURLE_FAILED_INIT;
  }
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(multi_, &left);
  return message != nullptr && message->msg == CURLMSG_DONE ? message->data.result
                                                            : CURLE_FAILED_INIT;
}

absl::StatusOr<HttpResponse> CurlSession::Conclude(CURLcode code) {
  if (exchange_.too_large) {
    return MakeStatus(absl::StatusCode::kResourceExhausted, "the answer's body is too large");
  }
  if (code == CURLE_ABORTED_BY_CALLBACK) return absl::CancelledError("stopped");
  if (code != CURLE_OK && !exchange_.ended_by_handler) {
    return MakeStatus(CodeOf(code), error_[0] != '\0' ? error_ : curl_easy_strerror(code));
  }
  HttpResponse response;
  response.code = static_cast<int>(ResponseCode());
  response.body = std::move(exchange_.body);
  curl_off_t seconds = 0;
  curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &seconds);
  if (seconds > 0) response.retry_after = std::chrono::seconds(seconds);
  return response;
}

absl::StatusOr<HttpResponse> CurlSession::Run(const CurlTarget& target, const HttpRequest& request,
                                              const Credentials::Snapshot& credentials,
                                              const HttpTransport::StartHandler* on_start,
                                              const HttpTransport::DataHandler* on_data,
                                              const std::stop_token& stop,
                                              const std::stop_token& stop_all) {
  exchange_ =
      Exchange{.on_start = on_start, .on_data = on_data, .max_body = request.max_response_bytes};
  SetUp(target, request, credentials);
  if (curl_multi_add_handle(multi_, easy_) != CURLM_OK)
    return Internal("curl refused the transfer");
  const CURLcode code = Drive(stop, stop_all);
  absl::StatusOr<HttpResponse> response = Conclude(code);
  // An unfinished transfer's connection is closed by this.
  curl_multi_remove_handle(multi_, easy_);
  return response;
}

}  // namespace podcache::kube
