// What `stats reset` takes off the counters of store and server; gauges stay. The counters of the
// workers have their own (metrics::CounterRegistry).
//
// Threads: any.
#pragma once

#include "common/base/mutex.h"
#include "server/command/server_context.h"
#include "server/store/store.h"

namespace podcache::command {

class FiguresSinceReset {
 public:
  // From now on counted from here.
  void Mark(const store::StoreStats& store, const ServerStats& server);
  store::StoreStats Of(store::StoreStats now) const;
  ServerStats Of(ServerStats now) const;

 private:
  mutable Mutex mutex_;
  store::StoreStats store_ GUARDED_BY(mutex_);
  ServerStats server_ GUARDED_BY(mutex_);
};

}  // namespace podcache::command
