// Values that change where they are while others read them: both sides go by atomic operations, so
// a reader may get a mixture, which the version of the partition's lock shows, but no access is
// undefined.
//
// A record starts at a multiple of 8 bytes and is as long, so the aligned words that hold a value
// all lie inside its record. The reader takes those; the writer stores whole words of the value and
// single bytes at its ends, and touches nothing else in the record, above all not the key.
//
// Threads: the writer holds the lock of the partition. Little-endian machines.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "server/memory/poison.h"

namespace podcache::store {

static_assert(std::endian::native == std::endian::little);

inline void StoreValueInPlace(char* to, std::string_view value) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const char* from = value.data();
  const char* const end = from + value.size();
  const auto store_byte = [&] {
    std::atomic_ref<char>(*to++).store(*from++, std::memory_order_relaxed);
  };
  while (from != end && reinterpret_cast<std::uintptr_t>(to) % kWord != 0) store_byte();
  const auto store_word = [&](std::size_t n) {
    std::uint64_t word;
    std::memcpy(&word, from + n * kWord, kWord);
    std::atomic_ref<std::uint64_t>(reinterpret_cast<std::uint64_t*>(to)[n])
        .store(word, std::memory_order_relaxed);
  };
  for (; static_cast<std::size_t>(end - from) >= 4 * kWord; from += 4 * kWord, to += 4 * kWord) {
    store_word(0);
    store_word(1);
    store_word(2);
    store_word(3);
  }
  for (; static_cast<std::size_t>(end - from) >= kWord; from += kWord, to += kWord) store_word(0);
  while (from != end) store_byte();
}

namespace value_copy {

// The n-th aligned word. Not std::atomic_ref: its functions would be checked by the address
// sanitizer also where the caller must not be.
[[gnu::always_inline, gnu::no_sanitize_address]] inline std::uint64_t Word(
    const std::uint64_t* words, std::size_t n) noexcept {
  return __atomic_load_n(words + n, __ATOMIC_RELAXED);
}

// From byte `shift` / 8 of the first word on; the second comes behind it.
[[gnu::always_inline, gnu::no_sanitize_address]] inline std::uint64_t Joined(
    std::uint64_t first, std::uint64_t second, unsigned shift) noexcept {
  return (first >> shift) | (second << 1 << (63 - shift));
}

template <class T>
[[gnu::always_inline, gnu::no_sanitize_address]] inline void Put(char* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace value_copy

// Copies exactly `n` bytes, also while they change. The memory may be dead, hence poisoned: that
// too makes the copy invalid and nothing else, so the address sanitizer does not look.
#ifndef PODCACHE_ADDRESS_SANITIZER
[[gnu::always_inline]]
#endif
[[gnu::no_sanitize_address]] inline void
CopyChangingValue(const char* from, std::size_t n, char* to) noexcept {
  using value_copy::Put;
  using value_copy::Word;
  const std::size_t first = reinterpret_cast<std::uintptr_t>(from) % 8;
  const auto* const words = reinterpret_cast<const std::uint64_t*>(from - first);
  const auto shift = static_cast<unsigned>(first * 8);
  const std::size_t end = first + n;  // From the first word on.
  if (n >= 8) [[likely]] {
    // Words that lie wholly inside go over as they are, the ends overlap them.
    const auto rest = static_cast<unsigned>(end % 8 * 8);
    if (end < 16) {
      const std::uint64_t word = Word(words, 0);
      Put(to, word >> shift);
      if (end > 8) Put(to + n - 8, (word >> rest) | (Word(words, 1) << (64 - rest)));
      return;
    }
    Put(to, Word(words, 0) >> shift);
    const std::uint64_t* word = words + 1;
    const std::uint64_t* const last = words + end / 8;
    char* at = to - first + 8;
    for (; last - word >= 4; word += 4, at += 32) {
      Put(at, Word(word, 0));
      Put(at + 8, Word(word, 1));
      Put(at + 16, Word(word, 2));
      Put(at + 24, Word(word, 3));
    }
    for (; word < last; ++word, at += 8) Put(at, Word(word, 0));
    if (rest != 0) Put(to + n - 8, (Word(last - 1, 0) >> rest) | (Word(last, 0) << (64 - rest)));
    return;
  }
  if (n == 0) return;
  std::uint64_t value = Word(words, 0) >> shift;
  if (end > 8) value = value_copy::Joined(Word(words, 0), Word(words, 1), shift);
  if ((n & 4) != 0) {
    Put(to, static_cast<std::uint32_t>(value));
    to += 4;
    value >>= 32;
  }
  if ((n & 2) != 0) {
    Put(to, static_cast<std::uint16_t>(value));
    to += 2;
    value >>= 16;
  }
  if ((n & 1) != 0) *to = static_cast<char>(value);
}

// Without a call, for the few words of a key. Both have `n` bytes.
[[gnu::always_inline]] inline bool SameKeyBytes(const char* a, const char* b,
                                                std::size_t n) noexcept {
  const auto load = [](const char* from, auto& word) { std::memcpy(&word, from, sizeof word); };
  if (n >= 8) {
    std::uint64_t x;
    std::uint64_t y;
    for (std::size_t i = 0; i + 8 < n; i += 8) {
      load(a + i, x);
      load(b + i, y);
      if (x != y) return false;
    }
    load(a + n - 8, x);
    load(b + n - 8, y);
    return x == y;
  }
  if (n >= 4) {
    std::uint32_t x[2];
    std::uint32_t y[2];
    load(a, x[0]);
    load(b, y[0]);
    load(a + n - 4, x[1]);
    load(b + n - 4, y[1]);
    return x[0] == y[0] && x[1] == y[1];
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace podcache::store
