// ApiClient over an HttpTransport: builds paths, queries and bodies, and reads answers and watch
// streams.
//
// Threads: any, at once. Ownership: borrows transport, observer and clock, which must outlive it.
#pragma once

#include <chrono>

#include "common/base/clock.h"
#include "operator/client/api_client.h"
#include "operator/client/http_transport.h"
#include "operator/client/request_observer.h"

namespace podcache::kube {

class HttpApiClient final : public ApiClient {
 public:
  // `observer` may be null. `timeout` is for each request but lists (twice as long) and watches (as
  // told).
  HttpApiClient(HttpTransport& transport, const Clock& clock, RequestObserver* observer,
                std::chrono::milliseconds timeout = std::chrono::seconds(30))
      : transport_(transport), clock_(clock), observer_(observer), timeout_(timeout) {}

  absl::StatusOr<Object> Get(const ObjectRef& ref) override;
  absl::StatusOr<ListPage> List(const ResourceType& type, std::string_view ns,
                                const ListOptions& options) override;
  absl::StatusOr<Object> Create(const ResourceType& type, const Object& object,
                                const WriteOptions& options) override;
  absl::StatusOr<Object> CreateSubresource(const ObjectRef& ref, const Object& body,
                                           const WriteOptions& options) override;
  absl::StatusOr<Object> Update(const ObjectRef& ref, const Object& object,
                                const WriteOptions& options) override;
  absl::StatusOr<Object> Patch(const ObjectRef& ref, PatchType type, const nlohmann::json& patch,
                               const WriteOptions& options) override;
  absl::StatusOr<Object> Apply(const ObjectRef& ref, const Object& object,
                               const ApplyOptions& options) override;
  absl::Status Delete(const ObjectRef& ref, const DeleteOptions& options) override;
  absl::Status Watch(const ResourceType& type, std::string_view ns, const WatchOptions& options,
                     const WatchHandler& handler, std::stop_token stop) override;
  absl::StatusOr<ServerVersion> Version() override;
  absl::StatusOr<std::vector<std::string>> Discover(std::string_view group_version) override;

 private:
  absl::StatusOr<std::string> Exchange(std::string_view verb, HttpRequest request);
  absl::StatusOr<Object> ExchangeObject(std::string_view verb, HttpRequest request);
  void Observe(std::string_view verb, std::string_view method, int code,
               std::chrono::nanoseconds started) const;

  HttpTransport& transport_;
  const Clock& clock_;
  RequestObserver* const observer_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace podcache::kube
