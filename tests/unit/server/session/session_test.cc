// The session's own duties: budgets, order, direct reception, boundaries, counters and timing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/server/session/session_harness.h"

namespace podcache {
namespace {

using metrics::CommandClass;
using metrics::Counter;
using testing::Connection;
using testing::Harness;

std::string Set(const std::string& key, const std::string& value) {
  return "set " + key + " 0 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
}

std::string Value(const std::string& key, const std::string& value) {
  return "VALUE " + key + " 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
}

std::string Repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(SessionTest, RequestsBeyondTheBudgetWaitForALaterTurn) {
  command::CommandOptions options;
  options.requests_per_turn = 1;
  Harness harness(options);
  Connection connection(harness);
  EXPECT_EQ(connection.Receive(Repeat(Set("a", "x"), 6)), Repeat("STORED\r\n", 6));
  EXPECT_EQ(connection.yields(), 5);
}

TEST(SessionTest, TheBuiltInBudgetLetsFiveHundredRequestsThrough) {
  Harness harness;
  Connection connection(harness);
  EXPECT_EQ(connection.Receive(Repeat("get a\r\n", 500)), Repeat("END\r\n", 500));
  EXPECT_EQ(connection.yields(), 0);
  EXPECT_EQ(connection.Receive(Repeat("get a\r\n", 501)), Repeat("END\r\n", 501));
  EXPECT_EQ(connection.yields(), 1);
}

// Runs of gets are looked up 16 at a time; the replies must not show it.
TEST(SessionTest, AnyNumberOfKeysInAnyGroupingAnswersInOrder) {
  Harness harness;
  for (int i = 0; i < 40; i += 2) {
    const std::string key = "k" + std::to_string(i);
    ASSERT_EQ(harness.Ask(Set(key, "v" + key)), "STORED\r\n");
  }
  for (int keys = 1; keys <= 40; ++keys) {
    for (int per_line = 1; per_line <= keys; ++per_line) {
      std::string input;
      std::string expected;
      for (int i = 0; i < keys; ++i) {
        const bool starts = i % per_line == 0;
        const bool ends = i % per_line == per_line - 1 || i == keys - 1;
        const std::string key = "k" + std::to_string(i);
        input += (starts ? "get " : " ") + key + (ends ? "\r\n" : "");
        if (i % 2 == 0) expected += Value(key, "v" + key);
        if (ends) expected += "END\r\n";
      }
      ASSERT_EQ(harness.Ask(input), expected) << keys << " keys, " << per_line << " a line";
    }
  }
}

// Sets that have arrived whole are stored 16 at a time; the replies must not show it.
TEST(SessionTest, AnyNumberOfSetsAmongOthersAnswersInOrder) {
  Harness harness;
  for (int sets = 1; sets <= 40; ++sets) {
    std::string input;
    std::string expected;
    for (int i = 0; i < sets; ++i) {
      // Each twice, and read once in between.
      const std::string key = "k" + std::to_string(i % 7);
      const std::string value = std::to_string(i) + std::string(static_cast<std::size_t>(i), 'v');
      input += Set(key, "before") + Set(key, value);
      expected += "STORED\r\nSTORED\r\n";
      if (i % 3 != 0) continue;
      input += i % 2 == 0 ? "get " + key + "\r\n" : "mg " + key + " v\r\n";
      expected += i % 2 == 0 ? Value(key, value) + "END\r\n"
                             : "VA " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
    }
    ASSERT_EQ(harness.Ask(input), expected) << sets;
  }
}

TEST(SessionTest, SetsInARowAreJudgedOneByOne) {
  Harness harness;
  const std::string too_large(2U << 20, 'x');
  ASSERT_EQ(harness.Ask(Set("old", "1")), "STORED\r\n");
  EXPECT_EQ(harness.Ask(Set("a", "1") + Set("old", too_large) + Set("b", "2") +
                        "set c 0 0 1\r\nxyz\r\n" + Set("d", "4") + "set e 0 0 1 noreply\r\n5\r\n" +
                        Set("f", "6") + "nonsense\r\n" + Set("g", "7") + "get old a b d e f g\r\n"),
            "STORED\r\nSERVER_ERROR object too large for cache\r\nSTORED\r\n"
            "CLIENT_ERROR bad data chunk\r\nCLIENT_ERROR bad command line "
            "format\r\nSTORED\r\nSTORED\r\nERROR\r\nSTORED\r\n" +
                Value("a", "1") + Value("b", "2") + Value("d", "4") + Value("e", "5") +
                Value("f", "6") + Value("g", "7") + "END\r\n");
  // As if each had come alone: the refused ones are not counted as commands.
  EXPECT_EQ(harness.Count(Counter::kStoreTooLarge), 1U);
  EXPECT_EQ(harness.Count(Counter::kCmdSet), 8U);
}

TEST(SessionTest, AWriteBetweenGetsIsSeenByTheLaterOnly) {
  Harness harness;
  EXPECT_EQ(harness.Ask(Set("a", "1") + "get a\r\n" + Set("a", "2") +
                        "get a\r\ngets b\r\nget a\r\n"
                        "delete a\r\nget a\r\n"),
            "STORED\r\n" + Value("a", "1") + "END\r\nSTORED\r\n" + Value("a", "2") +
                "END\r\nEND\r\n" + Value("a", "2") + "END\r\nDELETED\r\nEND\r\n");
}

TEST(SessionTest, DifferentRetrievalsMix) {
  Harness harness;
  ASSERT_EQ(harness.Ask(Set("a", "1")), "STORED\r\n");
  const std::string gets = harness.Ask("gets a\r\n");
  EXPECT_EQ(harness.Ask("get a\r\ngets a\r\ngat 0 a\r\ngats 5 a\r\nget a\r\n"),
            Value("a", "1") + "END\r\n" + gets + Value("a", "1") + "END\r\n" + gets +
                Value("a", "1") + "END\r\n");
}

TEST(SessionTest, LargeRepliesLeaveInPieces) {
  Harness harness;
  const std::string value(16 * 1024, 'x');
  ASSERT_EQ(harness.Ask(Set("a", value)), "STORED\r\n");
  Connection connection(harness);
  // In a short line and in one that is streamed.
  for (const int keys : {200, 2000}) {
    EXPECT_EQ(connection.Receive("get" + Repeat(" a", keys) + "\r\n"),
              Repeat(Value("a", value), keys) + "END\r\n");
  }
  EXPECT_GT(connection.yields(), 60);
  // The budget of 256 KiB, exceeded by at most one batch of 16 values.
  EXPECT_LE(connection.peak_output_bytes(), (256 + 17 * 16) * 1024U);
}

TEST(SessionTest, ALongRetrievalIsNeverKeptInMemory) {
  Harness harness;
  Connection connection(harness);
  std::string received = connection.Receive("get k");
  for (int i = 0; i < 5000; ++i) {
    received += connection.Receive(" key" + std::to_string(i));
    ASSERT_LE(connection.unconsumed_bytes(), 2049U);
  }
  EXPECT_FALSE(connection.AtRequestBoundary());
  EXPECT_EQ(received + connection.Receive("\r\n"), "END\r\n");
  EXPECT_TRUE(connection.AtRequestBoundary());
  EXPECT_EQ(harness.Count(Counter::kGetMisses), 5001U);
}

TEST(SessionTest, LargeValuesAreReceivedStraightIntoTheItem) {
  Harness harness;
  Connection connection(harness);
  const std::string value(500'000, 'v');
  EXPECT_EQ(connection.Receive("set a 0 0 500000\r\n" + value.substr(0, 1000)), "");
  EXPECT_FALSE(connection.AtRequestBoundary());
  for (std::size_t at = 1000; at < value.size(); at += 50'000) {
    EXPECT_EQ(connection.Receive(value.substr(at, 50'000)), "");
  }
  EXPECT_GT(connection.direct_bytes(), 400'000U);
  EXPECT_EQ(connection.unconsumed_bytes(), 0U);
  EXPECT_EQ(connection.Receive("\r"), "");
  EXPECT_EQ(connection.Receive("\nget a\r\n"), "STORED\r\n" + Value("a", value) + "END\r\n");
}

TEST(SessionTest, AConnectionThatEndsInsideAValueStoresNothing) {
  Harness harness;
  ASSERT_EQ(harness.Ask(Set("a", "old")), "STORED\r\n");
  for (const std::size_t sent : {0U, 1U, 4999U, 5000U, 5001U}) {
    Connection connection(harness);
    const std::string request = "set a 0 0 5000\r\n" + std::string(5000, 'n') + "\r";
    EXPECT_EQ(connection.Receive(request.substr(0, 16 + sent)), "");
  }
  EXPECT_EQ(harness.Ask("get a\r\n"), Value("a", "old") + "END\r\n");
}

TEST(SessionTest, RefusedDataIsSwallowedWithoutBeingKept) {
  Harness harness;
  Connection connection(harness);
  EXPECT_EQ(connection.Receive("set a x 0 2147483645\r\n"),
            "CLIENT_ERROR bad command line format\r\n");
  const std::string piece(1'000'000, 'x');
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(connection.Receive(piece), "");
    EXPECT_EQ(connection.unconsumed_bytes(), 0U);
  }
  EXPECT_FALSE(connection.AtRequestBoundary());
}

TEST(SessionTest, AReplyBeingSentKeepsItsValue) {
  Harness harness;
  const std::string before(200'000, 'b');
  ASSERT_EQ(harness.Ask(Set("a", before)), "STORED\r\n");
  // The pipelined writes are executed while the large value still waits to be sent.
  EXPECT_EQ(harness.Ask("get a\r\n" + Set("a", "after") + "get a\r\ndelete a\r\n"),
            Value("a", before) + "END\r\nSTORED\r\n" + Value("a", "after") + "END\r\nDELETED\r\n");
}

TEST(SessionTest, ASetThatFindsNoMemoryDeletesTheOldValue) {
  store::StoreOptions options = Harness::DefaultStore();
  options.evictions = false;
  options.memory_limit_bytes = 16U << 20;
  Harness harness({}, options);
  const std::string full = "SERVER_ERROR out of memory storing object\r\n";
  const std::string value(4000, 'x');
  int stored = 0;
  while (stored < 10'000 && harness.Ask(Set("k" + std::to_string(stored), value)) == "STORED\r\n") {
    ++stored;
  }
  ASSERT_LT(stored, 10'000);
  EXPECT_GT(stored, 1000);
  EXPECT_EQ(harness.Ask("get k0\r\n"), Value("k0", value) + "END\r\n");
  EXPECT_EQ(harness.Ask("append k0 0 0 4000\r\n" + value + "\r\n"), full);
  EXPECT_EQ(harness.Ask("get k0\r\n"), Value("k0", value) + "END\r\n");
  EXPECT_EQ(harness.Ask(Set("k0", value + value)), full);
  EXPECT_EQ(harness.Ask("get k0\r\n"), "END\r\n");
  EXPECT_GE(harness.Count(Counter::kStoreNoMemory), 3U);
}

TEST(SessionTest, NothingIsUnderstoodAfterTheEnd) {
  Harness harness;
  Connection connection(harness);
  EXPECT_EQ(connection.Receive("get a\r\nquit\r\n" + Set("a", "x")), "END\r\n");
  EXPECT_TRUE(connection.closed());
  EXPECT_EQ(harness.Ask("get a\r\n"), "END\r\n");
}

// What memcached 1.6.45 counts for each request, seen on its own `stats`.
TEST(SessionTest, Counters) {
  using Counts = std::vector<std::pair<Counter, std::uint64_t>>;
  const std::string big(1'100'000, 'x');
  const std::vector<std::pair<std::string, Counts>> requests = {
      {"get z1 z2\r\n", {{Counter::kCmdGet, 2}, {Counter::kGetMisses, 2}}},
      {Set("s", "a"), {{Counter::kCmdSet, 1}}},
      {"get s s z\r\n", {{Counter::kCmdGet, 3}, {Counter::kGetHits, 2}, {Counter::kGetMisses, 1}}},
      {"gat 0 s\r\n", {{Counter::kCmdTouch, 1}, {Counter::kTouchHits, 1}}},
      {"gat 0 z\r\n", {{Counter::kCmdTouch, 1}, {Counter::kTouchMisses, 1}}},
      {"touch s 0\r\n", {{Counter::kCmdTouch, 1}, {Counter::kTouchHits, 1}}},
      {"touch z 0\r\n", {{Counter::kCmdTouch, 1}, {Counter::kTouchMisses, 1}}},
      {"add s 0 0 1\r\na\r\n", {{Counter::kCmdSet, 1}}},
      {"append z 0 0 1\r\na\r\n", {{Counter::kCmdSet, 1}}},
      {"cas z 0 0 1 5\r\na\r\n", {{Counter::kCmdSet, 1}, {Counter::kCasMisses, 1}}},
      {"cas s 0 0 1 0\r\na\r\n", {{Counter::kCmdSet, 1}, {Counter::kCasBadval, 1}}},
      {"incr s 1\r\n", {{Counter::kProtocolErrors, 1}}},
      {Set("n", "1"), {{Counter::kCmdSet, 1}}},
      {"incr n 1\r\n", {{Counter::kIncrHits, 1}}},
      {"decr n 1\r\n", {{Counter::kDecrHits, 1}}},
      {"incr z 1\r\n", {{Counter::kIncrMisses, 1}}},
      {"decr z 1\r\n", {{Counter::kDecrMisses, 1}}},
      {"delete s\r\n", {{Counter::kDeleteHits, 1}}},
      {"delete s\r\n", {{Counter::kDeleteMisses, 1}}},
      {"set s 0 0 1\r\nabc", {{Counter::kCmdSet, 1}, {Counter::kProtocolErrors, 1}}},
      {Set("s", big), {{Counter::kStoreTooLarge, 1}, {Counter::kProtocolErrors, 1}}},
      {"set s x 0 1\r\na\r\n", {{Counter::kProtocolErrors, 1}}},
      {"flush_all\r\n", {{Counter::kCmdFlush, 1}}},
      {"flush_all x\r\n", {{Counter::kCmdFlush, 1}, {Counter::kProtocolErrors, 1}}},
      {"touch s x\r\n", {{Counter::kProtocolErrors, 1}}},
      {"nonsense\r\n", {{Counter::kProtocolErrors, 1}}},
      {"GET / HTTP/1.1\r\n", {{Counter::kProtocolErrors, 1}}},
      {"incr n x noreply\r\n", {{Counter::kProtocolErrors, 1}}}};
  Harness harness;
  const std::vector<Counter> ignored = {Counter::kTextCommands, Counter::kGetExpired,
                                        Counter::kGetFlushed};
  for (const auto& [request, expected] : requests) {
    std::vector<std::uint64_t> wanted(static_cast<std::size_t>(Counter::kCount));
    for (std::size_t i = 0; i < wanted.size(); ++i)
      wanted[i] = harness.Count(static_cast<Counter>(i));
    for (const auto& [counter, n] : expected) wanted[static_cast<std::size_t>(counter)] += n;
    harness.Ask(request);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto counter = static_cast<Counter>(i);
      if (std::find(ignored.begin(), ignored.end(), counter) != ignored.end()) continue;
      EXPECT_EQ(harness.Count(counter), wanted[i])
          << "counter " << i << " after " << request.substr(0, 40);
    }
  }
}

TEST(SessionTest, RequestsAreTimedByClass) {
  Harness harness;
  Connection connection(harness);
  connection.Receive(Set("a", "1") +
                     "get a\r\nget a b\r\ngat 0 a\r\nincr a 1\r\ntouch a 0\r\nversion\r\n"
                     "delete a\r\nget a\r\n");
  std::vector<std::uint64_t> counts(metrics::WorkerCounters::kClasses);
  std::uint64_t commands = 0;
  harness.registry.ForEach([&](const metrics::WorkerCounters& block) {
    commands += block.commands.load();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      for (const auto& bucket : block.duration_buckets[i]) counts[i] += bucket.load();
    }
  });
  const auto count = [&](CommandClass which) { return counts[static_cast<std::size_t>(which)]; };
  EXPECT_EQ(count(CommandClass::kGet), 3U);
  EXPECT_EQ(count(CommandClass::kMultiget), 1U);
  EXPECT_EQ(count(CommandClass::kStore), 1U);
  EXPECT_EQ(count(CommandClass::kDelete), 1U);
  EXPECT_EQ(count(CommandClass::kArithmetic), 1U);
  EXPECT_EQ(count(CommandClass::kTouch), 1U);
  EXPECT_EQ(count(CommandClass::kAdmin), 1U);
  EXPECT_EQ(commands, 9U);
  EXPECT_EQ(harness.worker->commands(), 9U);
  EXPECT_EQ(harness.Count(Counter::kTextCommands), 9U);
}

TEST(SessionTest, AWorkersCountStartsAtZeroWithItsCountersReused) {
  Harness harness;
  harness.Ask("version\r\n");
  harness.worker.reset();
  harness.worker = harness.factory->NewWorker();
  EXPECT_EQ(harness.worker->commands(), 0U);
  harness.Ask("version\r\n");
  EXPECT_EQ(harness.worker->commands(), 1U);
  EXPECT_EQ(harness.Count(Counter::kTextCommands), 2U);
}

TEST(SessionTest, NetCountsThroughTheWorker) {
  Harness harness;
  harness.worker->CountBytes(5, 7);
  harness.worker->CountYield();
  harness.worker->CountHandoff();
  EXPECT_EQ(harness.Count(Counter::kBytesRead), 5U);
  EXPECT_EQ(harness.Count(Counter::kBytesWritten), 7U);
  EXPECT_EQ(harness.Count(Counter::kConnYields), 1U);
  EXPECT_EQ(harness.Count(Counter::kConnectionHandoffs), 1U);
}

}  // namespace
}  // namespace podcache
