#include "operator/reconcile/node_labels.h"

namespace podcache::control {

namespace {
constexpr std::chrono::minutes kLifetime{5};
constexpr std::size_t kMostNodes = 20'000;
}  // namespace

std::optional<NodeLabels::Labels> NodeLabels::Get(const std::string& node) {
  if (!allowed_ || node.empty()) return std::nullopt;
  const auto now = clock_.MonotonicNow();
  {
    MutexLock lock(mutex_);
    const auto found = known_.find(node);
    if (found != known_.end() && now - found->second.at < kLifetime) return found->second.labels;
  }
  const absl::StatusOr<kube::Object> read = api_.Get({kube::kNodes, "", node, ""});
  Entry entry{.labels = std::nullopt, .at = now};
  if (read.ok()) entry.labels = read->labels();
  MutexLock lock(mutex_);
  if (known_.size() >= kMostNodes) known_.clear();
  known_[node] = entry;
  return entry.labels;
}

}  // namespace podcache::control
