// The keys and values of a run. Both follow from the item's number, so whoever gets a value can
// tell whether it is one that was stored for this key, whole.
//
// A key is a filler and ten digits. A value is a stretch of a fixed table of printable characters;
// the number of the item and one of a few variants say where it begins, and the first byte is the
// variant: a mixture of two values, or of two keys' values, fits nowhere.
//
// Threads: any; nothing changes after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace podcache::bench {

class Items {
 public:
  static constexpr std::size_t kDigits = 10;
  static constexpr std::uint32_t kVariants = 8;

  // key_bytes: kDigits + 1 … 250.
  Items(std::size_t key_bytes, std::size_t max_value_bytes);

  std::size_t key_bytes() const noexcept { return filler_.size() + kDigits; }
  // The key of item 0, for templates.
  std::string FirstKey() const { return filler_ + std::string(kDigits, '0'); }
  // Only the digits, which differ: to `key` + key_bytes() − kDigits.
  void WriteDigits(char* digits, std::uint64_t item) const noexcept;
  std::optional<std::uint64_t> ItemOf(std::string_view key) const noexcept;

  void WriteValue(char* to, std::size_t bytes, std::uint64_t item,
                  std::uint32_t variant) const noexcept;
  // Whether it is one of the values of this item.
  bool IsValueOf(std::string_view value, std::uint64_t item) const noexcept;

 private:
  const char* Stretch(std::uint64_t item, std::uint32_t variant) const noexcept;

  std::string filler_;
  std::string table_;
};

}  // namespace podcache::bench
