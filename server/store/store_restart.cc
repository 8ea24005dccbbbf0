// How a store begins with what another process left behind, and how it leaves it.
//
// Threads: one; nobody else uses the store yet, or any more.
#include <algorithm>
#include <chrono>
#include <utility>

#include "server/store/store_impl.h"

namespace podcache::store {
namespace {

// What a cache hashes a short and a long key to: another function would not find its items.
std::uint64_t HashProbe(const KeyHasher& hasher) {
  return hasher.Hash("podcache") ^ hasher.Hash("a key that is longer than those that are short");
}

// Why the items cannot be used with these options; empty if they can.
std::string Mismatch(const SavedState& state, const StoreOptions& options, const Clock& clock) {
  const StateHeader& header = state.header();
  const StoreLayout layout = StoreLayout::Of(header.segment_bytes, header.partitions);
  const std::uint64_t used = header.segments * header.segment_bytes + header.index_bytes;
  if (header.hash_probe != HashProbe(KeyHasher(header.hash_seed))) {
    return "keys are hashed in another way";
  }
  if (options.hash_seed != 0 && options.hash_seed != header.hash_seed) {
    return "another seed of the hash is wanted";
  }
  if (clock.WallSeconds() < header.saved_unix_seconds) return "the clock has been set back";
  if (options.memory_limit_bytes < layout.MinLimitBytes()) {
    return "the memory limit is too small for segments of " + std::to_string(header.segment_bytes) +
           " bytes";
  }
  if (!options.evictions && used > options.memory_limit_bytes) {
    return "the items do not fit the memory limit, and none may be evicted";
  }
  return "";
}

// What will be noticed late otherwise.
void CheckPlace(memory::MemoryFile& file, std::uint64_t held_bytes, const StoreOptions& options,
                std::vector<std::string>& notes) {
  if (!file.in_memory()) {
    notes.push_back(options.memory_file + " is not on a tmpfs: all items are written to a disk");
  }
  const std::uint64_t room = file.free_bytes() + held_bytes;
  if (room < options.memory_limit_bytes) {
    notes.push_back("the file system of " + options.memory_file + " has room for " +
                    std::to_string(room) + " bytes, less than the memory limit of " +
                    std::to_string(options.memory_limit_bytes));
  }
}

// From whatever the slot was when it was saved.
bool IsSound(Slot::Word word, const SegmentLog& log, std::uint32_t used_id_limit) {
  const std::uint32_t segment = log.SegmentOf(Slot::LocationOf(word));
  return segment != kNoSegment && segment < used_id_limit;
}

}  // namespace

std::unique_ptr<StoreImpl> StoreImpl::Make(const StoreOptions& options, const Clock& clock) {
  const StoreLayout layout = StoreLayout::For(options.memory_limit_bytes, options.large_pages);
  std::unique_ptr<RestartFiles> files;
  RestartReport report;
  if (!options.memory_file.empty()) {
    const auto start = clock.MonotonicNow();
    std::string error;
    files = RestartFiles::Open(options.memory_file, error);
    if (files == nullptr) throw UnusableMemoryFile(error);
    std::unique_ptr<SavedState> state = files->Load(report.cold_reason);
    if (state != nullptr) report.cold_reason = Mismatch(*state, options, clock);
    if (state != nullptr && report.cold_reason.empty()) {
      const StateHeader& header = state->header();
      std::unique_ptr<StoreImpl> warm(
          new StoreImpl(options, clock, StoreLayout::Of(header.segment_bytes, header.partitions),
                        header.hash_seed, std::move(files)));
      if (warm->Restore(*state)) {
        warm->EvictToLimit();
        report.warm = true;
        CheckPlace(warm->files_->data(), warm->budget_.segment_bytes(), options, report.notes);
        report.items = warm->stats().items;
        report.seconds = std::chrono::duration<double>(clock.MonotonicNow() - start).count();
        warm->restart_report_ = std::move(report);
        warm->StartMaintenance();
        return warm;
      }
      report.cold_reason = "there is no memory to restore it, or it contradicts itself";
      files = std::move(warm->files_);
    }
    if (!files->Clear()) throw UnusableMemoryFile("cannot write " + options.memory_file);
    CheckPlace(files->data(), 0, options, report.notes);
  }
  std::unique_ptr<StoreImpl> empty(
      new StoreImpl(options, clock, layout, options.hash_seed, std::move(files)));
  empty->restart_report_ = std::move(report);
  empty->StartMaintenance();
  return empty;
}

bool StoreImpl::Restore(SavedState& state) {
  const StateHeader& header = state.header();
  std::vector<std::uint32_t> taken;
  taken.reserve(state.segments.size());
  for (const SegmentEntry& entry : state.segments) taken.push_back(entry.id);
  if (!pool_.Adopt(header.used_id_limit, taken) || !RestoreIndex(state)) return false;
  log_.Restore({header.next_position, {header.opened[0], header.opened[1]}}, state.segments);
  flush_.Restore({header.flush_epoch, header.flush_due, header.flush_sweep_pending != 0});
  return files_->Consume();
}

bool StoreImpl::RestoreIndex(SavedState& state) {
  const std::uint32_t used_id_limit = state.header().used_id_limit;
  for (std::size_t i = 0; i < state.partitions.size(); ++i) {
    const PartitionEntry& entry = state.partitions[i];
    Partition& partition = index_.partition(i);
    partition.items.Add(entry.items);
    partition.item_bytes.Add(entry.item_bytes);
    partition.main_items.Add(entry.main_items);
    partition.main_item_bytes.Add(entry.main_item_bytes);
    if (entry.buckets == 0) continue;
    Bucket* const buckets = index_.Adopt(partition, entry.buckets);
    if (buckets == nullptr) return false;
    std::uint64_t items = 0;
    for (std::uint32_t b = 0; b < entry.buckets; ++b) {
      BucketEntry saved;
      if (!state.reader->Next(saved)) return false;
      buckets[b].AddPassed(saved.passed);
      buckets[b].ghosts = Ghosts(saved.ghosts);
      partition.ghosts.Add(buckets[b].ghosts.count());
      for (unsigned s = 0; s < Bucket::kSlots; ++s) {
        if (saved.slots[s] == Slot::kEmpty) continue;
        if (!IsSound(saved.slots[s], log_, used_id_limit)) return false;
        buckets[b].slots[s].Store(saved.slots[s]);
        ++items;
      }
    }
    if (items != entry.items) return false;
  }
  return true;
}

// The limit may be lower than what is there: then as in a shrink of a running cache, from that
// size.
void StoreImpl::EvictToLimit() {
  if (budget_.headroom_bytes() >= 0) return;
  const std::uint64_t limit = budget_.limit_bytes();
  // Moving used items out of the way takes a few free segments.
  const std::uint64_t before = budget_.used_bytes() + kMinFree * layout_.segment_bytes;
  budget_.SetLimit(before);
  budget_.SetTarget(before);
  CommitSpare(kMinFree);
  budget_.SetTarget(limit);
  while (budget_.headroom_bytes() < 0 && MaintainOnce()) {
  }
  LowerLimit();
}

bool StoreImpl::Save(std::string& error) {
  StopMaintenance();
  if (files_ == nullptr) return true;
  index_eviction_.Abandon();
  if (!log_.Settle()) {
    error = "an item is still being read or written";
    return false;
  }
  while (pool_.DecommitOne()) {
  }
  if (SaveState()) return true;
  error = "cannot write " + options_.memory_file + ".meta";
  return false;
}

bool StoreImpl::SaveState() {
  StateHeader header{};
  files_->Complete(header);
  header.segment_bytes = layout_.segment_bytes;
  header.partitions = layout_.partitions;
  header.hash_seed = hasher_.seed();
  header.hash_probe = HashProbe(hasher_);
  header.saved_unix_seconds = clock_.WallSeconds();
  header.used_id_limit = pool_.used_id_limit();
  header.index_bytes = budget_.index_bytes();
  const FlushState::Saved flush = flush_.Save();
  header.flush_epoch = flush.epoch;
  header.flush_due = flush.due_seconds;
  header.flush_sweep_pending = flush.sweep_pending ? 1 : 0;
  std::vector<SegmentEntry> segments;
  const SegmentLog::Place place = log_.Save(segments);
  header.segments = static_cast<std::uint32_t>(segments.size());
  header.next_position = place.next_position;
  std::copy(place.opened.begin(), place.opened.end(), header.opened);
  SumSegments(pool_, segments);
  if (!files_->data().Sync()) return false;

  StateWriter writer = files_->NewState();
  for (const SegmentEntry& entry : segments) writer.Append(entry);
  for (std::size_t i = 0; i < index_.partition_count(); ++i) {
    const Partition& partition = index_.partition(i);
    header.items += partition.items.Read();
    writer.Append(PartitionEntry{partition.items.Read(), partition.item_bytes.Read(),
                                 partition.main_items.Read(), partition.main_item_bytes.Read(),
                                 partition.array().count(), 0});
  }
  for (std::size_t i = 0; i < index_.partition_count(); ++i) {
    Partition& partition = index_.partition(i);
    const BucketArray array = partition.array();
    for (std::uint32_t b = 0; b < array.count(); ++b) {
      BucketEntry entry{array[b].passed.load(), array[b].ghosts.word(), {}};
      for (unsigned s = 0; s < Bucket::kSlots; ++s) entry.slots[s] = array[b].slots[s].word();
      writer.Append(entry);
    }
    // What is written takes memory in the file: so no more of it is used on the whole.
    index_.Drop(partition);
  }
  return writer.Publish(header);
}

}  // namespace podcache::store
