// Walking over all items without stopping anybody: in bounded steps, and with no pointer into the
// store kept between two of them.
//
// The order is that of the index: partition by partition, in each by tag. An item's partition and
// tag follow from its key alone, so an item that is there during the whole walk is shown exactly
// once, whatever moves, grows or is evicted meanwhile; one that comes or goes is shown once or not
// at all.
//
// Threads: a cursor belongs to one user at a time. A step holds one partition's lock while it calls
// the visitor, for about a hundred items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace podcache::store {

struct ScanCursor {
  std::size_t partition = 0;
  std::uint32_t tag = 0;  // The first one not yet shown.
};

// An item as it is at this moment. The key views item memory: valid during the call.
struct ItemView {
  std::string_view key;
  std::uint64_t cas = 0;  // From now on known to a client; 0 where the store has none.
  std::int64_t exptime = 0;
  std::int64_t last_access_seconds = 0;  // Unix time.
  std::uint64_t item_bytes = 0;          // With its headers.
  std::uint64_t value_bytes = 0;
  std::uint32_t client_flags = 0;
  bool fetched = false;
};

class ItemVisitor {
 public:
  // Must be quick and must not call the store. Expired and flushed items are not shown.
  virtual void Visit(const ItemView& item) = 0;
  // Whether ItemView::cas is wanted: an item whose id is known costs a little more from then on.
  virtual bool wants_cas() const noexcept { return false; }

 protected:
  ~ItemVisitor() = default;
};

}  // namespace podcache::store
