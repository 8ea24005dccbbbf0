#include "server/command/watched_evictions.h"

#include <algorithm>
#include <chrono>

namespace podcache::command {

WatchedEvictions::WatchedEvictions(watch::WatchHub& hub, const Clock& clock)
    : hub_(hub), clock_(clock), buffer_(hub.NewBuffer()) {}

void WatchedEvictions::OnEvicted(const store::EvictedItem& item) noexcept {
  using std::chrono::microseconds;
  const protocol::WatchStamp stamp{
      std::chrono::duration_cast<microseconds>(clock_.WallNow()).count(), hub_.NextGid()};
  const std::int64_t ttl =
      item.exptime == 0 ? -1 : std::max<std::int64_t>(item.exptime - clock_.WallSeconds(), 0);
  char line[protocol::kMaxWatchLineBytes];
  const char* const end = protocol::WriteEviction(line, stamp, item.key, item.fetched, ttl,
                                                  item.idle_seconds, item.value_bytes);
  buffer_->Append(protocol::kEvictions, stamp.gid, {line, static_cast<std::size_t>(end - line)});
}

}  // namespace podcache::command
