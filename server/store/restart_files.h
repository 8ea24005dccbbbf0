// The two files of a warm restart: FILE with the items, FILE.meta with all else that is needed to
// find them again. The second is there only between a graceful stop and the next start.
//
// Threads: one. Ownership: outlives the pool whose memory the file is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/memory/memory_file.h"
#include "server/memory/segment_pool.h"
#include "server/store/state_file.h"

namespace podcache::store {

// What was found, all of it checked against itself and against the memory file.
struct SavedState {
  std::unique_ptr<StateReader> reader;  // At the first bucket.
  std::vector<SegmentEntry> segments;
  std::vector<PartitionEntry> partitions;

  const StateHeader& header() const noexcept { return reader->header(); }
};

class RestartFiles {
 public:
  // nullptr with one line of reason if anything there might be somebody else's, or cannot be used.
  // Nothing has been changed then.
  static std::unique_ptr<RestartFiles> Open(const std::string& path, std::string& error);

  memory::MemoryFile& data() noexcept { return *data_; }
  // nullptr if there is nothing to restore; `reason` says why if there should be.
  std::unique_ptr<SavedState> Load(std::string& reason);
  // From now on the contents change: what was saved no longer counts. False if the system refuses.
  bool Consume() noexcept;
  // The same, and nothing is left.
  bool Clear() noexcept;
  // Saves; `header` gets what the files know themselves. The body is written by `write`.
  StateWriter NewState() const { return StateWriter(meta_path_); }
  void Complete(StateHeader& header) const noexcept;

 private:
  RestartFiles(std::string path, std::string meta_path) noexcept
      : path_(std::move(path)), meta_path_(std::move(meta_path)) {}
  bool Compare(const StateHeader& header, std::string& reason) const;
  bool ReadEntries(SavedState& state, std::string& reason) const;

  const std::string path_;
  const std::string meta_path_;
  std::unique_ptr<memory::MemoryFile> data_;
};

// Fills in the checksums. On all processors.
void SumSegments(const memory::SegmentPool& pool, std::span<SegmentEntry> segments);
// Whether the file holds what was summed up.
bool SegmentsAgree(const memory::MemoryFile& file, std::uint64_t segment_bytes,
                   std::span<const SegmentEntry> segments);

}  // namespace podcache::store
