#include "server/memory/memory_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "server/memory/pages.h"

namespace podcache::memory {
namespace {

constexpr char kMagic[17] = "podcache memory\n";

struct Start {
  char magic[16];
  std::uint64_t label;
};

std::string Reason() { return std::system_category().message(errno); }

// A page of the file is its own; on every machine at least this much.
std::uint64_t StartBytes() noexcept { return PageBytes(); }

}  // namespace

std::unique_ptr<MemoryFile> MemoryFile::Open(const std::string& path, std::string& error) {
  // Not blocking: a pipe or a device of that name must not hold the start up.
  const int descriptor =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (descriptor < 0) {
    error = "cannot open " + path + ": " + Reason();
    return nullptr;
  }
  std::unique_ptr<MemoryFile> file(new MemoryFile(descriptor));
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    error = path + " is not a regular file";
  } else if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    error = path + " is in use by another process";
  } else if (!file->Recognize(error)) {
    error = path + " " + error;
  } else {
    return file;
  }
  return nullptr;
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

bool MemoryFile::Recognize(std::string& error) noexcept {
  const bool fresh = size_bytes() == 0;
  Start start{};
  if (!fresh) {
    const ssize_t n = ::pread(descriptor_, &start, sizeof start, 0);
    if (n != static_cast<ssize_t>(sizeof start) ||
        std::memcmp(start.magic, kMagic, sizeof start.magic) != 0) {
      error = "is not a memory file of podcached; it is left as it is";
      return false;
    }
    label_ = start.label;
  }
  if (!Allocate(0, StartBytes())) {
    error = "is on a file system that cannot reserve room for it: " + Reason();
    return false;
  }
  return !fresh || SetLabel(0);
}

bool MemoryFile::SetLabel(std::uint64_t label) noexcept {
  Start start{};
  std::memcpy(start.magic, kMagic, sizeof start.magic);
  start.label = label;
  if (::pwrite(descriptor_, &start, sizeof start, 0) != static_cast<ssize_t>(sizeof start))
    return false;
  label_ = label;
  return true;
}

std::uint64_t MemoryFile::size_bytes() const noexcept {
  struct stat status {};
  return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::uint64_t MemoryFile::free_bytes() const noexcept {
  struct statfs system {};
  if (::fstatfs(descriptor_, &system) != 0) return 0;
  return static_cast<std::uint64_t>(system.f_bavail) * static_cast<std::uint64_t>(system.f_bsize);
}

bool MemoryFile::in_memory() const noexcept {
  struct statfs system {};
  return ::fstatfs(descriptor_, &system) == 0 &&
         (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

bool MemoryFile::Clear() noexcept {
  return ::ftruncate(descriptor_, 0) == 0 && Allocate(0, StartBytes()) && SetLabel(0);
}

bool MemoryFile::Allocate(std::uint64_t offset, std::uint64_t bytes) noexcept {
  int result = 0;
  do {
    result = ::fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

void MemoryFile::Free(std::uint64_t offset, std::uint64_t bytes) noexcept {
  ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(bytes));
}

bool MemoryFile::Sync() noexcept { return ::fdatasync(descriptor_) == 0; }

char* MemoryFile::MapRange(std::size_t bytes, std::size_t alignment) noexcept {
  char* const range = ReserveRange(bytes, alignment);
  if (range == nullptr) return nullptr;
  void* const p =
      ::mmap(range, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, descriptor_, 0);
  if (p != MAP_FAILED) return range;
  UnmapPages(range, bytes);
  return nullptr;
}

bool MemoryFile::Read(std::uint64_t offset, char* out, std::size_t bytes) const noexcept {
  while (bytes != 0) {
    const ssize_t n = ::pread(descriptor_, out, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    offset += static_cast<std::uint64_t>(n);
    out += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace podcache::memory
