// Names for clang's thread-safety analysis; empty with other compilers.
//
// Source: clang's documentation "Thread Safety Analysis".
#pragma once

#if defined(__clang__)
#define PODCACHE_ANNOTATION(x) __attribute__((x))
#else
#define PODCACHE_ANNOTATION(x)
#endif

#define CAPABILITY(x) PODCACHE_ANNOTATION(capability(x))
#define SCOPED_CAPABILITY PODCACHE_ANNOTATION(scoped_lockable)
// Debian's Abseil defines this and the last one under the same names with the same meaning; either
// order of inclusion works.
#undef GUARDED_BY
#define GUARDED_BY(x) PODCACHE_ANNOTATION(guarded_by(x))
#define REQUIRES(...) PODCACHE_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) PODCACHE_ANNOTATION(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) PODCACHE_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) PODCACHE_ANNOTATION(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) PODCACHE_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define RETURN_CAPABILITY(x) PODCACHE_ANNOTATION(lock_returned(x))
#undef NO_THREAD_SAFETY_ANALYSIS
#define NO_THREAD_SAFETY_ANALYSIS PODCACHE_ANNOTATION(no_thread_safety_analysis)
