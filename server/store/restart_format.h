// What <file>.meta says about the items in a memory file (docs/designs/0006-warm-restart.md).
//
//   StateHeader | SegmentEntry each, oldest first in its line | PartitionEntry each | BucketEntry
//   each, in the order of the partitions
//
// All in the byte order and with the sizes of the machine; a file of another kind of machine is not
// read. Whoever changes anything here, the layout of records (item.h) or the meaning of a slot
// (index.h) raises kStateVersion.
#pragma once

#include <cstdint>

#include "server/store/index.h"

namespace podcache::store {

inline constexpr char kStateMagic[17] = "podcache state\n\0";
inline constexpr std::uint32_t kStateVersion = 4;
inline constexpr std::uint32_t kByteOrder = 0x01020304;

struct StateHeader {
  // These stay where they are in every version.
  char magic[16];
  std::uint32_t version;
  std::uint32_t byte_order;

  std::uint64_t header_checksum;  // Of the header with a 0 here.
  std::uint64_t body_checksum;    // Of all that follows.
  std::uint64_t body_bytes;

  char machine[16];
  std::uint64_t page_bytes;
  std::uint64_t segment_bytes;
  std::uint64_t partitions;
  std::uint64_t hash_seed;
  std::uint64_t hash_probe;  // What some keys hash to.

  std::uint64_t label;       // Of the memory file.
  std::uint64_t file_bytes;  // Its size.
  std::int64_t saved_unix_seconds;

  std::uint32_t segments;
  std::uint32_t used_id_limit;  // Of segments.
  std::uint32_t opened[2];      // Segments at the head of each line, so far.
  std::uint32_t flush_epoch;
  std::uint32_t flush_sweep_pending;
  std::uint64_t next_position;
  std::int64_t flush_due;
  std::uint64_t items;
  std::uint64_t index_bytes;
};
static_assert(sizeof(StateHeader) == 184);

struct SegmentEntry {
  std::uint32_t id;
  std::uint32_t dead;
  std::uint32_t padding;
  std::uint32_t earliest_exptime;
  std::uint32_t flush_epoch;
  std::uint32_t opened;
  std::uint64_t first_position;
  std::uint64_t checksum;  // Of all bytes of the segment.
  std::uint32_t line;
  std::uint32_t holds_large;  // 0 or 1.
};
static_assert(sizeof(SegmentEntry) == 48);

struct PartitionEntry {
  std::uint64_t items;
  std::uint64_t item_bytes;
  std::uint64_t main_items;
  std::uint64_t main_item_bytes;
  std::uint32_t buckets;
  std::uint32_t unused;
};
static_assert(sizeof(PartitionEntry) == 40);

struct BucketEntry {
  std::uint32_t passed;
  std::uint32_t ghosts;
  std::uint64_t slots[Bucket::kSlots];
};
static_assert(sizeof(BucketEntry) == sizeof(Bucket));

}  // namespace podcache::store
