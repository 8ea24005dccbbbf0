#include "server/memory/pages.h"

#include <sys/mman.h>
#include <unistd.h>

namespace podcache::memory {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

char* MapAnonymous(std::size_t bytes, int protection) noexcept {
  void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<char*>(p);
}

}  // namespace

std::size_t PageBytes() noexcept {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uint64_t PhysicalMemoryBytes() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES);
  return pages <= 0 ? 0 : static_cast<std::uint64_t>(pages) * PageBytes();
}

char* ReserveRange(std::size_t bytes, std::size_t alignment) noexcept {
  char* raw = MapAnonymous(bytes + alignment, PROT_NONE);
  if (raw == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(raw);
  const std::size_t before = (alignment - address % alignment) % alignment;
  if (before != 0) munmap(raw, before);
  if (before != alignment) munmap(raw + before + bytes, alignment - before);
  return raw + before;
}

bool CommitPages(char* p, std::size_t bytes) noexcept {
  return mprotect(p, bytes, PROT_READ | PROT_WRITE) == 0;
}

void DecommitPages(char* p, std::size_t bytes) noexcept {
  // Not MADV_FREE: resident memory would stay until the kernel is under pressure.
  madvise(p, bytes, MADV_DONTNEED);
}

char* MapPages(std::size_t bytes) noexcept { return MapAnonymous(bytes, PROT_READ | PROT_WRITE); }

void TakePages(char* p, std::size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  madvise(p, bytes, MADV_POPULATE_WRITE);
#endif
}

void UnmapPages(char* p, std::size_t bytes) noexcept { munmap(p, bytes); }

void AdviseHugePages(char* p, std::size_t bytes, std::size_t commit_bytes) noexcept {
  const bool whole_units = PageBytes() == 4096 && commit_bytes % kHugePageBytes == 0;
  // A kernel without huge pages refuses the advice: nothing to do then.
  madvise(p, bytes, whole_units ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

}  // namespace podcache::memory
