#include "operator/webhook/pod_patch.h"

#include <nlohmann/json.hpp>

#include "operator/resources/names.h"
#include "operator/resources/sidecar_container.h"
#include "operator/webhook/json_access.h"
#include "operator/webhook/pod_fit.h"

namespace podcache::control {

namespace {

using nlohmann::json;

// RFC 6901.
std::string Escape(std::string_view key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '~') {
      escaped += "~0";
    } else if (c == '/') {
      escaped += "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

bool Lists(std::string_view comma_separated, std::string_view name) {
  while (!comma_separated.empty()) {
    const std::size_t end = std::min(comma_separated.find(','), comma_separated.size());
    if (comma_separated.substr(0, end) == name) return true;
    comma_separated.remove_prefix(std::min(end + 1, comma_separated.size()));
  }
  return false;
}

bool Mounts(const json& container, std::string_view volume) {
  const json& mounts = Member(container, "volumeMounts");
  if (!mounts.is_array()) return false;
  for (const json& mount : mounts) {
    if (Member(mount, "name") == std::string(volume)) return true;
  }
  return false;
}

}  // namespace

PodPatch::PodPatch(const json& pod)
    : pod_(pod), operations_(std::make_unique<json>(json::array())) {}
PodPatch::~PodPatch() = default;

void PodPatch::Add(std::string path, const json& value) {
  operations_->push_back({{"op", "add"}, {"path", std::move(path)}, {"value", value}});
}

void PodPatch::SetInMap(const char* map, std::string_view key, std::string_view value) {
  const std::string path = std::string("/metadata/") + map;
  const bool exists = Member(Member(pod_, "metadata"), map).is_object();
  if (!exists && created_.insert(path).second) {
    Add(path, json::object({{std::string(key), std::string(value)}}));
    return;
  }
  Add(path + "/" + Escape(key), std::string(value));
}

void PodPatch::SetLabel(std::string_view key, std::string_view value) {
  SetInMap("labels", key, value);
}

void PodPatch::SetAnnotation(std::string_view key, std::string_view value) {
  SetInMap("annotations", key, value);
}

void PodPatch::Append(const std::string& list_path, bool exists, const json& value) {
  if (!exists && created_.insert(list_path).second) {
    Add(list_path, json::array({value}));
  } else {
    Add(list_path + "/-", value);
  }
}

void PodPatch::AddVolumes(const json& volumes) {
  const json& annotations = Member(Member(pod_, "metadata"), "annotations");
  const json& before = Member(annotations, kSafeToEvictVolumesAnnotation);
  std::string safe = before.is_string() ? before.get<std::string>() : std::string();
  const bool exists = Member(Member(pod_, "spec"), "volumes").is_array();
  for (const json& volume : volumes) {
    Append("/spec/volumes", exists, volume);
    const std::string name = volume.at("name").get<std::string>();
    if (!Lists(safe, name)) safe += (safe.empty() ? "" : ",") + name;
  }
  SetAnnotation(kSafeToEvictVolumesAnnotation, safe);
}

void PodPatch::AddContainer(const json& container, bool native) {
  const char* list = native ? "initContainers" : "containers";
  const std::string path = std::string("/spec/") + list;
  const bool exists = Member(Member(pod_, "spec"), list).is_array();
  if (native && exists) {
    Add(path + "/0", container);
    shifted_init_containers_ = true;
  } else {
    Append(path, exists, container);
  }
}

void PodPatch::MountSocket(const UnixSocketListen& socket) {
  for (const bool is_init : {false, true}) {
    const char* list = is_init ? "initContainers" : "containers";
    const json& containers = Member(Member(pod_, "spec"), list);
    if (!containers.is_array()) continue;
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const json& container = containers[i];
      if (Member(container, "name") == std::string(kContainerName)) continue;
      if (!WantsSocket(container, is_init, socket) || Mounts(container, kSocketVolume)) continue;
      const std::size_t index = is_init && shifted_init_containers_ ? i + 1 : i;
      Append(std::string("/spec/") + list + "/" + std::to_string(index) + "/volumeMounts",
             Member(container, "volumeMounts").is_array(), BuildAppSocketMount(socket));
    }
  }
}

std::string PodPatch::Take() {
  return operations_->empty() ? std::string()
                              : operations_->dump(-1, ' ', false, json::error_handler_t::replace);
}

bool PodPatch::HasVolume(const json& pod_spec, std::string_view name) {
  const json& volumes = Member(pod_spec, "volumes");
  if (!volumes.is_array()) return false;
  for (const json& volume : volumes) {
    if (Member(volume, "name") == std::string(name)) return true;
  }
  return false;
}

}  // namespace podcache::control
