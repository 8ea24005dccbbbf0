// What one send carries: a whole pipeline of requests, formatted beforehand. Only the digits of the
// keys, and the values of sets, are written for each send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/benchmark/load/items.h"

namespace podcache::bench {

enum class Verb : std::uint8_t { kGet, kSet };

struct RequestShape {
  Verb verb = Verb::kGet;
  std::uint32_t keys = 1;
};

// Valid until the next one is made.
struct Batch {
  std::span<const char> bytes;
  std::span<const RequestShape> requests;  // Each is answered once.
  std::span<const std::uint64_t> items;    // Of all keys, in order.
};

class BatchTemplate {
 public:
  // `items` outlives it.
  BatchTemplate(const Items& items, std::vector<RequestShape> requests, std::size_t value_bytes);

  std::size_t key_count() const noexcept { return slots_.size(); }

  // next_item() → the number of the next key's item; next_variant() → of a value to be stored.
  template <class NextItem, class NextVariant>
  Batch Fill(NextItem&& next_item, NextVariant&& next_variant) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const Slot& slot = slots_[i];
      const std::uint64_t item = next_item();
      item_numbers_[i] = item;
      items_.WriteDigits(bytes_.data() + slot.digits, item);
      if (slot.value != 0)
        items_.WriteValue(bytes_.data() + slot.value, value_bytes_, item, next_variant());
    }
    return {bytes_, requests_, item_numbers_};
  }

 private:
  struct Slot {
    std::size_t digits;
    std::size_t value;  // 0: a get.
  };
  void AppendGet(std::uint32_t keys);
  void AppendSet();
  void AppendKey();

  const Items& items_;
  const std::vector<RequestShape> requests_;
  const std::size_t value_bytes_;
  std::string bytes_;
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> item_numbers_;
};

}  // namespace podcache::bench
