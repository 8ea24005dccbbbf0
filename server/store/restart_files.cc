#include "server/store/restart_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "server/memory/pages.h"
#include "server/memory/poison.h"

namespace podcache::store {
namespace {

constexpr unsigned kMaxSummers = 8;
constexpr std::size_t kReadBytes = std::size_t{256} << 10;

#if defined(__x86_64__)
constexpr char kMachine[16] = "x86_64";
#elif defined(__aarch64__)
constexpr char kMachine[16] = "aarch64";
#else
constexpr char kMachine[16] = "other";
#endif

std::uint64_t RandomLabel() {
  std::random_device device;
  // 0 is the label of a new file.
  return ((std::uint64_t{device()} << 32) | device()) | 1;
}

// Runs work(i) for all i below `count`, on as many threads as can be had. work must not throw.
template <class Work>
void ForAll(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  std::vector<std::thread> helpers;
  try {
    const unsigned wanted = std::min(std::thread::hardware_concurrency(), kMaxSummers);
    for (unsigned i = 1; i < wanted; ++i) helpers.emplace_back(run);
  } catch (const std::system_error&) {
    // Then with fewer.
  }
  run();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace

std::unique_ptr<RestartFiles> RestartFiles::Open(const std::string& path, std::string& error) {
  std::unique_ptr<RestartFiles> files(new RestartFiles(path, path + ".meta"));
  const std::string new_path = files->meta_path_ + ".new";
  for (const std::string& name : {files->meta_path_, new_path}) {
    std::string reason;
    const StateKind kind = StateReader(name, reason).kind();
    // One that is still to be written may be empty: if we died just then.
    if (kind != StateKind::kForeign && (kind != StateKind::kEmpty || name == new_path)) continue;
    error = name + " " + reason;
    return nullptr;
  }
  files->data_ = memory::MemoryFile::Open(path, error);
  if (files->data_ == nullptr) return nullptr;
  if (!files->NewState().ok()) {
    error = "cannot write " + files->meta_path_ + ".new: " + std::system_category().message(errno);
    return nullptr;
  }
  return files;
}

std::unique_ptr<SavedState> RestartFiles::Load(std::string& reason) {
  auto state = std::make_unique<SavedState>();
  state->reader = std::make_unique<StateReader>(meta_path_, reason);
  if (state->reader->kind() == StateKind::kNone) {
    if (data_->label() != 0) reason = "the server before did not end gracefully";
    return nullptr;
  }
  if (state->reader->kind() != StateKind::kGood) {
    reason = meta_path_ + ": " + reason;
    return nullptr;
  }
  if (!Compare(state->header(), reason) || !ReadEntries(*state, reason)) return nullptr;
  if (!SegmentsAgree(*data_, state->header().segment_bytes, state->segments)) {
    reason = path_ + ": the checksum of a segment is wrong";
    return nullptr;
  }
  return state;
}

// What can be said without reading the items.
bool RestartFiles::Compare(const StateHeader& header, std::string& reason) const {
  StateHeader here{};
  Complete(here);
  if (std::memcmp(header.machine, here.machine, sizeof here.machine) != 0 ||
      header.page_bytes != here.page_bytes) {
    reason = "it was saved on another kind of machine";
  } else if (header.label != here.label) {
    reason = path_ + " has changed since its state was saved";
  } else if (header.file_bytes != here.file_bytes) {
    reason = path_ + " does not have the size it should have";
  }
  return reason.empty();
}

bool RestartFiles::ReadEntries(SavedState& state, std::string& reason) const {
  const StateHeader& header = state.header();
  const std::uint64_t segment = header.segment_bytes;
  std::uint64_t buckets = 0;
  bool sound =
      std::has_single_bit(segment) && segment % memory::PageBytes() == 0 &&
      std::has_single_bit(header.partitions) && header.segments < header.used_id_limit &&
      std::uint64_t{header.used_id_limit} * segment <= header.file_bytes + segment &&
      header.segments * sizeof(SegmentEntry) + header.partitions * sizeof(PartitionEntry) <=
          header.body_bytes;
  std::vector<bool> seen(sound ? header.used_id_limit : 0);
  state.segments.resize(sound ? header.segments : 0);
  for (SegmentEntry& entry : state.segments) {
    sound = sound && state.reader->Next(entry) && entry.id > memory::kNoSegment &&
            entry.id < header.used_id_limit && !seen[entry.id] &&
            std::uint64_t{entry.dead} + entry.padding <= segment;
    if (sound) seen[entry.id] = true;
  }
  state.partitions.resize(sound ? header.partitions : 0);
  for (PartitionEntry& entry : state.partitions) {
    sound = sound && state.reader->Next(entry) && entry.buckets <= BucketArray::kMaxBuckets &&
            entry.buckets % BucketArray::kUnitBuckets == 0;
    buckets += entry.buckets;
  }
  sound = sound && header.body_bytes == state.segments.size() * sizeof(SegmentEntry) +
                                            state.partitions.size() * sizeof(PartitionEntry) +
                                            buckets * sizeof(BucketEntry);
  if (!sound) reason = meta_path_ + ": it contradicts itself";
  return sound;
}

bool RestartFiles::Consume() noexcept {
  // Each alone is enough.
  const bool gone = ::unlink(meta_path_.c_str()) == 0 || errno == ENOENT;
  return data_->SetLabel(RandomLabel()) && gone;
}

bool RestartFiles::Clear() noexcept { return data_->Clear() && Consume(); }

void RestartFiles::Complete(StateHeader& header) const noexcept {
  std::memcpy(header.machine, kMachine, sizeof header.machine);
  header.page_bytes = memory::PageBytes();
  header.label = data_->label();
  header.file_bytes = data_->size_bytes();
}

void SumSegments(const memory::SegmentPool& pool, std::span<SegmentEntry> segments) {
  ForAll(segments.size(), [&](std::size_t i) {
    // What is dead in there counts too.
    memory::Unpoison(pool.Address(segments[i].id), pool.segment_bytes());
    segments[i].checksum = ChecksumOf(pool.Address(segments[i].id), pool.segment_bytes());
  });
}

bool SegmentsAgree(const memory::MemoryFile& file, std::uint64_t segment_bytes,
                   std::span<const SegmentEntry> segments) {
  std::atomic<bool> agree{true};
  const std::size_t step = std::min<std::size_t>(segment_bytes, kReadBytes);
  ForAll(segments.size(), [&](std::size_t i) {
    if (!agree.load(std::memory_order_relaxed)) return;
    // Not through a mapping: a page that is missing is an answer then.
    thread_local const std::unique_ptr<char[]> buffer =
        std::make_unique_for_overwrite<char[]>(kReadBytes);
    XXH3_state_t sum;
    XXH3_64bits_reset(&sum);
    for (std::uint64_t done = 0; done < segment_bytes; done += step) {
      if (!file.Read(segments[i].id * segment_bytes + done, buffer.get(), step)) break;
      XXH3_64bits_update(&sum, buffer.get(), step);
    }
    if (XXH3_64bits_digest(&sum) != segments[i].checksum) agree.store(false);
  });
  return agree.load();
}

}  // namespace podcache::store
