#include "server/command/prefix_stats.h"

namespace podcache::command {

namespace {

// A node of the table beside the prefix itself: links, a string, the counts.
constexpr std::size_t kNodeBytes = 128;

}  // namespace

std::vector<PrefixStats::Line> PrefixStats::Lines(const std::string* after, std::size_t max) const {
  std::vector<Line> lines;
  MutexLock lock(mutex_);
  auto next = after == nullptr ? counts_.begin() : counts_.upper_bound(*after);
  for (; next != counts_.end() && lines.size() < max; ++next) {
    lines.push_back({next->first, next->second});
  }
  return lines;
}

void PrefixStats::Clear() {
  MutexLock lock(mutex_);
  counts_.clear();
  store_.ChargeExternal(-charged_bytes_);
  charged_bytes_ = 0;
}

void PrefixStats::Add(std::string_view key, const Counts& counts) {
  const std::size_t end = key.find(delimiter_);
  if (end == std::string_view::npos) return;
  const std::string_view prefix = key.substr(0, end);
  MutexLock lock(mutex_);
  auto found = counts_.find(prefix);
  if (found == counts_.end()) {
    if (counts_.size() >= kMaxPrefixes) return;
    found = counts_.emplace(prefix, Counts()).first;
    const auto bytes = static_cast<std::int64_t>(prefix.size() + kNodeBytes);
    store_.ChargeExternal(bytes);
    charged_bytes_ += bytes;
  }
  found->second.gets += counts.gets;
  found->second.hits += counts.hits;
  found->second.sets += counts.sets;
  found->second.deletes += counts.deletes;
}

}  // namespace podcache::command
