// Assertions for broken invariants of our own: they print where and what, then end the process.
//
// Never for bad input (answer it) nor for expected failures of the environment (handle them).
#pragma once

namespace podcache::internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition) noexcept;
}  // namespace podcache::internal

// Always on.
#define PODCACHE_CHECK(condition)                    \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::podcache::internal::CheckFailed(__FILE__, __LINE__, #condition))

// Debug builds only; for hot paths.
#ifdef NDEBUG
#define PODCACHE_DCHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define PODCACHE_DCHECK(condition) PODCACHE_CHECK(condition)
#endif
