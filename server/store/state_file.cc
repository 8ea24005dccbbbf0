#include "server/store/state_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace podcache::store {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;

// The sum is over the header as it is before it is known.
std::uint64_t HeaderChecksum(StateHeader header) noexcept {
  header.header_checksum = 0;
  return ChecksumOf(&header, sizeof header);
}

}  // namespace

std::uint64_t ChecksumOf(const void* bytes, std::size_t n) noexcept {
  return XXH3_64bits(bytes, n);
}

StateStream::~StateStream() {
  if (valid()) ::close(descriptor_);
}

bool StateStream::Read(void* out, std::size_t bytes, std::uint64_t offset) const noexcept {
  auto* to = static_cast<char*>(out);
  while (bytes != 0) {
    const ssize_t n = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    to += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

bool StateStream::Write(const void* bytes, std::size_t n, std::uint64_t offset) const noexcept {
  const auto* from = static_cast<const char*>(bytes);
  while (n != 0) {
    const ssize_t written = ::pwrite(descriptor_, from, n, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += written;
    offset += static_cast<std::uint64_t>(written);
    n -= static_cast<std::size_t>(written);
  }
  return true;
}

bool StateStream::Sync() const noexcept { return ::fsync(descriptor_) == 0; }

bool StateStream::Size(std::uint64_t& bytes) const noexcept {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  bytes = static_cast<std::uint64_t>(status.st_size);
  return true;
}

StateWriter::StateWriter(const std::string& path)
    : path_(path),
      new_path_(path + ".new"),
      stream_(::open(new_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)),
      failed_(!stream_.valid()),
      buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {
  XXH3_64bits_reset(&sum_);
  // Whoever finds the file half written knows whose it is.
  StateHeader header{};
  std::memcpy(header.magic, kStateMagic, sizeof header.magic);
  failed_ = failed_ || !stream_.Write(&header, sizeof header, 0);
}

StateWriter::~StateWriter() {
  if (stream_.valid()) ::unlink(new_path_.c_str());
}

void StateWriter::AppendBytes(const void* bytes, std::size_t n) noexcept {
  if (kBufferBytes - buffered_ < n) FlushBuffer();
  std::memcpy(buffer_.get() + buffered_, bytes, n);
  buffered_ += n;
}

void StateWriter::FlushBuffer() noexcept {
  XXH3_64bits_update(&sum_, buffer_.get(), buffered_);
  failed_ = failed_ || !stream_.Write(buffer_.get(), buffered_, sizeof(StateHeader) + written_);
  written_ += buffered_;
  buffered_ = 0;
}

bool StateWriter::Publish(StateHeader& header) noexcept {
  FlushBuffer();
  std::memcpy(header.magic, kStateMagic, sizeof header.magic);
  header.version = kStateVersion;
  header.byte_order = kByteOrder;
  header.body_checksum = XXH3_64bits_digest(&sum_);
  header.body_bytes = written_;
  header.header_checksum = HeaderChecksum(header);
  failed_ = failed_ || !stream_.Write(&header, sizeof header, 0) || !stream_.Sync() ||
            ::rename(new_path_.c_str(), path_.c_str()) != 0;
  return !failed_;
}

// Not blocking: a pipe of that name must not hold the start up.
StateReader::StateReader(const std::string& path, std::string& reason)
    : stream_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)),
      absent_(!stream_.valid() && errno == ENOENT),
      kind_(Examine(reason)) {}

StateKind StateReader::Examine(std::string& reason) {
  if (absent_) return StateKind::kNone;
  std::uint64_t bytes = 0;
  if (!stream_.valid()) {
    reason = "cannot be opened: " + std::system_category().message(errno);
    return StateKind::kForeign;
  }
  if (!stream_.Size(bytes)) {
    reason = "is not a regular file";
    return StateKind::kForeign;
  }
  if (bytes == 0) {
    reason = "is empty, which podcached never leaves it; it is left as it is";
    return StateKind::kEmpty;
  }
  const std::size_t head = std::min<std::uint64_t>(bytes, sizeof header_);
  const std::size_t magic = std::min(head, sizeof header_.magic);
  if (!stream_.Read(&header_, head, 0) || std::memcmp(header_.magic, kStateMagic, magic) != 0) {
    reason = "is not a state file of podcached; it is left as it is";
    return StateKind::kForeign;
  }
  if (head < sizeof header_) {
    reason = "it is cut short";
  } else if (header_.version != kStateVersion) {
    reason = header_.version == 0 ? "it is incomplete" : "it has the format of another version";
  } else if (header_.byte_order != kByteOrder) {
    reason = "it has another byte order";
  } else if (header_.header_checksum != HeaderChecksum(header_)) {
    reason = "the checksum of its header is wrong";
  } else if (bytes != sizeof header_ + header_.body_bytes) {
    reason = "it does not have the size it should have";
  } else {
    buffer_ = std::make_unique_for_overwrite<char[]>(kBufferBytes);
    XXH3_state_t sum;
    XXH3_64bits_reset(&sum);
    while (FillBuffer()) XXH3_64bits_update(&sum, buffer_.get(), buffered_);
    if (read_ == header_.body_bytes && XXH3_64bits_digest(&sum) == header_.body_checksum) {
      read_ = buffered_ = used_ = 0;
      return StateKind::kGood;
    }
    reason = "its checksum is wrong";
  }
  return StateKind::kDoubtful;
}

bool StateReader::FillBuffer() noexcept {
  const std::uint64_t n = std::min<std::uint64_t>(kBufferBytes, header_.body_bytes - read_);
  if (n == 0 || !stream_.Read(buffer_.get(), n, sizeof header_ + read_)) return false;
  read_ += n;
  buffered_ = n;
  used_ = 0;
  return true;
}

bool StateReader::NextBytes(void* out, std::size_t n) noexcept {
  auto* to = static_cast<char*>(out);
  while (n != 0) {
    if (used_ == buffered_ && !FillBuffer()) return false;
    const std::size_t here = std::min(n, buffered_ - used_);
    std::memcpy(to, buffer_.get() + used_, here);
    used_ += here;
    to += here;
    n -= here;
  }
  return true;
}

}  // namespace podcache::store
