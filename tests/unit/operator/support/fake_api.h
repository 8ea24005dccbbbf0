// A small API server in memory for unit tests of what our code asks for: objects by path,
// resourceVersions, conflicts, and a log of writes. What Kubernetes really does with a request is
// tested in tests/kube on a real one.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "operator/client/api_client.h"
#include "operator/client/api_error.h"

namespace podcache::control::testing {

class FakeApi : public kube::ApiClient {
 public:
  struct Write {
    std::string verb;  // create, update, patch, apply, delete
    std::string path;
    nlohmann::json body;
  };

  // Answers instead of the store when it returns a value; asked for writes.
  std::function<std::optional<absl::Status>(const Write& write)> intercept;
  // Runs before a create or update is looked at: a chance for somebody else to be first.
  std::function<void()> before_write;

  void Put(const kube::ObjectRef& ref, nlohmann::json value) {
    MutexLock lock(mutex_);
    Store(kube::ObjectPath(ref), std::move(value));
  }
  std::optional<nlohmann::json> Find(const kube::ObjectRef& ref) {
    MutexLock lock(mutex_);
    const auto found = objects_.find(kube::ObjectPath(ref));
    if (found == objects_.end()) return std::nullopt;
    return found->second;
  }
  std::vector<Write> TakeWrites() {
    MutexLock lock(mutex_);
    return std::exchange(writes_, {});
  }

  static absl::Status HttpError(int code, const std::string& reason, const std::string& message) {
    const nlohmann::json status = {{"kind", "Status"},
                                   {"status", "Failure"},
                                   {"code", code},
                                   {"reason", reason},
                                   {"message", message}};
    return kube::ErrorFromResponse(code, status.dump(), std::nullopt);
  }

  absl::StatusOr<kube::Object> Get(const kube::ObjectRef& ref) override {
    auto found = Find(ref);
    if (!found) return HttpError(404, "NotFound", ref.name + " not found");
    return kube::Object(*found);
  }
  absl::StatusOr<kube::ListPage> List(const kube::ResourceType&, std::string_view,
                                      const kube::ListOptions&) override {
    return HttpError(405, "MethodNotAllowed", "not in this fake");
  }
  absl::StatusOr<kube::Object> Create(const kube::ResourceType& type, const kube::Object& object,
                                      const kube::WriteOptions&) override {
    const kube::ObjectRef ref{type, std::string(object.ns()), std::string(object.name()), ""};
    if (before_write) before_write();
    MutexLock lock(mutex_);
    if (const auto refused = Record("create", ref, object.json())) return *refused;
    if (objects_.contains(kube::ObjectPath(ref))) {
      return HttpError(409, "AlreadyExists", ref.name + " already exists");
    }
    return kube::Object(Store(kube::ObjectPath(ref), object.json()));
  }
  absl::StatusOr<kube::Object> CreateSubresource(const kube::ObjectRef& ref,
                                                 const kube::Object& body,
                                                 const kube::WriteOptions&) override {
    MutexLock lock(mutex_);
    if (const auto refused = Record("create", ref, body.json())) return *refused;
    return body;
  }
  absl::StatusOr<kube::Object> Update(const kube::ObjectRef& ref, const kube::Object& object,
                                      const kube::WriteOptions&) override {
    if (before_write) before_write();
    MutexLock lock(mutex_);
    if (const auto refused = Record("update", ref, object.json())) return *refused;
    const auto found = objects_.find(kube::ObjectPath(ref));
    if (found == objects_.end()) return HttpError(404, "NotFound", "not found");
    if (object.resource_version() != kube::Object(found->second).resource_version()) {
      return HttpError(409, "Conflict", "the object has been modified");
    }
    return kube::Object(Store(kube::ObjectPath(ref), object.json()));
  }
  absl::StatusOr<kube::Object> Patch(const kube::ObjectRef& ref, kube::PatchType type,
                                     const nlohmann::json& patch,
                                     const kube::WriteOptions&) override {
    MutexLock lock(mutex_);
    if (const auto refused = Record("patch", ref, patch)) return *refused;
    const std::string path = WithoutSubresource(ref);
    const auto found = objects_.find(path);
    if (found == objects_.end()) return HttpError(404, "NotFound", "not found");
    nlohmann::json next = found->second;
    if (type == kube::PatchType::kJson) {
      next = next.patch(patch);
    } else if (type == kube::PatchType::kMerge) {
      next.merge_patch(patch);
    }  // A strategic patch is only recorded: the test plays its effect.
    return kube::Object(Store(path, std::move(next)));
  }
  absl::StatusOr<kube::Object> Apply(const kube::ObjectRef& ref, const kube::Object& object,
                                     const kube::ApplyOptions&) override {
    MutexLock lock(mutex_);
    if (const auto refused = Record("apply", ref, object.json())) return *refused;
    const std::string path = WithoutSubresource(ref);
    nlohmann::json next = objects_.contains(path) ? objects_[path] : nlohmann::json::object();
    next.merge_patch(object.json());
    return kube::Object(Store(path, std::move(next)));
  }
  absl::Status Delete(const kube::ObjectRef& ref, const kube::DeleteOptions&) override {
    MutexLock lock(mutex_);
    if (const auto refused = Record("delete", ref, {})) return *refused;
    objects_.erase(kube::ObjectPath(ref));
    return absl::OkStatus();
  }
  absl::Status Watch(const kube::ResourceType&, std::string_view, const kube::WatchOptions&,
                     const WatchHandler&, std::stop_token) override {
    return HttpError(405, "MethodNotAllowed", "not in this fake");
  }
  absl::StatusOr<kube::ServerVersion> Version() override {
    return kube::ServerVersion{1, 35, "v1.35.4"};
  }
  absl::StatusOr<std::vector<std::string>> Discover(std::string_view) override {
    return std::vector<std::string>{"pods", "pods/resize"};
  }

 private:
  static std::string WithoutSubresource(kube::ObjectRef ref) {
    ref.subresource.clear();
    return kube::ObjectPath(ref);
  }
  std::optional<absl::Status> Record(const std::string& verb, const kube::ObjectRef& ref,
                                     const nlohmann::json& body) REQUIRES(mutex_) {
    writes_.push_back({verb, kube::ObjectPath(ref), body});
    return intercept ? intercept(writes_.back()) : std::nullopt;
  }
  const nlohmann::json& Store(const std::string& path, nlohmann::json value) REQUIRES(mutex_) {
    value["metadata"]["resourceVersion"] = std::to_string(++version_);
    return objects_[path] = std::move(value);
  }

  Mutex mutex_;
  std::map<std::string, nlohmann::json> objects_ GUARDED_BY(mutex_);
  std::vector<Write> writes_ GUARDED_BY(mutex_);
  int version_ GUARDED_BY(mutex_) = 100;
};

}  // namespace podcache::control::testing
