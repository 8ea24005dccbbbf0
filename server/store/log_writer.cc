#include "server/store/log_writer.h"

#include <algorithm>
#include <thread>

#include "common/base/check.h"

namespace podcache::store {
namespace {

constexpr std::size_t kMinChunkBytes = std::size_t{4} * 1024;
constexpr std::size_t kMaxChunkBytes = std::size_t{64} * 1024;

}  // namespace

LogWriter::LogWriter(SegmentLog& log, Stream stream)
    : log_(log),
      stream_(stream),
      chunk_bytes_(std::clamp(log.segment_bytes() / 8, kMinChunkBytes, kMaxChunkBytes)) {
  log_.Register(*this);
}

LogWriter::~LogWriter() {
  Acquire();
  for (Chunk& chunk : chunks_) Close(chunk);
  Release();
  log_.Unregister(*this);
}

void LogWriter::Acquire() noexcept {
  if (acquired_) return;
  std::uint8_t idle = kIdle;
  while (!state_.compare_exchange_weak(idle, kOwned, std::memory_order_acquire)) {
    idle = kIdle;
    std::this_thread::yield();  // The log is closing a chunk: a moment.
  }
  acquired_ = true;
}

void LogWriter::Release() noexcept {
  if (!acquired_) return;
  acquired_ = false;
  state_.store(kIdle, std::memory_order_release);
}

bool LogWriter::IsUsable(const Chunk& chunk, std::uint32_t epoch) const noexcept {
  return chunk.reservation.epoch == epoch &&
         (stream_ != Stream::kHead || !log_.IsLate(chunk.reservation.segment));
}

Location LogWriter::Peek(std::size_t bytes, std::uint32_t epoch) noexcept {
  PODCACHE_DCHECK(acquired_ && bytes % kUnitBytes == 0);
  const Chunk& chunk = ChunkFor(bytes);
  if (chunk.room() < bytes || !IsUsable(chunk, epoch)) return kNowhere;
  return log_.LocationOf(chunk.reservation.segment, chunk.reservation.offset + chunk.used);
}

Location LogWriter::TryAllocate(std::size_t bytes, std::uint32_t epoch) noexcept {
  const Location location = Peek(bytes, epoch);
  if (location != kNowhere) ChunkFor(bytes).used += static_cast<std::uint32_t>(bytes);
  return location;
}

bool LogWriter::Refill(std::size_t bytes, std::uint32_t epoch, Claim claim,
                       std::uint32_t beside) noexcept {
  PODCACHE_DCHECK(acquired_);
  Chunk& chunk = ChunkFor(bytes);
  const bool small = IsSmall(bytes);
  // Of lifetimes a session has several open: the less is reserved ahead.
  const std::size_t chunk_bytes = settled_ == kForever ? chunk_bytes_ : chunk_bytes_ / 2;
  const std::size_t wanted = small ? std::max(chunk_bytes, bytes) : bytes;
  if (chunk.reservation.valid() && IsUsable(chunk, epoch)) {
    if (chunk.room() >= bytes) return true;
    const std::size_t missing = bytes - chunk.room();
    if (log_.Extend(stream_, chunk.reservation, small ? std::max(missing, chunk_bytes) : missing,
                    lifetime_) ||
        (small && log_.Extend(stream_, chunk.reservation, missing, lifetime_))) {
      return true;
    }
  }
  Close(chunk);
  chunk.reservation = log_.Reserve(stream_, bytes, wanted, epoch, claim, beside, lifetime_);
  return chunk.reservation.valid();
}

void LogWriter::CloseIfIdle(std::uint32_t segment) noexcept {
  std::uint8_t idle = kIdle;
  if (!state_.compare_exchange_strong(idle, kClosing, std::memory_order_acquire)) return;
  for (Chunk& chunk : chunks_) {
    if (chunk.reservation.segment == segment) Close(chunk);
  }
  state_.store(kIdle, std::memory_order_release);
}

void LogWriter::Close(Chunk& chunk) noexcept {
  if (chunk.reservation.valid()) log_.CloseReservation(chunk.reservation, chunk.used);
  chunk = Chunk{};
}

}  // namespace podcache::store
