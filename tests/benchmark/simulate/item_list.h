// Items by key, each in one of a few queues: what the reference models are made of.
//
// Threads: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace podcache::bench {

// A doubly linked list of places in an ItemPool, newest at the front.
struct ItemQueue {
  std::uint32_t newest = 0;
  std::uint32_t oldest = 0;
  std::uint64_t bytes = 0;
  std::uint64_t items = 0;
};

class ItemPool {
 public:
  static constexpr std::uint32_t kNone = 0;
  struct Item {
    std::uint64_t key = 0;
    std::uint64_t bytes = 0;
    double expires = 0;
    std::uint32_t newer = kNone;
    std::uint32_t older = kNone;
    unsigned uses = 0;
    unsigned queue = 0;
  };

  ItemPool() : items_(1) {}

  std::uint32_t Find(std::uint64_t key) const {
    const auto at = by_key_.find(key);
    return at == by_key_.end() ? kNone : at->second;
  }
  Item& operator[](std::uint32_t place) { return items_[place]; }
  std::size_t size() const { return by_key_.size(); }

  std::uint32_t Add(std::uint64_t key) {
    std::uint32_t place = kNone;
    if (free_.empty()) {
      place = static_cast<std::uint32_t>(items_.size());
      items_.emplace_back();
    } else {
      place = free_.back();
      free_.pop_back();
      items_[place] = {};
    }
    items_[place].key = key;
    by_key_[key] = place;
    return place;
  }
  // It must be in no queue.
  void Drop(std::uint32_t place) {
    by_key_.erase(items_[place].key);
    free_.push_back(place);
  }
  void Push(ItemQueue& queue, std::uint32_t place) {
    Item& item = items_[place];
    item.newer = kNone;
    item.older = queue.newest;
    (queue.newest == kNone ? queue.oldest : items_[queue.newest].newer) = place;
    queue.newest = place;
    queue.bytes += item.bytes;
    ++queue.items;
  }
  void Unlink(ItemQueue& queue, std::uint32_t place) {
    const Item& item = items_[place];
    (item.newer == kNone ? queue.newest : items_[item.newer].older) = item.older;
    (item.older == kNone ? queue.oldest : items_[item.older].newer) = item.newer;
    queue.bytes -= item.bytes;
    --queue.items;
  }

 private:
  std::vector<Item> items_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_key_;
};

}  // namespace podcache::bench
