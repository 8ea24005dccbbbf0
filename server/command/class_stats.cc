// `stats items` and `stats slabs`: the whole cache shown as one class, number 1. Its "chunks" are
// segments, four of them a "page": a megabyte at the usual sizes.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "server/command/stats_command.h"
#include "server/protocol/encoders.h"

namespace podcache::command {

using metrics::Counter;
using protocol::AppendStat;

namespace {

class ClassWriter {
 public:
  ClassWriter(std::string_view prefix, OutputBuffer& output) : prefix_(prefix), output_(output) {}
  void Add(std::string_view key, std::uint64_t value) {
    name_.assign(prefix_).append(key);
    AppendStat(name_, value, output_);
  }
  void AddZeros(std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) Add(key, 0);
  }

 private:
  std::string_view prefix_;
  std::string name_;
  OutputBuffer& output_;
};

}  // namespace

// One queue, which memcached would call hot; `age` is of the item that would be evicted next.
void StatsCommand::Items(OutputBuffer& out) {
  const store::StoreStats now = store_.stats();
  // Like memcached: a class that never held anything is not listed.
  if (now.total_items == 0) return;
  const store::StoreStats store = since_reset_.Of(now);
  const std::uint64_t age = store_.NextVictimIdleSeconds();
  ClassWriter writer("items:1:", out);
  writer.Add("number", store.items);
  writer.Add("number_hot", store.items);
  writer.AddZeros({"number_warm", "number_cold"});
  writer.Add("age_hot", age);
  writer.Add("age_warm", 0);
  writer.Add("age", age);
  writer.Add("mem_requested", store.item_bytes);
  writer.Add("evicted", store.evicted_items);
  writer.Add("evicted_nonzero", store.evicted_with_exptime_items);
  writer.Add("evicted_time", store.last_evicted_idle_seconds);
  writer.Add("outofmemory", Sum(Counter::kStoreNoMemory));
  writer.Add("tailrepairs", 0);
  writer.Add("reclaimed", store.reclaimed_items);
  writer.Add("expired_unfetched", store.expired_unfetched_items);
  writer.Add("evicted_unfetched", store.evicted_unfetched_items);
  writer.Add("evicted_active", store.evicted_active_items);
  writer.Add("crawler_reclaimed", store.expired_in_sweep_items);
  writer.Add("crawler_items_checked", store.swept_items);
  writer.AddZeros({"lrutail_reflocked", "moves_to_cold", "moves_to_warm"});
  writer.Add("moves_within_lru", store.kept_items);
  writer.Add("direct_reclaims", store.direct_reclaims);
  writer.Add("hits_to_hot", Sum(Counter::kGetHits) + Sum(Counter::kTouchHits));
  writer.AddZeros({"hits_to_warm", "hits_to_cold", "hits_to_temp"});
}

void StatsCommand::Slabs(OutputBuffer& out) {
  const store::StoreStats store = store_.stats();
  const std::uint64_t used = store.segments_open + store.segments_sealed;
  const std::uint64_t chunks =
      store.segment_size_bytes == 0 ? 0 : store.page_bytes / store.segment_size_bytes;
  if (store.total_items > 0) {
    ClassWriter writer("1:", out);
    writer.Add("chunk_size", store.segment_size_bytes);
    writer.Add("chunks_per_page", store::kSegmentsPerPage);
    writer.Add("total_pages", chunks / store::kSegmentsPerPage);
    writer.Add("total_chunks", chunks);
    writer.Add("used_chunks", used);
    writer.Add("free_chunks", chunks - used);
    writer.Add("free_chunks_end", 0);
    writer.Add("get_hits", Sum(Counter::kGetHits));
    // memcached leaves out what cas did not find.
    writer.Add("cmd_set", Sum(Counter::kCmdSet) - Sum(Counter::kCasMisses));
    writer.Add("delete_hits", Sum(Counter::kDeleteHits));
    writer.Add("incr_hits", Sum(Counter::kIncrHits));
    writer.Add("decr_hits", Sum(Counter::kDecrHits));
    writer.Add("cas_hits", Sum(Counter::kCasHits));
    writer.Add("cas_badval", Sum(Counter::kCasBadval));
    writer.Add("touch_hits", Sum(Counter::kTouchHits));
  }
  AppendStat("active_slabs", store.total_items > 0 ? 1 : 0, out);
  AppendStat("total_malloced", store.page_bytes, out);
}

}  // namespace podcache::command
