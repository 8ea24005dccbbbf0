// One WatchResize stream: a message at once, then one per interval until the resize is done.
//
// Threads: driven by gRPC's callbacks. Ownership: the stream deletes itself when gRPC is through
// with it.
#pragma once

#include <atomic>
#include <chrono>

#include "server/admin/backend.h"

namespace grpc {
template <class Response>
class ServerWriteReactor;
}
namespace podcache::admin::v1 {
class WatchResizeRequest;
}

namespace podcache::admin {

inline constexpr std::chrono::milliseconds kDefaultWatchInterval{100};
inline constexpr std::chrono::milliseconds kMinWatchInterval{10};
inline constexpr std::chrono::seconds kMaxWatchInterval{10};
inline constexpr int kMaxWatches = 16;

// Refuses an interval out of range and a stream too many. `active` counts the streams; it and the
// backend outlive the gRPC server.
grpc::ServerWriteReactor<v1::ResizeProgress>* NewResizeWatcher(
    const v1::WatchResizeRequest& request, const Backend& backend, std::atomic<int>& active);

}  // namespace podcache::admin
