// Builds the JSON patch of an injection, operation by operation, so that it names exactly what
// changes and merges with the patches of other webhooks.
//
// Ownership: borrows the pod, which must outlive it. Not for use by several threads.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>

#include "operator/api/v1alpha1/cache_sidecar.h"

namespace podcache::control {

class PodPatch {
 public:
  explicit PodPatch(const nlohmann::json& pod);
  ~PodPatch();

  void SetLabel(std::string_view key, std::string_view value);
  void SetAnnotation(std::string_view key, std::string_view value);
  // Appends the volumes and lists them as safe to evict.
  void AddVolumes(const nlohmann::json& volumes);
  // First among the init containers, or last among the containers where it is no native sidecar.
  void AddContainer(const nlohmann::json& container, bool native);
  // Mounts the socket's volume in the app containers that want it and do not have it yet.
  void MountSocket(const UnixSocketListen& socket);

  // The patch as text; empty if there is nothing to change. Ends the building.
  std::string Take();

  static bool HasVolume(const nlohmann::json& pod_spec, std::string_view name);

 private:
  void SetInMap(const char* map, std::string_view key, std::string_view value);
  void Append(const std::string& list_path, bool exists, const nlohmann::json& value);
  void Add(std::string path, const nlohmann::json& value);

  const nlohmann::json& pod_;
  std::unique_ptr<nlohmann::json> operations_;  // Never null.
  std::set<std::string> created_;               // Maps and lists that an operation has made.
  bool shifted_init_containers_ = false;        // Ours is at index 0 now.
};

}  // namespace podcache::control
