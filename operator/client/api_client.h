// The verbs of the Kubernetes API that a controller needs. The seam for tests of reconcilers; the
// real one is HttpApiClient.
//
// Every call blocks until the answer, the request's deadline (30 s unless said otherwise) or the
// stop of the process. Errors: see api_error.h. A returned object has no managedFields. Threads:
// any, at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "common/status/status.h"
#include "operator/client/object.h"
#include "operator/client/resource.h"
#include "operator/client/watch_event.h"

namespace podcache::kube {

struct ListOptions {
  std::string label_selector{};
  std::string field_selector{};
  int limit = 500;               // Objects a page; 0 asks for all at once.
  std::string continue_token{};  // Of the page before.
  std::string resource_version{};
  std::string resource_version_match{};
};

struct ListPage {
  std::vector<Object> items{};  // kind and apiVersion are filled in.
  std::string resource_version{};
  std::string continue_token{};  // Empty on the last page.
};

struct WatchOptions {
  std::string label_selector{};
  std::string field_selector{};
  std::string resource_version{};
  std::chrono::seconds timeout{300};  // The server ends the watch then.
  bool send_initial_events =
      false;  // WatchList: the state first, then the marker bookmark, then changes.
};

struct WriteOptions {
  std::string field_manager{};
  bool dry_run = false;
};

struct ApplyOptions {
  std::string field_manager{};  // Required.
  bool force = true;
  bool dry_run = false;
};

struct DeleteOptions {
  std::optional<std::string> uid{};  // Delete only this incarnation.
  std::optional<int> grace_period_seconds{};
  // "Background", "Foreground", "Orphan"; empty is the kind's default.
  std::string propagation_policy{};
};

enum class PatchType { kMerge, kStrategicMerge, kJson };

struct ServerVersion {
  int major = 0;
  int minor = 0;
  std::string git_version{};

  bool AtLeast(int want_major, int want_minor) const {
    return major != want_major ? major > want_major : minor >= want_minor;
  }
};

class ApiClient {
 public:
  // Returns false to end the watch. Must not throw: the frames of a C library lie between.
  using WatchHandler = std::function<bool(WatchEvent event)>;

  virtual ~ApiClient() = default;

  virtual absl::StatusOr<Object> Get(const ObjectRef& ref) = 0;
  // One page; empty ns means all namespaces. ListAll() below follows the pages.
  virtual absl::StatusOr<ListPage> List(const ResourceType& type, std::string_view ns,
                                        const ListOptions& options) = 0;
  // apiVersion and kind are filled in from the type when the object has none.
  virtual absl::StatusOr<Object> Create(const ResourceType& type, const Object& object,
                                        const WriteOptions& options) = 0;
  // A create on a subresource: eviction, token. The answer is whatever the server sends.
  virtual absl::StatusOr<Object> CreateSubresource(const ObjectRef& ref, const Object& body,
                                                   const WriteOptions& options) = 0;
  // Needs the resourceVersion that was read, else the last writer wins.
  virtual absl::StatusOr<Object> Update(const ObjectRef& ref, const Object& object,
                                        const WriteOptions& options) = 0;
  virtual absl::StatusOr<Object> Patch(const ObjectRef& ref, PatchType type,
                                       const nlohmann::json& patch,
                                       const WriteOptions& options) = 0;
  // Server-side apply: creates or updates exactly the fields that `object` holds.
  virtual absl::StatusOr<Object> Apply(const ObjectRef& ref, const Object& object,
                                       const ApplyOptions& options) = 0;
  virtual absl::Status Delete(const ObjectRef& ref, const DeleteOptions& options) = 0;

  // Streams events until the server ends the watch (OK), the handler returns false (OK), an error
  // or a stop (Cancelled). The handler runs on the calling thread.
  virtual absl::Status Watch(const ResourceType& type, std::string_view ns,
                             const WatchOptions& options, const WatchHandler& handler,
                             std::stop_token stop) = 0;

  virtual absl::StatusOr<ServerVersion> Version() = 0;
  // Names under a group version ("v1", "apps/v1"), subresources included ("pods/resize"); NotFound
  // when the group version is not served.
  virtual absl::StatusOr<std::vector<std::string>> Discover(std::string_view group_version) = 0;
};

// Whether the API server serves this resource, or with "plural/sub" this subresource. An unknown
// group is false, not an error.
absl::StatusOr<bool> IsServed(ApiClient& client, std::string_view group_version,
                              std::string_view resource);

// All pages. For small collections; reflectors go page by page.
absl::StatusOr<std::vector<Object>> ListAll(ApiClient& client, const ResourceType& type,
                                            std::string_view ns, ListOptions options = {});

// Through the Eviction API, so that disruption budgets hold: TooManyRequests when one forbids it.
absl::Status Evict(ApiClient& client, const NamespacedName& pod,
                   const std::optional<std::string>& uid);

}  // namespace podcache::kube
