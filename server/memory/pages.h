// Memory straight from the kernel: reserved ranges, committed and given back in whole pages.
//
// Threads: any; the functions keep no state. Nothing here throws: failures are nullptr or false.
#pragma once

#include <cstddef>
#include <cstdint>

namespace podcache::memory {

// Of the running kernel; not always 4 KiB.
std::size_t PageBytes() noexcept;
std::uint64_t PhysicalMemoryBytes() noexcept;
inline std::size_t RoundUp(std::size_t n, std::size_t unit) noexcept {
  return (n + unit - 1) / unit * unit;
}

// Address space without memory behind it; `alignment` is a power of two and at least a page.
char* ReserveRange(std::size_t bytes, std::size_t alignment) noexcept;
// Makes a part of a reserved range usable; it reads as zero.
bool CommitPages(char* p, std::size_t bytes) noexcept;
// Gives the pages back to the kernel; the range stays usable and reads as zero afterwards.
void DecommitPages(char* p, std::size_t bytes) noexcept;
// Zeroed memory; pages are taken on first use.
char* MapPages(std::size_t bytes) noexcept;
// For memory of which soon every page is written: takes them all at once, which is much cheaper
// than one by one. Without effect before Linux 5.14.
void TakePages(char* p, std::size_t bytes) noexcept;
void UnmapPages(char* p, std::size_t bytes) noexcept;

// Huge pages only where a unit of `commit_bytes` is a whole number of them, so that resident memory
// still moves in units we count. Elsewhere they are switched off for the range.
void AdviseHugePages(char* p, std::size_t bytes, std::size_t commit_bytes) noexcept;

}  // namespace podcache::memory
