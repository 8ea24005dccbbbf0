// Random operations on a store beside a plain map, on a manual clock. A cache may forget, but never
// lie; with room for everything it must not forget either. The seed of a failing run is printed
// with it.
#include <gmock/gmock.h>

#include <random>
#include <unordered_map>
#include <utility>

#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {
namespace {

struct ModelItem {
  std::string value;
  std::uint32_t flags = 0;
  std::int64_t exptime = 0;
  std::uint64_t version = 0;
  std::uint64_t known_cas = 0;  // 0: nobody asked since the last write.
  bool stale = false;
  bool leased = false;
  bool fetched = false;
  std::int64_t used_at = 0;
};

struct ModelCase {
  const char* name;
  std::uint64_t limit_bytes;
  int keys;
  std::size_t max_value_bytes;
  bool evictions;
  bool may_forget;
  bool may_refuse;
  bool resizes;
  int steps;
};

void PrintTo(const ModelCase& c, std::ostream* out) { *out << c.name; }

class StoreModelTest : public StoreTest, public ::testing::WithParamInterface<ModelCase> {
 protected:
  // Returns how many items were evicted.
  std::uint64_t Run(std::uint64_t seed, int steps);

 private:
  using Items = std::unordered_map<std::string, ModelItem>;

  int Random(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  std::string RandomKey() { return "key" + std::to_string(Random(GetParam().keys)); }
  std::string RandomValue();
  std::int64_t RandomExptime();

  // The model's live item. Erases one that expired or was flushed.
  ModelItem* Live(const std::string& key);
  // The store says the key is not there.
  void Missing(const std::string& key);
  void Written(const std::string& key, ModelItem item) {
    item.version = ++versions_;
    item.used_at = now();
    items_[key] = std::move(item);
  }
  // The same value, flags and expiry under another CAS id.
  void Rewritten(ModelItem& item) {
    item.version = ++versions_;
    item.known_cas = 0;
  }
  void Used(ModelItem& item) {
    item.fetched = true;
    item.used_at = now();
  }
  void SeenCas(ModelItem& item, std::uint64_t cas);
  // An id that no item has had.
  std::uint64_t FreshCas() { return (std::uint64_t{1} << 62) + ++versions_; }
  void FireFlush();
  void Refused() { EXPECT_TRUE(GetParam().may_refuse) << "refused for lack of memory"; }

  void Step();
  void Write();
  void SetSeveral();
  void CompareAndSwap();
  void Concatenate();
  void Get();
  void GetDetailed();
  void CheckDetails(ModelItem& item, const DetailedRead& read, const ItemMeta& meta,
                    const std::string& value);
  void Invalidate();
  void Delete();
  void Touch();
  void Arithmetic();
  void Flush();
  void Resize();

  std::mt19937_64 random_;
  Items items_;
  std::unordered_map<std::uint64_t, std::uint64_t> version_of_cas_;
  std::uint64_t versions_ = 0;
  std::int64_t flush_at_ = 0;
};

std::string StoreModelTest::RandomValue() {
  if (Random(8) == 0) return std::to_string(random_() >> Random(64));
  std::size_t bytes = random_() % 200;
  if (Random(10) == 0) bytes = random_() % GetParam().max_value_bytes;
  std::string value(bytes, static_cast<char>(random_()));
  for (std::size_t i = 0; i < bytes; i += 61) value[i] = static_cast<char>(random_());
  return value;
}

std::int64_t StoreModelTest::RandomExptime() {
  switch (Random(6)) {
    case 0:
      return now() + 1 + Random(5);
    case 1:
      return now() + 1 + Random(500);
    case 2:
      return Random(10) == 0 ? kExpiredImmediately : 0;
    default:
      return 0;
  }
}

void StoreModelTest::FireFlush() {
  if (flush_at_ == 0 || now() < flush_at_) return;
  flush_at_ = 0;
  items_.clear();
}

ModelItem* StoreModelTest::Live(const std::string& key) {
  FireFlush();
  const auto found = items_.find(key);
  if (found == items_.end()) return nullptr;
  const std::int64_t exptime = found->second.exptime;
  if (exptime == 0 || exptime > now()) return &found->second;
  items_.erase(found);
  return nullptr;
}

void StoreModelTest::Missing(const std::string& key) {
  if (Live(key) == nullptr) return;
  EXPECT_TRUE(GetParam().may_forget) << key << " was forgotten";
  items_.erase(key);
}

void StoreModelTest::SeenCas(ModelItem& item, std::uint64_t cas) {
  EXPECT_NE(cas, 0u);
  const auto [seen, fresh] = version_of_cas_.emplace(cas, item.version);
  EXPECT_EQ(seen->second, item.version) << "one id for two writes";
  if (item.known_cas != 0) {
    EXPECT_EQ(item.known_cas, cas) << "the id changed without a write";
  }
  item.known_cas = cas;
}

void StoreModelTest::Write() {
  const std::string key = RandomKey();
  ModelItem item{RandomValue(), random_() % 3 == 0 ? static_cast<std::uint32_t>(random_()) : 0,
                 RandomExptime()};
  WriteOptions options;
  const int kind = Random(6);
  options.mode = kind == 0 ? WriteMode::kAdd : kind == 1 ? WriteMode::kReplace : WriteMode::kSet;
  options.want_cas = Random(5) == 0;
  if (Random(10) == 0) options.set_cas = FreshCas();
  const WriteResult result = client().Write(key, item.value, options, item.flags, item.exptime);
  const bool live = Live(key) != nullptr;
  switch (result.status) {
    case StoreStatus::kStored:
      if (options.mode == WriteMode::kAdd && live) Missing(key);
      if (options.mode == WriteMode::kReplace) {
        EXPECT_TRUE(live);
      }
      Written(key, std::move(item));
      if (options.set_cas != 0) SeenCas(items_[key], options.set_cas);
      if (options.want_cas) SeenCas(items_[key], result.cas);
      break;
    case StoreStatus::kNotStored:
      EXPECT_NE(options.mode, WriteMode::kSet);
      if (options.mode == WriteMode::kAdd) {
        EXPECT_TRUE(live);
      }
      if (options.mode == WriteMode::kReplace) Missing(key);
      break;
    case StoreStatus::kOutOfMemory:
      Refused();
      client().Delete(key);
      items_.erase(key);
      break;
    default:
      FAIL() << static_cast<int>(result.status);
  }
}

void StoreModelTest::SetSeveral() {
  struct Set {
    std::string key;
    ModelItem item;
  };
  std::vector<Set> sets(static_cast<std::size_t>(1 + Random(StoreSession::kMaxBatch)));
  std::vector<WholeItem> items;
  for (Set& set : sets) {
    set.key = RandomKey();
    const std::uint32_t flags = Random(3) == 0 ? static_cast<std::uint32_t>(random_()) : 0;
    set.item = {RandomValue(), flags, RandomExptime()};
    items.push_back({{set.key}, set.item.value, set.item.flags, set.item.exptime});
  }
  const std::vector<StoreStatus> statuses = client().SetAll(items);
  FireFlush();
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (statuses[i] == StoreStatus::kStored) {
      Written(sets[i].key, std::move(sets[i].item));
    } else {
      EXPECT_EQ(statuses[i], StoreStatus::kOutOfMemory);
      Refused();
      items_.erase(sets[i].key);
    }
  }
}

void StoreModelTest::CompareAndSwap() {
  const std::string key = RandomKey();
  ModelItem* const before = Live(key);
  const bool known = before != nullptr && before->known_cas != 0;
  // A remembered id, the current one, an id of an older version, or a guess.
  std::uint64_t cas = known ? before->known_cas : 1 + random_() % 1000;
  bool matches = known;
  if (Random(2) == 0) {
    cas = client().Cas(key);
    if (cas == 0) return Missing(key);
    ASSERT_NE(Live(key), nullptr);
    SeenCas(*Live(key), cas);
    Used(*Live(key));
    matches = true;
  } else if (Random(3) == 0 && !version_of_cas_.empty()) {
    cas = version_of_cas_.begin()->first;
    matches = before != nullptr && before->known_cas == cas;
  } else if (Random(10) == 0) {
    cas = 0;
    matches = false;
  }
  ModelItem item{RandomValue(), 0, RandomExptime()};
  WriteOptions options{.mode = WriteMode::kCas, .compare_cas = cas};
  options.stale_if_older = Random(3) == 0;
  const StoreStatus status = client().Write(key, item.value, options, 0, item.exptime).status;
  switch (status) {
    case StoreStatus::kStored:
      ASSERT_NE(Live(key), nullptr);
      EXPECT_TRUE(matches || options.stale_if_older);
      item.stale = !matches;
      if (!matches) {
        item.exptime = Live(key)->exptime;
        item.leased = Live(key)->leased;
      }
      return Written(key, std::move(item));
    case StoreStatus::kExists:
      EXPECT_NE(Live(key), nullptr);
      EXPECT_FALSE(matches) << "false EXISTS";
      return;
    case StoreStatus::kNotFound:
      return Missing(key);
    default:
      EXPECT_EQ(status, StoreStatus::kOutOfMemory);
      Refused();
  }
}

void StoreModelTest::Concatenate() {
  const std::string key = RandomKey();
  const std::string addition = RandomValue();
  const bool prepend = Random(2) == 0;
  const StoreStatus status =
      client()
          .Write(key, addition, {prepend ? WriteMode::kPrepend : WriteMode::kAppend}, 77, 1)
          .status;
  if (status == StoreStatus::kNotStored) return Missing(key);
  if (status == StoreStatus::kOutOfMemory || status == StoreStatus::kTooLarge) {
    ModelItem* const item = Live(key);
    const std::size_t bytes = item == nullptr ? 0 : item->value.size() + addition.size();
    if (status == StoreStatus::kTooLarge) {
      EXPECT_GT(bytes + kMaxKeyBytes, store_options_.max_item_size_bytes);
    }
    if (status == StoreStatus::kOutOfMemory) Refused();
    return;
  }
  ASSERT_EQ(status, StoreStatus::kStored);
  ModelItem* const item = Live(key);
  ASSERT_NE(item, nullptr);
  ModelItem changed = *item;
  changed.value = prepend ? addition + changed.value : changed.value + addition;
  changed.known_cas = 0;
  changed.stale = changed.leased = changed.fetched = false;
  Written(key, std::move(changed));
}

void StoreModelTest::Get() {
  const std::string key = RandomKey();
  ReadOptions options;
  options.want_cas = Random(4) == 0;
  options.set_exptime = Random(8) == 0;
  options.exptime = options.set_exptime ? RandomExptime() : 0;
  StringSink sink;
  if (!client().Read(key, options, sink)) {
    const bool may_lack_room = options.set_exptime && GetParam().may_refuse;
    return may_lack_room ? void() : Missing(key);
  }
  ModelItem* const item = Live(key);
  ASSERT_NE(item, nullptr) << key << " should be gone";
  EXPECT_TRUE(sink[0].value == item->value) << key;
  EXPECT_EQ(sink[0].meta.client_flags, item->flags);
  EXPECT_EQ(sink[0].meta.value_bytes, item->value.size());
  if (options.set_exptime) item->exptime = options.exptime;
  if (options.want_cas) SeenCas(*item, sink[0].meta.cas);
  Used(*item);
}

void StoreModelTest::GetDetailed() {
  const std::string key = RandomKey();
  DetailedRead read;
  read.want_value = Random(3) != 0;
  read.want_cas = Random(4) == 0;
  read.counts_as_use = Random(4) != 0;
  read.set_exptime = Random(8) == 0;
  read.exptime = read.set_exptime ? RandomExptime() : 0;
  read.recache = Random(2) == 0;
  read.recache_before = now() + Random(300);
  read.recache_after_set = Random(2) == 0;
  read.create = Random(3) == 0;
  read.create_exptime = read.create ? RandomExptime() : 0;
  if (Random(8) == 0) read.create_cas = FreshCas();
  std::string value;
  const std::optional<ItemMeta> meta = client().Detailed(key, read, &value);
  if (!meta) {
    const bool may_lack_room = (read.set_exptime || read.create) && GetParam().may_refuse;
    if (may_lack_room) return;
    EXPECT_FALSE(read.create) << "a missing item was not made";
    return Missing(key);
  }
  if (meta->created) {
    Missing(key);
    ModelItem made;
    made.exptime = read.create_exptime;
    made.leased = true;
    Written(key, made);
    if (read.create_cas != 0) SeenCas(items_[key], read.create_cas);
  }
  // One that was made as expired is not live, but was read.
  ModelItem* const item = meta->created ? &items_[key] : Live(key);
  ASSERT_NE(item, nullptr) << key << " should be gone";
  CheckDetails(*item, read, *meta, value);
  if (read.set_exptime && !meta->created) item->exptime = read.exptime;
  if (meta->won != Lease::kNone) item->leased = true;
  if (read.counts_as_use) Used(*item);
}

void StoreModelTest::CheckDetails(ModelItem& item, const DetailedRead& read, const ItemMeta& meta,
                                  const std::string& value) {
  EXPECT_EQ(meta.has_value, read.want_value);
  if (read.want_value) {
    EXPECT_TRUE(value == item.value);
  }
  EXPECT_EQ(meta.value_bytes, item.value.size());
  EXPECT_EQ(meta.client_flags, item.flags);
  EXPECT_EQ(meta.exptime, item.exptime == kExpiredImmediately ? 1 : item.exptime);
  EXPECT_EQ(meta.stale, item.stale);
  EXPECT_EQ(meta.fetched, item.fetched);
  EXPECT_EQ(meta.idle_seconds, now() - item.used_at);
  if (read.want_cas) SeenCas(item, meta.cas);
  const std::int64_t exptime =
      read.set_exptime && read.recache_after_set ? read.exptime : item.exptime;
  const bool little_left = read.recache && exptime != 0 && exptime < read.recache_before;
  const Lease won = meta.created  ? Lease::kVivify
                    : item.leased ? Lease::kNone
                    : item.stale  ? Lease::kStale
                    : little_left ? Lease::kRecache
                                  : Lease::kNone;
  EXPECT_EQ(meta.won, won);
  EXPECT_EQ(meta.held != Lease::kNone, item.leased && !meta.created);
}

void StoreModelTest::Invalidate() {
  const std::string key = RandomKey();
  ModelItem* const before = Live(key);
  InvalidateOptions options;
  options.mark_stale = Random(4) != 0;
  options.drop_value = Random(3) == 0;
  options.set_exptime = Random(3) == 0;
  options.exptime = options.set_exptime ? RandomExptime() : 0;
  options.compare = Random(4) == 0;
  const bool known = before != nullptr && before->known_cas != 0;
  options.compare_cas = known && Random(2) == 0 ? before->known_cas : 0;
  if (Random(6) == 0) options.set_cas = FreshCas();
  const StoreStatus status = client().Invalidate(key, options);
  if (status == StoreStatus::kNotFound) return Missing(key);
  if (status == StoreStatus::kOutOfMemory) return Refused();
  ModelItem* const item = Live(key);
  ASSERT_NE(item, nullptr);
  if (status == StoreStatus::kExists) {
    EXPECT_TRUE(options.compare && options.compare_cas == 0) << "false EXISTS";
    return;
  }
  ASSERT_EQ(status, StoreStatus::kOk);
  EXPECT_TRUE(!options.compare || options.compare_cas != 0);
  if (!options.mark_stale && !options.drop_value) {
    items_.erase(key);
    return;
  }
  // Without its value, but not stale, it is still the item that clients compare with.
  const bool keeps_cas = options.set_cas == 0 && !options.mark_stale;
  if (options.drop_value) {
    const ModelItem old = std::exchange(*item, ModelItem());
    item->used_at = now();
    item->version = old.version;
    item->known_cas = old.known_cas;
  }
  if (!keeps_cas) Rewritten(*item);
  item->stale = options.mark_stale;
  item->leased = false;
  if (options.set_exptime) item->exptime = options.exptime;
  if (options.set_cas != 0) SeenCas(*item, options.set_cas);
}

void StoreModelTest::Delete() {
  const std::string key = RandomKey();
  const bool live = Live(key) != nullptr;
  if (client().Delete(key) == StoreStatus::kNotFound) return Missing(key);
  EXPECT_TRUE(live);
  items_.erase(key);
}

void StoreModelTest::Touch() {
  const std::string key = RandomKey();
  const std::int64_t exptime = RandomExptime();
  const StoreStatus status = client().Touch(key, exptime);
  if (status == StoreStatus::kNotFound) return Missing(key);
  if (status == StoreStatus::kOutOfMemory) return Refused();
  ASSERT_NE(Live(key), nullptr);
  Used(*Live(key));
  Live(key)->exptime = exptime;
}

void StoreModelTest::Arithmetic() {
  const std::string key = RandomKey();
  const bool increment = Random(2) == 0;
  const std::uint64_t delta = random_() >> Random(64);
  const ArithmeticResult result = client().Arithmetic(key, increment, delta);
  if (result.status == StoreStatus::kNotFound) return Missing(key);
  ModelItem* const item = Live(key);
  if (result.status == StoreStatus::kOutOfMemory) return Refused();
  ASSERT_NE(item, nullptr);
  const bool numeric = !item->value.empty() && item->value.size() <= 20 &&
                       item->value.find_first_not_of("0123456789") == std::string::npos &&
                       (item->value.size() < 20 || item->value <= "18446744073709551615");
  ASSERT_EQ(result.status, numeric ? StoreStatus::kOk : StoreStatus::kNotNumeric);
  if (!numeric) return;
  const std::uint64_t old = std::stoull(item->value);
  const std::uint64_t expected = increment ? old + delta : old > delta ? old - delta : 0;
  EXPECT_EQ(result.value, expected);
  ModelItem changed = *item;
  changed.value = std::to_string(expected);
  changed.known_cas = 0;
  changed.fetched = false;
  Written(key, std::move(changed));
}

void StoreModelTest::Flush() {
  const std::int64_t at = Random(2) == 0 ? 0 : now() + Random(3);
  store().FlushAll(at);
  FireFlush();
  flush_at_ = at <= now() ? now() : at;
  FireFlush();
}

void StoreModelTest::Resize() {
  const std::uint64_t least = store().min_memory_limit_bytes();
  EXPECT_TRUE(store().SetMemoryTarget(least + random_() % (2 * GetParam().limit_bytes)));
}

void StoreModelTest::Step() {
  const int dice = Random(1000);
  if (dice < 350) return Write();
  if (dice < 400) return SetSeveral();
  if (dice < 450) return Invalidate();
  if (dice < 550) return Get();
  if (dice < 650) return GetDetailed();
  if (dice < 720) return CompareAndSwap();
  if (dice < 770) return Concatenate();
  if (dice < 840) return Delete();
  if (dice < 880) return Touch();
  if (dice < 950) return Arithmetic();
  if (dice < 960) return clock_.Advance(std::chrono::milliseconds(Random(900)));
  if (dice < 961) return clock_.Advance(std::chrono::seconds(Random(40)));
  if (dice == 962 && Random(10) == 0) return Flush();
  if (dice == 963 && GetParam().resizes) return Resize();
  if (dice < 970) return client().session().EndTurn();
  store().MaintainOnce();
}

std::uint64_t StoreModelTest::Run(std::uint64_t seed, int steps) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  random_.seed(seed);
  items_.clear();
  version_of_cas_.clear();
  flush_at_ = 0;
  StoreOptions options = SmallOptions();
  options.memory_limit_bytes = GetParam().limit_bytes;
  options.evictions = GetParam().evictions;
  options.hash_seed = seed + 1;
  Open(options);
  for (int i = 0; i < steps && !HasFailure(); ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    Step();
  }
  Maintain();
  // The store's own counts agree with what can be read back.
  std::uint64_t found = 0;
  for (int i = 0; i < GetParam().keys && !HasFailure(); ++i) {
    const std::string key = "key" + std::to_string(i);
    const std::optional<std::string> value = client().Get(key);
    found += value.has_value();
    if (!value) Missing(key);
    if (value) {
      EXPECT_EQ(*value, Live(key) == nullptr ? "nothing" : Live(key)->value);
    }
  }
  EXPECT_EQ(store().stats().items, found);
  return store().stats().evicted_items;
}

TEST_P(StoreModelTest, ForgetsButNeverLies) {
  const char* const fixed = std::getenv("PODCACHE_MODEL_SEED");
  if (fixed != nullptr) {
    Run(std::strtoull(fixed, nullptr, 10), GetParam().steps);
    return;
  }
  std::random_device device;
  std::uint64_t evicted = 0;
  for (std::uint64_t seed = 0; seed < 6 && !HasFailure(); ++seed) {
    evicted += Run(seed, GetParam().steps);
  }
  for (int i = 0; i < 4 && !HasFailure(); ++i) evicted += Run(device(), GetParam().steps);
  // A run that flushes often may stay within its budget, not all of them.
  if (GetParam().may_forget) {
    EXPECT_GT(evicted, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Budgets, StoreModelTest,
    ::testing::Values(
        ModelCase{"roomy", 64 << 20, 500, 3000, true, false, false, false, 15'000},
        ModelCase{"roomy_large_values", 256 << 20, 40, 200'000, true, false, false, false, 5'000},
        ModelCase{"tight", 1 << 20, 20'000, 8000, true, true, true, false, 25'000},
        ModelCase{"tight_large_values", 4 << 20, 2000, 200'000, true, true, true, false, 25'000},
        ModelCase{"no_eviction", 1 << 20, 20'000, 4000, false, false, true, false, 25'000},
        ModelCase{"resizing", 1 << 20, 20'000, 20'000, true, true, true, true, 25'000}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace podcache::store
