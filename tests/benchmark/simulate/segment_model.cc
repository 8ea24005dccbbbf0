#include "tests/benchmark/simulate/segment_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <unordered_map>
#include <utility>

#include "server/store/shift_detector.h"
#include "tests/benchmark/simulate/ghost_model.h"
#include "tests/benchmark/simulate/model_item.h"

namespace podcache::bench {
namespace {

using store::ShiftDetector;

// As the store's: server/store/store_impl.cc, segment_log.cc, reclaimer.cc, reclaimer_shift.cc.
constexpr std::uint64_t kSegmentsPerLimit = 256;
constexpr std::uint64_t kMinSegmentBytes = std::uint64_t{16} << 10;
constexpr std::uint64_t kMaxSmallSegmentBytes = std::uint64_t{256} << 10;
constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{2} << 20;
constexpr std::uint64_t kSmallBudgetBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kFreeDivisor = 64;
constexpr std::uint64_t kMinFree = 3;
constexpr std::uint64_t kCandidateDivisor = 4;
constexpr std::uint64_t kCreditDivisor = 16;
constexpr std::uint64_t kMinInPlacePercent = 88;
constexpr unsigned kMaxUses = 3;
constexpr std::size_t kYoungDivisor = 4;
constexpr std::size_t kMinMainDivisor = 4;
constexpr std::size_t kForgetDivisor = 16;
constexpr std::size_t kDelayDivisor = 32;
constexpr double kMaxKeptShare = 0.03;
constexpr double kKeptWeight = 1.0 / 3;
// Requests between looks at what is held.
constexpr std::uint64_t kLookPeriod = 100'000;

enum Queue : unsigned { kSmall, kMain, kQueues };

struct Held {
  std::uint32_t segment = 0;
  std::uint32_t at = 0;  // Which record of the segment.
  std::uint32_t bytes = 0;
  unsigned uses = 0;
  bool fetched = false;
  double expires = 0;
};

struct ModelRecord {
  std::uint64_t key = 0;
  std::uint32_t bytes = 0;
};

struct ModelSegment {
  std::vector<ModelRecord> records;
  std::uint64_t tail = 0;
  std::uint64_t live = 0;
  double earliest_expiry = 0;
  Queue queue = kSmall;
  std::uint64_t opened = 0;  // How many had been by then, of both queues.
  bool sealed = false;
  bool forgotten = false;  // The uses of its items.
  bool candidate = false;
};

std::uint64_t SegmentBytes(const ModelPlan& plan) {
  if (plan.segment_bytes != 0) return plan.segment_bytes;
  const std::uint64_t most =
      plan.capacity_bytes < kSmallBudgetBytes ? kMaxSmallSegmentBytes : kMaxSegmentBytes;
  return std::clamp(std::bit_floor(plan.capacity_bytes / kSegmentsPerLimit), kMinSegmentBytes,
                    most);
}

class SegmentModel final : public CacheModel {
 public:
  explicit SegmentModel(const ModelPlan& plan)
      : plan_(plan),
        segment_bytes_(SegmentBytes(plan)),
        segments_(plan.capacity_bytes / segment_bytes_ + 1),
        ghosts_(plan.ghost_bits, plan.ghost_ways) {
    for (std::uint32_t id = 1; id < segments_.size(); ++id) free_.push_back(id);
  }

  ModelFigures figures() const override {
    ModelFigures figures = figures_;
    figures.items = held_.size();
    if (looks_ > 0) {
      figures.dead_share = dead_shares_ / static_cast<double>(looks_);
      figures.expired_share = expired_shares_ / static_cast<double>(looks_);
    }
    return figures;
  }

 private:
  // New items; promoted and kept ones; compaction of either queue. Each has a segment open for
  // every class of times to live.
  enum Stream : unsigned { kNew, kKept, kCompactSmall, kCompactMain, kStreams };

  bool has_main() const { return plan_.small_share > 0; }

  bool Use(const TraceRequest& request) override {
    Advance(request.seconds);
    const auto at = held_.find(request.key);
    if (at == held_.end()) return false;
    if (at->second.expires <= now_) {
      Remove(request.key);
      return false;
    }
    at->second.uses = std::min(at->second.uses + 1, kMaxUses);
    at->second.fetched = true;
    return true;
  }

  void Store(const TraceRequest& request) override {
    Advance(request.seconds);
    const std::uint32_t bytes = RecordBytes(plan_, request);
    if (bytes > segment_bytes_) return;
    figures_.set_bytes += bytes;
    const auto old = held_.find(request.key);
    Held fresh;
    if (old != held_.end()) {
      Held& held = old->second;
      held.expires = ExpiryOf(request);
      NoteExpiry(held);
      if (bytes <= held.bytes && bytes * 100 >= held.bytes * kMinInPlacePercent) return;
      fresh.uses = held.uses;
      MarkDead(held);
    } else if (ghosts_.Take(request.key)) {
      ++figures_.ghost_hits;
      fresh.uses = plan_.ghost_uses;
      if (plan_.ghosts_to_main) {
        fresh.uses = 0;
        Append(kKept, request.key, bytes, ExpiryOf(request), fresh);
        held_[request.key] = fresh;
        MakeRoom();
        return;
      }
    }
    Append(kNew, request.key, bytes, ExpiryOf(request), fresh);
    held_[request.key] = fresh;
    ghosts_.Fit(held_.size());
    MakeRoom();
  }

  void Remove(std::uint64_t key) override {
    const auto at = held_.find(key);
    if (at == held_.end()) return;
    MarkDead(at->second);
    held_.erase(at);
  }

  void Advance(double seconds) {
    now_ = seconds;
    if (plan_.sweep_seconds > 0 && now_ >= next_sweep_) {
      Sweep();
      next_sweep_ = now_ + plan_.sweep_seconds;
    }
    if (++requests_ % kLookPeriod == 0 && figures_.evicted_items > 0) Look();
  }

  void NoteExpiry(const Held& held) {
    double& earliest = segments_[held.segment].earliest_expiry;
    earliest = std::min(earliest, held.expires);
  }

  void MarkDead(const Held& held) {
    ModelSegment& segment = segments_[held.segment];
    segment.live -= held.bytes;
    NoteDead(held.segment);
  }
  void NoteDead(std::uint32_t id) {
    ModelSegment& segment = segments_[id];
    if (!segment.sealed || segment.candidate ||
        segment.live > segment_bytes_ - segment_bytes_ / kCandidateDivisor)
      return;
    segment.candidate = true;
    candidates_.push_back(id);
  }

  // `beside`: whose place in the line a new segment takes.
  void Append(Stream stream, std::uint64_t key, std::uint32_t bytes, double expires, Held& held,
              std::uint32_t beside = 0) {
    std::uint32_t& open = open_[stream][ClassOf(expires - now_)];
    if (open != 0 && segments_[open].tail + bytes > segment_bytes_) Seal(open);
    if (open == 0) open = Open(stream, beside);
    ModelSegment& segment = segments_[open];
    held.segment = open;
    held.at = static_cast<std::uint32_t>(segment.records.size());
    held.bytes = bytes;
    held.expires = expires;
    segment.records.push_back({key, bytes});
    segment.tail += bytes;
    segment.live += bytes;
    segment.earliest_expiry = std::min(segment.earliest_expiry, expires);
  }
  // 0: never expires. Then each class lives four times as long as the one before, from 16 seconds.
  std::size_t ClassOf(double seconds) const {
    if (plan_.ttl_classes == 0 || std::isinf(seconds)) return 0;
    const double step = std::floor(std::log2(std::max(seconds, 1.0)) / 2) - 1;
    return static_cast<std::size_t>(std::clamp(step, 1.0, static_cast<double>(plan_.ttl_classes)));
  }
  void Seal(std::uint32_t& open) {
    const std::uint32_t id = std::exchange(open, 0);
    segments_[id].sealed = true;
    NoteDead(id);
    if (&open == &open_[kNew][0] && has_main() && plan_.watch_shifts) WatchPopularity(id);
  }

  std::size_t InQueues() const { return lines_[kSmall].size() + lines_[kMain].size(); }
  // `fresh`: has just been filled.
  void WatchPopularity(std::uint32_t fresh) {
    ++filled_;
    young_.push_front(fresh);
    const auto age = static_cast<std::size_t>(plan_.small_share * static_cast<double>(InQueues()) /
                                              kYoungDivisor);
    while (young_.size() > std::max<std::size_t>(age, 1) + 1) young_.pop_back();
    if (young_.size() <= age) return;
    std::uint32_t items = 0;
    std::uint32_t used = 0;
    ForEachLive(young_.back(), [&](const ModelRecord&, const Held& held) {
      ++items;
      used += held.fetched ? 1 : 0;
    });
    const bool shift = detector_.Add(items, used, static_cast<std::uint32_t>(InQueues()));
    if (!shift || draining_ || lines_[kMain].size() <= InQueues() / kMinMainDivisor) return;
    ++figures_.shifts;
    draining_ = true;
    drain_until_ = opened_;
    drain_from_filled_ = filled_ + InQueues() / kDelayDivisor;
    drained_kept_ = 0;
  }
  void EndDrain(bool refuted) {
    draining_ = false;
    for (const std::uint32_t id : lines_[kMain]) segments_[id].forgotten = false;
    refuted ? detector_.Refute() : detector_.Confirm();
  }
  // False: not now, or not any more.
  bool DrainOne() {
    if (!draining_) return false;
    ForgetUses();
    if (filled_ <= drain_from_filled_) return false;
    const std::uint32_t id = Oldest(kMain);
    if (id != 0 && segments_[id].opened <= drain_until_) {
      Empty(id);
      return true;
    }
    EndDrain(false);
    return false;
  }
  void ForgetUses() {
    std::size_t seen = 0;
    for (const std::uint32_t id : lines_[kMain]) {
      ModelSegment& segment = segments_[id];
      if (!segment.sealed) continue;
      if (segment.opened > drain_until_ || seen++ == InQueues() / kForgetDivisor) return;
      if (std::exchange(segment.forgotten, true)) continue;
      for (std::uint32_t i = 0; i < segment.records.size(); ++i) {
        Held* const held = Living(segment.records[i].key, id, i);
        if (held != nullptr) held->uses = 0;
      }
    }
  }
  void NoteDrained(std::uint64_t live, std::uint64_t kept) {
    if (live == 0) return;
    const double share = static_cast<double>(kept) / static_cast<double>(live);
    drained_kept_ += (share - drained_kept_) * kKeptWeight;
    if (drained_kept_ > kMaxKeptShare) EndDrain(true);
  }
  std::uint32_t Open(Stream stream, std::uint32_t beside) {
    const std::uint32_t id = free_.back();
    free_.pop_back();
    ModelSegment& segment = segments_[id];
    segment = {};
    segment.earliest_expiry = std::numeric_limits<double>::infinity();
    segment.opened = beside == 0 ? ++opened_ : segments_[beside].opened;
    const bool main = stream == kKept || stream == kCompactMain;
    segment.queue = main && has_main() ? kMain : kSmall;
    std::deque<std::uint32_t>& line = lines_[segment.queue];
    line.insert(beside == 0 ? line.end() : std::find(line.begin(), line.end(), beside), id);
    return id;
  }

  // Segments that the budget leaves beside the index.
  std::uint64_t Allowed() const {
    const std::uint64_t index = held_.size() * plan_.index_bytes;
    return (plan_.capacity_bytes - std::min(index, plan_.capacity_bytes / 2)) / segment_bytes_;
  }
  void MakeRoom() {
    for (;;) {
      const std::uint64_t allowed = Allowed();
      const std::uint64_t used = lines_[kSmall].size() + lines_[kMain].size();
      if (used + std::max(allowed / kFreeDivisor, kMinFree) <= allowed) return;
      ReclaimOne();
    }
  }

  void ReclaimOne() {
    while (!candidates_.empty()) {
      const std::uint32_t id = candidates_.front();
      candidates_.pop_front();
      if (!segments_[id].candidate) continue;
      Compact(id);
      return;
    }
    if (DrainOne()) return;
    const std::uint32_t small = Oldest(kSmall);
    const auto share =
        plan_.small_share * static_cast<double>(lines_[kSmall].size() + lines_[kMain].size());
    const bool large = static_cast<double>(lines_[kSmall].size()) > share;
    if (small != 0 && (!has_main() || Oldest(kMain) == 0 || large)) {
      Empty(small);
    } else {
      Empty(Coldest());
    }
  }
  std::uint32_t Oldest(Queue queue) const {
    for (const std::uint32_t id : lines_[queue]) {
      if (segments_[id].sealed) return id;
    }
    return 0;
  }
  std::uint32_t Coldest() const {
    std::uint32_t best = 0;
    std::uint64_t least = ~std::uint64_t{0};
    unsigned seen = 0;
    for (const std::uint32_t id : lines_[kMain]) {
      if (!segments_[id].sealed) continue;
      if (plan_.window == 1) return id;
      std::uint64_t hot = 0;
      ForEachLive(id, [&](const ModelRecord&, const Held& held) {
        if (held.uses > 0) hot += held.bytes;
      });
      if (hot < least) {
        least = hot;
        best = id;
      }
      if (++seen == plan_.window) break;
    }
    return best;
  }

  template <class Visit>
  void ForEachLive(std::uint32_t id, Visit&& visit) const {
    const ModelSegment& segment = segments_[id];
    for (std::uint32_t i = 0; i < segment.records.size(); ++i) {
      const auto at = held_.find(segment.records[i].key);
      if (at != held_.end() && at->second.segment == id && at->second.at == i)
        visit(segment.records[i], at->second);
    }
  }

  void Compact(std::uint32_t id) {
    const Stream stream = segments_[id].queue == kSmall ? kCompactSmall : kCompactMain;
    const std::vector<ModelRecord> records = Detach(id);
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      Held* const held = Living(records[i].key, id, i);
      if (held == nullptr || RemovedAsExpired(records[i].key, *held)) continue;
      Append(stream, records[i].key, held->bytes, held->expires, *held, id);
      figures_.copied_bytes += held->bytes;
    }
    Release(id);
  }

  void Empty(std::uint32_t id) {
    const Queue queue = segments_[id].queue;
    const bool draining = draining_ && queue == kMain && segments_[id].opened <= drain_until_;
    const std::uint64_t live = segments_[id].live;
    const std::uint64_t share = live * plan_.kept_percent / 100;
    const std::vector<ModelRecord> records = Detach(id);
    std::uint64_t kept = 0;
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      Held* const held = Living(records[i].key, id, i);
      if (held == nullptr || RemovedAsExpired(records[i].key, *held)) continue;
      const unsigned needed = queue == kSmall && has_main() ? plan_.promote_uses : 1;
      if (held->uses < needed || kept + held->bytes > share + credit_) {
        if (queue == kSmall || draining) ghosts_.Add(records[i].key);
        held_.erase(records[i].key);
        ++figures_.evicted_items;
        continue;
      }
      kept += held->bytes;
      figures_.promoted_items += queue == kSmall ? 1 : 0;
      held->uses = UsesAfter(queue, held->uses);
      Append(has_main() ? kKept : kNew, records[i].key, held->bytes, held->expires, *held);
    }
    figures_.copied_bytes += kept;
    if (draining) NoteDrained(live, kept);
    const std::uint64_t most = plan_.capacity_bytes / kCreditDivisor;
    credit_ = std::min(most, share + credit_ - kept);
    Release(id);
  }
  unsigned UsesAfter(Queue queue, unsigned uses) const {
    if (plan_.reset || (queue == kSmall && has_main())) return 0;
    return uses - 1;
  }

  std::vector<ModelRecord> Detach(std::uint32_t id) {
    segments_[id].sealed = false;
    segments_[id].candidate = false;
    return std::move(segments_[id].records);
  }
  void Release(std::uint32_t id) {
    std::deque<std::uint32_t>& line = lines_[segments_[id].queue];
    line.erase(std::find(line.begin(), line.end(), id));
    free_.push_back(id);
  }
  Held* Living(std::uint64_t key, std::uint32_t id, std::uint32_t at) {
    const auto found = held_.find(key);
    if (found == held_.end() || found->second.segment != id || found->second.at != at)
      return nullptr;
    return &found->second;
  }
  bool RemovedAsExpired(std::uint64_t key, const Held& held) {
    if (held.expires > now_) return false;
    held_.erase(key);
    return true;
  }

  void Sweep() {
    for (std::uint32_t id = 1; id < segments_.size(); ++id) {
      if (!segments_[id].sealed || segments_[id].earliest_expiry > now_) continue;
      std::vector<std::uint64_t> expired;
      double earliest = std::numeric_limits<double>::infinity();
      ForEachLive(id, [&](const ModelRecord& record, const Held& held) {
        if (held.expires <= now_) {
          expired.push_back(record.key);
        } else {
          earliest = std::min(earliest, held.expires);
        }
      });
      segments_[id].earliest_expiry = earliest;
      for (const std::uint64_t key : expired) Remove(key);
    }
  }

  void Look() {
    std::uint64_t live = 0;
    std::uint64_t expired = 0;
    for (const auto& [key, held] : held_) {
      live += held.bytes;
      if (held.expires <= now_) expired += held.bytes;
    }
    const auto used =
        static_cast<double>((lines_[kSmall].size() + lines_[kMain].size()) * segment_bytes_);
    dead_shares_ += 1 - static_cast<double>(live) / used;
    expired_shares_ += static_cast<double>(expired) / used;
    ++looks_;
  }

  const ModelPlan plan_;
  const std::uint64_t segment_bytes_;
  std::vector<ModelSegment> segments_;  // 0 is none.
  std::vector<std::uint32_t> free_;
  std::deque<std::uint32_t> lines_[kQueues];  // Oldest first.
  std::deque<std::uint32_t> candidates_;
  std::uint32_t open_[kStreams][kMaxTtlClasses + 1] = {};
  std::unordered_map<std::uint64_t, Held> held_;
  GhostModel ghosts_;
  std::deque<std::uint32_t> young_;  // Newest first, those filled lately.
  ShiftDetector detector_;
  bool draining_ = false;
  std::uint64_t opened_ = 0;
  std::uint64_t filled_ = 0;
  std::uint64_t drain_until_ = 0;        // Of main.
  std::uint64_t drain_from_filled_ = 0;  // Not before.
  double drained_kept_ = 0;              // Of what was drained lately.
  std::uint64_t credit_ = 0;
  double now_ = 0;
  double next_sweep_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t looks_ = 0;
  double dead_shares_ = 0;
  double expired_shares_ = 0;
  ModelFigures figures_;
};

}  // namespace

std::unique_ptr<CacheModel> NewSegmentModel(const ModelPlan& plan) {
  return std::make_unique<SegmentModel>(plan);
}

}  // namespace podcache::bench
