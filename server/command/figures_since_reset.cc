#include "server/command/figures_since_reset.h"

namespace podcache::command {

void FiguresSinceReset::Mark(const store::StoreStats& store, const ServerStats& server) {
  MutexLock lock(mutex_);
  store_ = store;
  server_ = server;
}

store::StoreStats FiguresSinceReset::Of(store::StoreStats now) const {
  MutexLock lock(mutex_);
  now.total_items -= store_.total_items;
  now.evicted_items -= store_.evicted_items;
  now.evicted_unfetched_items -= store_.evicted_unfetched_items;
  now.expired_unfetched_items -= store_.expired_unfetched_items;
  now.reclaimed_items -= store_.reclaimed_items;
  now.evicted_with_exptime_items -= store_.evicted_with_exptime_items;
  now.expired_in_sweep_items -= store_.expired_in_sweep_items;
  now.swept_items -= store_.swept_items;
  now.sweeps -= store_.sweeps;
  now.evicted_active_items -= store_.evicted_active_items;
  now.kept_items -= store_.kept_items;
  now.direct_reclaims -= store_.direct_reclaims;
  now.maintenance_runs -= store_.maintenance_runs;
  return now;
}

ServerStats FiguresSinceReset::Of(ServerStats now) const {
  MutexLock lock(mutex_);
  now.total_connections -= server_.total_connections;
  now.rejected_connections -= server_.rejected_connections;
  now.listen_disabled -= server_.listen_disabled;
  now.listen_disabled_us -= server_.listen_disabled_us;
  now.idle_kicks -= server_.idle_kicks;
  now.read_out_of_memory -= server_.read_out_of_memory;
  now.watch_lines_dropped -= server_.watch_lines_dropped;
  now.watch_lines_written -= server_.watch_lines_written;
  now.watch_lines_skipped -= server_.watch_lines_skipped;
  now.watch_lines_sent -= server_.watch_lines_sent;
  return now;
}

}  // namespace podcache::command
