#include "tests/benchmark/simulate/reference_models.h"

#include <algorithm>

#include "tests/benchmark/simulate/item_list.h"
#include "tests/benchmark/simulate/model_item.h"

namespace podcache::bench {
namespace {

constexpr unsigned kMaxUses = 3;
constexpr std::uint32_t kNone = ItemPool::kNone;

// What the policies have in common: items, sizes, expiry.
class ItemModel : public CacheModel {
 public:
  explicit ItemModel(const ModelPlan& plan) : plan_(plan) {}

  ModelFigures figures() const override {
    ModelFigures figures = figures_;
    figures.items = pool_.size();
    return figures;
  }

 protected:
  virtual void OnUse(std::uint32_t place) = 0;
  // Of an item just stored, in no queue yet.
  virtual void Admit(std::uint32_t place) = 0;
  virtual ItemQueue& QueueOf(std::uint32_t place) = 0;
  virtual void EvictOne() = 0;
  virtual std::uint64_t held_bytes() const = 0;

  bool Use(const TraceRequest& request) override {
    const std::uint32_t place = pool_.Find(request.key);
    if (place == kNone) return false;
    if (pool_[place].expires <= request.seconds) {
      Remove(request.key);
      return false;
    }
    OnUse(place);
    return true;
  }

  void Store(const TraceRequest& request) override {
    const std::uint64_t bytes = RecordBytes(plan_, request) + plan_.index_bytes;
    figures_.set_bytes += bytes;
    std::uint32_t place = pool_.Find(request.key);
    if (place != kNone) {
      // A policy by uses does not forget them because the value is another.
      pool_[place].expires = ExpiryOf(request);
      ItemQueue& queue = QueueOf(place);
      queue.bytes += bytes - pool_[place].bytes;
      pool_[place].bytes = bytes;
      OnUse(place);
    } else {
      place = pool_.Add(request.key);
      pool_[place].bytes = bytes;
      pool_[place].expires = ExpiryOf(request);
      Admit(place);
    }
    while (held_bytes() > plan_.capacity_bytes) EvictOne();
  }

  void Remove(std::uint64_t key) override {
    const std::uint32_t place = pool_.Find(key);
    if (place == kNone) return;
    pool_.Unlink(QueueOf(place), place);
    pool_.Drop(place);
  }

  const ModelPlan plan_;
  ItemPool pool_;
  ModelFigures figures_;
};

template <bool kMoveOnUse>
class OneQueueModel final : public ItemModel {
 public:
  using ItemModel::ItemModel;

 private:
  void OnUse(std::uint32_t place) override {
    if (!kMoveOnUse) return;
    pool_.Unlink(queue_, place);
    pool_.Push(queue_, place);
  }
  void Admit(std::uint32_t place) override { pool_.Push(queue_, place); }
  ItemQueue& QueueOf(std::uint32_t) override { return queue_; }
  void EvictOne() override {
    ++figures_.evicted_items;
    Remove(pool_[queue_.oldest].key);
  }
  std::uint64_t held_bytes() const override { return queue_.bytes; }

  ItemQueue queue_;
};

class S3FifoModel final : public ItemModel {
 public:
  using ItemModel::ItemModel;

 private:
  enum Queue : unsigned { kSmall, kMain };

  void OnUse(std::uint32_t place) override {
    pool_[place].uses = std::min(pool_[place].uses + 1, kMaxUses);
  }
  void Admit(std::uint32_t place) override {
    const std::uint32_t ghost = ghosts_.Find(pool_[place].key);
    if (ghost != kNone) {
      ++figures_.ghost_hits;
      ghosts_.Unlink(ghost_queue_, ghost);
      ghosts_.Drop(ghost);
    }
    PushTo(ghost != kNone ? kMain : kSmall, place);
  }
  void PushTo(Queue queue, std::uint32_t place) {
    pool_[place].queue = queue;
    pool_.Push(queues_[queue], place);
  }
  ItemQueue& QueueOf(std::uint32_t place) override { return queues_[pool_[place].queue]; }

  void EvictOne() override {
    const auto small =
        static_cast<std::uint64_t>(plan_.small_share * static_cast<double>(plan_.capacity_bytes));
    while (held_bytes() > plan_.capacity_bytes) {
      if (queues_[kSmall].bytes > small || queues_[kMain].items == 0) {
        LeaveSmall(queues_[kSmall].oldest);
      } else {
        LeaveMain(queues_[kMain].oldest);
      }
    }
  }
  void LeaveSmall(std::uint32_t place) {
    if (pool_[place].uses < plan_.promote_uses) {
      Remember(pool_[place].key);
      Evict(place);
      return;
    }
    pool_.Unlink(queues_[kSmall], place);
    pool_[place].uses = 0;
    PushTo(kMain, place);
    ++figures_.promoted_items;
    figures_.copied_bytes += pool_[place].bytes;
  }
  void LeaveMain(std::uint32_t place) {
    if (pool_[place].uses == 0) {
      Evict(place);
      return;
    }
    pool_.Unlink(queues_[kMain], place);
    --pool_[place].uses;
    PushTo(kMain, place);
    figures_.copied_bytes += pool_[place].bytes;
  }
  void Evict(std::uint32_t place) {
    ++figures_.evicted_items;
    Remove(pool_[place].key);
  }
  void Remember(std::uint64_t key) {
    if (ghosts_.Find(key) != kNone) return;
    ghosts_.Push(ghost_queue_, ghosts_.Add(key));
    while (ghost_queue_.items > std::max<std::uint64_t>(queues_[kMain].items, 1)) {
      const std::uint32_t oldest = ghost_queue_.oldest;
      ghosts_.Unlink(ghost_queue_, oldest);
      ghosts_.Drop(oldest);
    }
  }
  std::uint64_t held_bytes() const override { return queues_[kSmall].bytes + queues_[kMain].bytes; }

  ItemQueue queues_[2];
  ItemPool ghosts_;
  ItemQueue ghost_queue_;
};

}  // namespace

std::unique_ptr<CacheModel> NewLruModel(const ModelPlan& plan) {
  return std::make_unique<OneQueueModel<true>>(plan);
}
std::unique_ptr<CacheModel> NewFifoModel(const ModelPlan& plan) {
  return std::make_unique<OneQueueModel<false>>(plan);
}
std::unique_ptr<CacheModel> NewS3FifoModel(const ModelPlan& plan) {
  return std::make_unique<S3FifoModel>(plan);
}

}  // namespace podcache::bench
