// A pod as the reconcilers see it: the few facts about the cache container, its resize and its
// injection, read once from the cached object.
//
// Threads: pure functions. Source: docs/designs/0001-pod-contract.md; KEP-1287 for the resize
// fields.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/sizing/sizing.h"
#include "operator/client/object.h"
#include "operator/reconcile/resize.h"

namespace podcache::control {

struct PodView {
  kube::NamespacedName key;
  std::string uid;
  std::string resource_version;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> node_selector;
  bool ended = false;  // Succeeded, Failed or being deleted: nothing is done to it any more.
  bool guaranteed = false;
  std::string ip;
  std::string node_name;

  // Of the injection; empty where there was none.
  std::string injected_by;  // namespace/name of the CacheSidecar.
  std::string wanted_sidecar;
  std::string nonce;
  std::string config_hash;
  std::string applied_resources;

  bool has_container = false;
  bool native = false;                   // An init container.
  bool vpa_managed = false;              // A VerticalPodAutoscaler left its mark on the pod.
  std::vector<sizing::Rule> born_rules;  // That the server chooses from.
  std::string container_id;              // Changes with each start of the container.
  ContainerObservation container;

  bool injected() const { return has_container && !injected_by.empty(); }
};

// `now_unix_seconds` dates the pending resize.
PodView ReadPod(const kube::Object& pod, std::int64_t now_unix_seconds);

// Keeps of a pod only what ReadPod needs: thousands of them are held in memory.
void ShrinkPod(kube::Object& pod);

}  // namespace podcache::control
