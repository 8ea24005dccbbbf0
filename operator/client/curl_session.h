// One libcurl easy handle with a multi handle around it, which makes a transfer that another thread
// can wake. Internal to client/.
//
// Threads: one at a time; Wake from any.
#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "operator/client/credentials.h"
#include "operator/client/http_transport.h"

namespace podcache::kube {

// What stays the same between attempts of one exchange.
struct CurlTarget {
  const RestConfig& config;
  const std::string& base_url;
  const std::string& connect_to;
  const std::string& user_agent;
};

class CurlSession {
 public:
  CurlSession();
  ~CurlSession();
  CurlSession(const CurlSession&) = delete;
  CurlSession& operator=(const CurlSession&) = delete;

  // One attempt. `on_data` null: the body is buffered. Connections stay open for the next call.
  absl::StatusOr<HttpResponse> Run(const CurlTarget& target, const HttpRequest& request,
                                   const Credentials::Snapshot& credentials,
                                   const HttpTransport::StartHandler* on_start,
                                   const HttpTransport::DataHandler* on_data,
                                   const std::stop_token& stop, const std::stop_token& stop_all);

 private:
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  using List = std::unique_ptr<curl_slist, FreeList>;

  // Of the exchange in progress.
  struct Exchange {
    const HttpTransport::StartHandler* on_start;
    const HttpTransport::DataHandler* on_data;
    std::size_t max_body;
    std::string body{};
    bool ended_by_handler = false;
    bool too_large = false;
  };

  void SetUp(const CurlTarget& target, const HttpRequest& request,
             const Credentials::Snapshot& credentials);
  void SetUpTls(const RestConfig& config, const Credentials::Snapshot& credentials);
  void SetUpBody(const HttpRequest& request);
  CURLcode Drive(const std::stop_token& stop, const std::stop_token& stop_all);
  absl::StatusOr<HttpResponse> Conclude(CURLcode code);
  long ResponseCode() const;

  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* self);
  static int OnSocket(void* self, curl_socket_t socket, curlsocktype purpose);

  CURL* const easy_;
  CURLM* const multi_;
  List headers_;
  List connect_to_;
  char error_[CURL_ERROR_SIZE] = {};
  Exchange exchange_{};
};

}  // namespace podcache::kube
