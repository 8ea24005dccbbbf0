// When other items become popular at a stroke, what main holds is worth nothing, but most of it has
// uses left and would go round until they are counted down, while what is new has only the small
// line. So main is drained: its segments go before those of small, oldest first, and of what they
// hold only what was used since is kept. If that is a lot, main is popular still, and the drain
// ends.
#include <algorithm>

#include "server/store/reclaimer.h"

namespace podcache::store {
namespace {

// A segment is looked at when this part of the small line has been opened after it.
constexpr std::uint32_t kYoungDivisor = 4;
constexpr std::uint32_t kMaxLooks = 1000;  // Records of it.
// Main is drained only if it is at least this part of all.
constexpr std::uint32_t kMinMainDivisor = 4;
// Uses are forgotten in so many segments ahead of the one that is drained next, and the first is
// drained when so many new ones were opened since: time to be used again.
constexpr std::uint32_t kForgetDivisor = 16;
constexpr std::uint32_t kDelayDivisor = 32;
// Segments in which uses are forgotten for one that is emptied: so many that the drain does not
// catch up, and few enough for a writer who has to wait for this.
constexpr int kForgottenAtOnce = 2;
// Kept of what was drained lately, at most.
constexpr double kMaxKeptShare = 0.03;
constexpr double kKeptWeight = 1.0 / 3;

}  // namespace

OldestChoice Reclaimer::Choice() const noexcept {
  const SegmentLog& log = table_.log();
  OldestChoice choice;
  choice.small_percent = policy_.small_percent();
  choice.drain = drain_.on && log.opened(Line::kSmall) - drain_.first_opened >
                                  log.sealed_segments() / kDelayDivisor;
  choice.drain_until = drain_.until;
  return choice;
}

void Reclaimer::WatchPopularity(std::uint32_t now) noexcept {
  SegmentLog& log = table_.log();
  const std::uint32_t all = log.sealed_segments();
  const std::uint32_t small = all * policy_.small_percent() / 100;
  const std::uint32_t opened = log.opened(Line::kSmall);
  if (opened != watched_opened_) {
    watched_opened_ = opened;
    const std::uint32_t young = log.FindYoung(std::max(small / kYoungDivisor, 1U) + 1);
    if (young != kNoSegment && LookAtYoung(young, all) && !drain_.on &&
        log.sealed_segments(Line::kMain) > all / kMinMainDivisor) {
      counters_.shifts.fetch_add(1, std::memory_order_relaxed);
      drain_ = {true, log.opened(Line::kMain), opened, 0};
    }
  }
  if (!drain_.on) return;
  const std::uint32_t ahead = std::max(all / kForgetDivisor, 1U);
  for (int i = 0; i < kForgottenAtOnce; ++i) {
    const std::uint32_t id = log.NextToForget(ahead, drain_.until);
    if (id == kNoSegment) return;
    ForgetUses(id, now);
  }
}

bool Reclaimer::LookAtYoung(std::uint32_t id, std::uint32_t all) noexcept {
  const SegmentLog& log = table_.log();
  const std::uint32_t tail = table_.log().segment(id).tail.load(std::memory_order_relaxed);
  std::uint32_t items = 0;
  std::uint32_t used = 0;
  for (std::uint32_t offset = 0; offset < tail && items < kMaxLooks;) {
    const std::uint64_t h = Record(log.At(log.LocationOf(id, offset))).Header();
    if (Record::KindOf(h) == RecordKind::kItem || Record::KindOf(h) == RecordKind::kLarge) {
      ++items;
      used += (h & header::kFetched) != 0 ? 1 : 0;
    }
    offset += static_cast<std::uint32_t>(Record::BytesOf(h));
  }
  return shift_detector_.Add(items, used, all);
}

void Reclaimer::ForgetUses(std::uint32_t id, std::uint32_t now) noexcept {
  SegmentLog& log = table_.log();
  const Moment moment{now, table_.flush().epoch()};
  const std::uint32_t tail = log.segment(id).tail.load(std::memory_order_relaxed);
  std::uint32_t fetched = 0;
  for (std::uint32_t offset = 0; offset < tail;) {
    if (offset == fetched) fetched = FetchAhead(id, offset, tail);
    const Location location = log.LocationOf(id, offset);
    const Record record(log.At(location));
    const std::uint64_t h = record.Header();
    offset += static_cast<std::uint32_t>(Record::BytesOf(h));
    if (Record::KindOf(h) != RecordKind::kItem && Record::KindOf(h) != RecordKind::kLarge) continue;
    const std::uint64_t hash = hasher_.Hash(record.Key(h));
    Partition& partition = table_.PartitionOf(hash);
    SpinLockHolder lock(partition.lock);
    const Found found = table_.FindAt(partition, hash, location, moment);
    if (!found.missing()) found.slot->SetFrequency(0);
  }
}

bool Reclaimer::IsDrained(const Victim& victim) const noexcept {
  const SegmentLog& log = table_.log();
  return log.LineOf(victim.segment) == Line::kMain && log.WasOpenedBy(victim.segment, drain_.until);
}

void Reclaimer::EndDrain(bool refuted) noexcept {
  drain_.on = false;
  if (!refuted) {
    shift_detector_.Confirm();
    return;
  }
  counters_.refuted_shifts.fetch_add(1, std::memory_order_relaxed);
  shift_detector_.Refute();
}

void Reclaimer::NoteDrained(std::size_t kept_bytes, std::size_t live_bytes) noexcept {
  if (live_bytes == 0) return;
  const double share = static_cast<double>(kept_bytes) / static_cast<double>(live_bytes);
  drain_.kept_share += (share - drain_.kept_share) * kKeptWeight;
  if (drain_.kept_share > kMaxKeptShare) EndDrain(true);
}

}  // namespace podcache::store
