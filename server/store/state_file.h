// <file>.meta as bytes: written beside its final name and put there when complete, read front to
// back and believed only when every checksum agrees.
//
// Threads: one. Knows nothing of what the entries mean.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "server/store/restart_format.h"

namespace podcache::store {

std::uint64_t ChecksumOf(const void* bytes, std::size_t n) noexcept;

// A descriptor that closes itself, with whole reads and writes.
class StateStream {
 public:
  explicit StateStream(int descriptor) noexcept : descriptor_(descriptor) {}
  ~StateStream();
  StateStream(const StateStream&) = delete;
  StateStream& operator=(const StateStream&) = delete;

  bool valid() const noexcept { return descriptor_ >= 0; }
  bool Read(void* out, std::size_t bytes, std::uint64_t offset) const noexcept;
  bool Write(const void* bytes, std::size_t n, std::uint64_t offset) const noexcept;
  bool Sync() const noexcept;
  // Of a regular file; false for everything else.
  bool Size(std::uint64_t& bytes) const noexcept;

 private:
  const int descriptor_;
};

class StateWriter {
 public:
  // Begins `path`.new.
  explicit StateWriter(const std::string& path);
  // Removes what was not published.
  ~StateWriter();

  template <class Entry>
  void Append(const Entry& entry) noexcept {
    static_assert(std::is_trivially_copyable_v<Entry>);
    AppendBytes(&entry, sizeof entry);
  }
  // False once anything has failed.
  bool ok() const noexcept { return !failed_; }
  // Completes the header and gives the file its name. False if anything so far has failed.
  bool Publish(StateHeader& header) noexcept;

 private:
  void AppendBytes(const void* bytes, std::size_t n) noexcept;
  void FlushBuffer() noexcept;

  const std::string path_;
  const std::string new_path_;
  const StateStream stream_;
  bool failed_;
  std::uint64_t written_ = 0;  // Of the body.
  std::size_t buffered_ = 0;
  std::unique_ptr<char[]> buffer_;
  XXH3_state_t sum_;
};

enum class StateKind : std::uint8_t {
  kNone,
  kEmpty,     // A file without a byte: nobody can say whose it is.
  kForeign,   // Somebody else's file, or none that could be looked at.
  kDoubtful,  // Ours, but not to be believed.
  kGood,      // Header and checksums are right.
};

class StateReader {
 public:
  // Looks at all of it. `reason` says what is wrong with it.
  StateReader(const std::string& path, std::string& reason);

  StateKind kind() const noexcept { return kind_; }
  const StateHeader& header() const noexcept { return header_; }
  // The next entry of the body. False at its end.
  template <class Entry>
  bool Next(Entry& entry) noexcept {
    static_assert(std::is_trivially_copyable_v<Entry>);
    return NextBytes(&entry, sizeof entry);
  }

 private:
  StateKind Examine(std::string& reason);
  bool NextBytes(void* out, std::size_t n) noexcept;
  bool FillBuffer() noexcept;

  const StateStream stream_;
  bool absent_;
  StateHeader header_{};
  std::uint64_t read_ = 0;  // Of the body.
  std::size_t buffered_ = 0;
  std::size_t used_ = 0;
  std::unique_ptr<char[]> buffer_;
  StateKind kind_;
};

}  // namespace podcache::store
