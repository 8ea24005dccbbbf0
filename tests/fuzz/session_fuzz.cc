// The session over a real store: the same bytes whole and cut in pieces must get the same replies.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "tests/unit/server/session/session_harness.h"

namespace {

using podcache::testing::Connection;
using podcache::testing::Harness;

// Small enough that emptying it costs little, large enough that no input makes it evict.
constexpr std::uint64_t kStoreBytes = std::uint64_t{8} << 20;
constexpr std::uint64_t kMaxItemBytes = std::uint64_t{256} << 10;
// Every so many of the values of an input's first byte cut it into single bytes, which costs most.
constexpr unsigned kSingleBytesShare = 16;

std::unique_ptr<Harness> NewHarness() {
  podcache::store::StoreOptions store = Harness::DefaultStore();
  store.memory_limit_bytes = kStoreBytes;
  store.max_item_size_bytes = kMaxItemBytes;
  // Uniques depend on where an item happens to lie.
  store.cas = false;
  store.background_maintenance = false;
  podcache::command::CommandOptions options;
  options.shutdown_enabled = true;
  return std::make_unique<Harness>(options, store);
}

// Stores are too large to be made for every input.
Harness& EmptyHarness(int which) {
  static const std::unique_ptr<Harness> harnesses[] = {NewHarness(), NewHarness()};
  Harness& harness = *harnesses[which];
  harness.store.FlushAll(0);
  // What lies in segments still open goes in a further round.
  for (int round = 0; round < 2; ++round) {
    while (harness.store.MaintainOnce()) {
    }
  }
  PODCACHE_CHECK(harness.store.stats().items == 0);
  harness.context.asked_limits.clear();
  harness.context.shutdowns.clear();
  return harness;
}

std::string Replies(Harness& harness, std::string_view input, std::size_t piece_bytes) {
  Connection connection(harness);
  std::string replies;
  for (; !input.empty() && !connection.closed();
       input.remove_prefix(std::min(piece_bytes, input.size()))) {
    replies += connection.Receive(input.substr(0, piece_bytes));
  }
  return replies;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  // The first byte says how large the pieces are.
  const std::size_t piece_bytes = data[0] % kSingleBytesShare == 0 ? 1 : 2 + data[0] % 61U;
  const std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = Replies(EmptyHarness(0), input, input.size());
  const std::string pieces = Replies(EmptyHarness(1), input, piece_bytes);
  // Statistics tell of the past of each server. Dumps and watch are refused behind replies that
  // have not gone yet, which depends on how the input was cut (docs/protocol.md).
  for (const char* const text : {"STAT ", "\x81\x10", "ERROR cannot pipeline"}) {
    if (whole.find(text) != std::string::npos) return 0;
  }
  PODCACHE_CHECK(whole == pieces);
  return 0;
}
