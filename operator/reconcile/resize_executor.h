// Carries out one step of a resize: asks the server or the API server, and notes in the pod's
// memory what came of it.
//
// Threads: any. Ownership: borrows both clients.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "operator/admin/node_client.h"
#include "operator/client/api_client.h"
#include "operator/reconcile/pod_view.h"
#include "operator/reconcile/resize.h"
#include "operator/reconcile/resize_history.h"

namespace podcache::control {

enum class StepResult : std::uint8_t {
  kDone,
  kRefused,      // By admission: not to be tried again for this generation and value.
  kUnsupported,  // The API server has no pods/resize.
  kFailed,       // To be tried again; see the message.
};

struct StepOutcome {
  StepResult result = StepResult::kDone;
  std::string message;
  bool of_server = false;  // The cache refused or did not answer.
};

class ResizeExecutor {
 public:
  ResizeExecutor(kube::ApiClient& api, NodeClient& nodes) : api_(api), nodes_(nodes) {}

  StepOutcome UpdateServer(const ResizeStep& step, const NodeTarget& target, PodMemory& memory);
  StepOutcome PatchPod(const PodView& pod, const ContainerAmounts& amounts, std::int64_t generation,
                       PodMemory& memory);
  StepOutcome EvictPod(const PodView& pod);
  // Brings the annotation of what we last set up to date.
  StepOutcome NoteApplied(const PodView& pod, const ContainerAmounts& amounts, PodMemory& memory);

 private:
  StepOutcome AfterRefusedPatch(const absl::Status& status, const ContainerAmounts& amounts,
                                std::int64_t generation, PodMemory& memory);

  kube::ApiClient& api_;
  NodeClient& nodes_;
};

// The resourceVersion as a number: the API server promises that they grow. 0 for another form.
std::uint64_t VersionNumber(std::string_view resource_version);

}  // namespace podcache::control
