// Requests that come as datagrams, without sockets.
#include "server/datagram_session.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/unit/server/session/packets.h"
#include "tests/unit/server/session/session_harness.h"

namespace podcache {
namespace {

using testing::Harness;
using testing::Packets;

TEST(DatagramSession, RepliesKeepTheirLimit) {
  Harness harness;
  harness.Ask("set a 0 0 1000\r\n" + std::string(1000, 'x') + "\r\n");
  const auto ask = [&](const std::string& requests, std::size_t limit) {
    OutputBuffer output;
    AnswerDatagram(*harness.worker, WireProtocol::kNegotiating, requests, limit, output);
    return output.pending_bytes();
  };
  const std::size_t whole = ask("get a\r\n", 2000);
  EXPECT_EQ(whole, std::string("VALUE a 0 1000\r\n\r\nEND\r\n").size() + 1000);
  EXPECT_EQ(ask("get a\r\n", whole), whole);
  constexpr std::string_view kText = "SERVER_ERROR reply too large for a datagram\r\n";
  EXPECT_EQ(ask("get a\r\n", whole - 1), kText.size());
  EXPECT_EQ(ask(Packets({"00 key=a"}), 1028), 1028u);
  EXPECT_EQ(ask(Packets({"00 key=a"}), 1027), 24u + std::string("Too large.").size());
  EXPECT_EQ(ask("get a", 2000), 0u);
  EXPECT_EQ(ask("", 2000), 0u);
}

std::string Ask(Harness& harness, const std::string& requests) {
  OutputBuffer output;
  AnswerDatagram(*harness.worker, WireProtocol::kNegotiating, requests, 1U << 20, output);
  std::string reply;
  iovec piece;
  while (output.FillIovec(&piece, 1) > 0) {
    reply.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    output.Consume(piece.iov_len);
  }
  return reply;
}

TEST(DatagramSession, LongRepliesAndWhatComesBehindThem) {
  Harness harness;
  EXPECT_EQ(Ask(harness, "stats detail on\r\nget a:b\r\n"), "OK\r\nEND\r\n");
  constexpr std::string_view kDump = "PREFIX a get 1 hit 0 set 0 del 0\r\nEND\r\n";
  EXPECT_EQ(Ask(harness, "stats detail dump\r\nmn\r\n"), std::string(kDump) + "MN\r\n");
  const std::string packets = Ask(harness, Packets({"10 key=detail\\x20dump", "0a"}));
  EXPECT_EQ(packets.size(), 24 + std::string_view("detailed").size() + kDump.size() + 24 + 24);
  EXPECT_EQ(Ask(harness, "set a 0 0 1\r\nx\r\nstats cachedump 1 0\r\nget a\r\n"),
            "STORED\r\nITEM a [1 b; 0 s]\r\nEND\r\nVALUE a 0 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(Ask(harness, "lru_crawler mgdump all\r\n"), "OK\r\nmg a\r\nEN\r\n");
}

TEST(DatagramSession, AsManyRequestsAsFit) {
  command::CommandOptions options;
  options.requests_per_turn = 1;
  Harness harness(options);
  std::string requests;
  std::string wanted;
  for (int i = 0; i < 1000; ++i) {
    requests += "mn\r\n";
    wanted += "MN\r\n";
  }
  EXPECT_EQ(Ask(harness, requests), wanted);
}

TEST(DatagramSession, NobodyWatches) {
  Harness harness;
  EXPECT_EQ(Ask(harness, "watch fetchers\r\n"), "");
  EXPECT_EQ(harness.watch.stats().watchers, 0U);
}

// A short answer that takes a walk over all of a large cache.
TEST(DatagramSession, WhatTakesLongIsRefused) {
  Harness harness;
  harness.context.settings.track_sizes = true;
  testing::Connection connection(harness);
  std::string batch;
  for (int i = 0; i < 200'000; ++i) {
    batch += "set " + std::to_string(i) + " 0 0 1 noreply\r\nx\r\n";
    if (batch.size() < 10'000) continue;
    connection.Receive(batch);
    batch.clear();
  }
  EXPECT_EQ(Ask(harness, "stats sizes\r\n"), "SERVER_ERROR reply too large for a datagram\r\n");
}

}  // namespace
}  // namespace podcache
