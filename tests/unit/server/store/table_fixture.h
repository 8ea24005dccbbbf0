// The parts of a store without sessions and threads: for tests of log, table and reclaimer.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "server/memory/allocation_gate.h"
#include "server/memory/memory_budget.h"
#include "server/memory/pages.h"
#include "server/memory/segment_pool.h"
#include "server/store/item_table.h"
#include "server/store/key_hasher.h"
#include "server/store/log_writer.h"

namespace podcache::store {

struct TableParts {
  static constexpr std::size_t kSegmentBytes = 64 * 1024;
  static constexpr std::uint32_t kNow = 1'700'000'000;

  explicit TableParts(std::size_t segments)
      : budget(segments * kSegmentBytes + kPartitions * sizeof(Partition)),
        pool(kSegmentBytes, segments * kSegmentBytes, 4 * segments * kSegmentBytes, budget, gate),
        log(pool),
        index(kPartitions, index_budget, gate),
        table(index, log, flush),
        hasher(1),
        writer(log, Stream::kHead) {
    writer.Acquire();
  }

  Moment moment() const { return {kNow, flush.epoch()}; }

  // False without a free segment.
  bool Insert(std::string_view key, std::string_view value, std::uint32_t exptime = 0) {
    ItemFields fields;
    fields.key = key;
    fields.exptime = exptime;
    fields.value_bytes = value.size();
    const std::size_t bytes = RecordBytes(fields);
    Location fresh = writer.TryAllocate(bytes, flush.epoch());
    if (fresh == kNowhere) {
      if (!writer.Refill(bytes, flush.epoch(), Claim::kWrite)) return false;
      fresh = writer.TryAllocate(bytes, flush.epoch());
    }
    Record record(log.At(fresh));
    record.WriteItemHead(fields);
    std::memcpy(record.Value(record.Header()), value.data(), value.size());
    const std::uint64_t hash = hasher.Hash(key);
    Partition& partition = table.PartitionOf(hash);
    SpinLockHolder lock(partition.lock);
    const Found old = table.Find(partition, key, hash, moment());
    return table.Publish(partition, hash, old, fresh);
  }
  // Counts as a use.
  std::optional<std::string> Use(std::string_view key) {
    const std::uint64_t hash = hasher.Hash(key);
    Partition& partition = table.PartitionOf(hash);
    SpinLockHolder lock(partition.lock);
    const Found found = table.Find(partition, key, hash, moment());
    if (!found.live()) return std::nullopt;
    found.slot->Touch();
    Record(found.record).SetHeader(found.header | header::kFetched);
    return std::string(found.record.Value(found.header), found.record.ValueBytes(found.header));
  }
  void Remove(std::string_view key) {
    const std::uint64_t hash = hasher.Hash(key);
    Partition& partition = table.PartitionOf(hash);
    SpinLockHolder lock(partition.lock);
    const Found found = table.Find(partition, key, hash, moment());
    if (!found.missing()) table.Remove(partition, found);
  }
  std::uint64_t items() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < index.partition_count(); ++i)
      sum += index.partition(i).items.Read();
    return sum;
  }

  static constexpr std::size_t kPartitions = 16;
  memory::AllocationGate gate;
  memory::MemoryBudget budget;
  memory::MemoryBudget index_budget{1 << 30};  // Apart, so that a test can count segments.
  memory::SegmentPool pool;
  SegmentLog log;
  Index index;
  FlushState flush;
  ItemTable table;
  KeyHasher hasher;
  LogWriter writer;
};

}  // namespace podcache::store
