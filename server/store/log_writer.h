// One thread's place to append: chunks of an open segment, reserved with one lock per chunk, used
// with none.
//
// Small records share a chunk; a larger one gets a reservation of its own, so that little is lost
// at a chunk's end.
//
// Threads: one owner. Between Acquire and Release the chunks are the owner's; outside of that, the
// log may close them in order to reclaim their segment (CloseIfIdle), so that an idle thread holds
// no segment back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "server/store/lifetime.h"
#include "server/store/segment_log.h"

namespace podcache::store {

class LogWriter {
 public:
  LogWriter(SegmentLog& log, Stream stream);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Before the first allocation after construction or Release. Nothing to do if already acquired.
  void Acquire() noexcept;
  void Release() noexcept;

  // What is allocated, looked at and refilled from now on is for items that live so long.
  void Select(Lifetime lifetime) noexcept {
    lifetime_ = lifetime;
    settled_ = log_.Settled(lifetime);
  }
  // Room for a record of `bytes` (a multiple of the unit) in a segment of exactly this flush epoch,
  // or kNowhere: then Refill, holding no partition lock. Takes no lock itself.
  Location TryAllocate(std::size_t bytes, std::uint32_t epoch) noexcept;
  // What TryAllocate would return.
  Location Peek(std::size_t bytes, std::uint32_t epoch) noexcept;
  // Makes sure that TryAllocate succeeds once, if the epoch has not moved. False without a segment
  // for it.
  bool Refill(std::size_t bytes, std::uint32_t epoch, Claim claim,
              std::uint32_t beside = kNoSegment) noexcept;

  // Called by the log, with its mutex held: no lock is taken inside.
  void CloseIfIdle(std::uint32_t segment) noexcept;

 private:
  enum State : std::uint8_t { kIdle, kOwned, kClosing };
  struct Chunk {
    Reservation reservation;
    std::uint32_t used = 0;
    std::size_t room() const noexcept { return reservation.bytes - used; }
  };

  bool IsSmall(std::size_t bytes) const noexcept { return bytes <= chunk_bytes_ / 8; }
  Chunk& ChunkFor(std::size_t bytes) noexcept {
    return chunks_[settled_ * 2 + (IsSmall(bytes) ? 0 : 1)];
  }
  // Of this epoch, and not so old that what a slow writer stores now would be evicted soon.
  bool IsUsable(const Chunk& chunk, std::uint32_t epoch) const noexcept;
  void Close(Chunk& chunk) noexcept;

  SegmentLog& log_;
  const Stream stream_;
  const std::size_t chunk_bytes_;
  std::atomic<std::uint8_t> state_{kIdle};
  bool acquired_ = false;  // The owner's own view of `state_`.
  Lifetime lifetime_ = kForever;
  Lifetime settled_ = kForever;   // Whose chunks these records go to.
  Chunk chunks_[2 * kLifetimes];  // Of each: for small records; for one large record.
};

}  // namespace podcache::store
