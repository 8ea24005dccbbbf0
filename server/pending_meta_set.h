// A meta set whose value is still on its way: the request, with the bytes it refers to, while the
// input it came in is given up.
//
// Threads: the worker that owns the connection.
#pragma once

#include <algorithm>
#include <array>

#include "server/protocol/limits.h"
#include "server/protocol/meta_request.h"

namespace podcache {

class PendingMetaSet {
 public:
  PendingMetaSet() = default;
  PendingMetaSet(const PendingMetaSet&) = delete;
  PendingMetaSet& operator=(const PendingMetaSet&) = delete;

  void Keep(const protocol::MetaRequest& request) noexcept {
    request_ = request;
    request_.key = Copy(request.key, key_);
    request_.opaque = Copy(request.opaque, opaque_);
  }
  const protocol::MetaRequest& request() const noexcept { return request_; }

 private:
  template <class Buffer>
  static std::string_view Copy(std::string_view bytes, Buffer& buffer) noexcept {
    std::copy(bytes.begin(), bytes.end(), buffer.begin());
    return {buffer.data(), bytes.size()};
  }

  protocol::MetaRequest request_;
  std::array<char, protocol::kMaxKeyBytes> key_;
  std::array<char, protocol::kMaxOpaqueBytes> opaque_;
};

}  // namespace podcache
