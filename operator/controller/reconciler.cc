#include "operator/controller/reconciler.h"

#include "absl/strings/cord.h"

namespace podcache::kube {
namespace {

constexpr char kTerminalType[] = "podcache.dev/kube.Terminal";

}  // namespace

absl::Status Terminal(absl::Status status) {
  status.SetPayload(kTerminalType, absl::Cord());
  return status;
}

bool IsTerminal(const absl::Status& status) { return status.GetPayload(kTerminalType).has_value(); }

}  // namespace podcache::kube
