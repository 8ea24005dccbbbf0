// Marks item memory that nobody may touch, for the address sanitizer; nothing in other builds.
//
// Threads: any; the caller owns the bytes. Both ends lie on 8-byte boundaries, the sanitizer's
// granularity.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define PODCACHE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PODCACHE_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef PODCACHE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace podcache::memory {

#ifdef PODCACHE_ADDRESS_SANITIZER
inline void Poison(const void* p, std::size_t bytes) noexcept {
  __asan_poison_memory_region(p, bytes);
}
inline void Unpoison(const void* p, std::size_t bytes) noexcept {
  __asan_unpoison_memory_region(p, bytes);
}
inline bool IsPoisoned(const void* p) noexcept { return __asan_address_is_poisoned(p) != 0; }
// Any of it.
inline bool IsPoisoned(const char* p, std::size_t bytes) noexcept {
  return __asan_region_is_poisoned(const_cast<char*>(p), bytes) != nullptr;
}
#else
inline void Poison(const void*, std::size_t) noexcept {}
inline void Unpoison(const void*, std::size_t) noexcept {}
inline bool IsPoisoned(const void*) noexcept { return false; }
inline bool IsPoisoned(const char*, std::size_t) noexcept { return false; }
#endif

}  // namespace podcache::memory
