// The seam between a connection and the way its bytes travel: plain sockets now, TLS beside them
// later.
//
// Threads: used by the worker that owns the connection, and by one at a time.
// Ownership: a transport owns its descriptor and closes it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/net/file_descriptor.h"

namespace podcache::net {

enum class IoStatus : std::uint8_t {
  kOk,          // `bytes` (at least 1) were moved.
  kWouldBlock,  // Not now; wait for the event.
  kClosed,      // The peer has ended its side in order.
  kError,       // Reset, timed out: nothing more will come or go.
};

struct IoResult {
  IoStatus status = IoStatus::kWouldBlock;
  std::size_t bytes = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // The descriptor to wait on.
  virtual int descriptor() const noexcept = 0;
  // One attempt each; never blocks.
  virtual IoResult Receive(iovec* pieces, int count) noexcept = 0;
  virtual IoResult Send(iovec* pieces, int count) noexcept = 0;
  // What was sent is the last; receiving goes on.
  virtual void EndSending() noexcept = 0;
  // Something has come that was not received yet.
  virtual bool HasUnread() const noexcept = 0;
};

// `socket` is non-blocking.
std::unique_ptr<Transport> NewPlainTransport(FileDescriptor socket);

}  // namespace podcache::net
