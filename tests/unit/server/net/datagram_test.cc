// UDP: frames, cutting, what is passed over, and workers that come and go meanwhile.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/base/big_endian.h"
#include "server/net/datagram_socket.h"
#include "server/net/listen_socket.h"
#include "server/net/worker_pool.h"
#include "tests/unit/server/net/line_handler.h"

namespace podcache::net {
namespace {

std::string Frame(std::uint16_t id, std::uint16_t sequence, std::uint16_t count,
                  const std::string& payload) {
  char frame[kDatagramFrameBytes] = {};
  StoreBigEndian(StoreBigEndian(StoreBigEndian(frame, id), sequence), count);
  return std::string(frame, sizeof frame) + payload;
}

// A client's socket, connected to the server's.
class Peer {
 public:
  explicit Peer(const SocketAddress& server)
      : fd_(::socket(server.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const int room = 4 << 20;
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    EXPECT_EQ(
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&server.storage), server.length), 0);
  }
  void Send(const std::string& datagram) {
    EXPECT_EQ(::send(fd_.get(), datagram.data(), datagram.size(), 0),
              static_cast<ssize_t>(datagram.size()));
  }
  // Empty if nothing comes.
  std::string Receive(int timeout_ms = 10'000) {
    pollfd ready{fd_.get(), POLLIN, 0};
    if (::poll(&ready, 1, timeout_ms) <= 0) return "";
    std::string datagram(70'000, '\0');
    const ssize_t n = ::recv(fd_.get(), datagram.data(), datagram.size(), 0);
    datagram.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return datagram;
  }
  // The reply to a request, put together from its datagrams.
  std::string Ask(std::uint16_t id, const std::string& request) {
    Send(Frame(id, 0, 1, request));
    std::map<std::uint16_t, std::string> parts;
    std::size_t count = 1;
    while (parts.size() < count) {
      const std::string datagram = Receive();
      if (datagram.size() <= kDatagramFrameBytes) return "nothing came";
      EXPECT_LE(datagram.size(), kMaxDatagramBytes);
      EXPECT_EQ(LoadBigEndian<std::uint16_t>(datagram.data()), id);
      EXPECT_EQ(LoadBigEndian<std::uint16_t>(datagram.data() + 6), 0);
      count = LoadBigEndian<std::uint16_t>(datagram.data() + 4);
      parts[LoadBigEndian<std::uint16_t>(datagram.data() + 2)] =
          datagram.substr(kDatagramFrameBytes);
    }
    EXPECT_EQ(parts.rbegin()->first + 1u, count);
    std::string reply;
    for (const auto& [sequence, part] : parts) reply += part;
    return reply;
  }

 private:
  FileDescriptor fd_;
};

class DatagramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PoolSettings settings;
    settings.worker.charge_memory = [this](std::int64_t delta) { charged_ += delta; };
    pool_ = std::make_unique<WorkerPool>(factory_, clock_, settings);
    ASSERT_TRUE(pool_->SetThreads(2));
    std::vector<ListenSocket> sockets;
    std::string error;
    ASSERT_TRUE(ListenUdp({LoopbackAddresses(0)[0]}, sockets, error)) << error;
    address_ = sockets[0].address;
    sockets[0].tag = 7;
    pool_->ServeDatagrams(std::move(sockets));
  }

  LineStats stats_;
  LineFactory factory_{stats_};
  ManualClock clock_;
  std::atomic<std::int64_t> charged_{0};
  SocketAddress address_;
  std::unique_ptr<WorkerPool> pool_;
};

TEST_F(DatagramTest, ARequestIsAnsweredWithItsId) {
  Peer peer(address_);
  EXPECT_EQ(peer.Ask(0xabcd, "word\n"), "tag 7\nword\n");
  EXPECT_EQ(peer.Ask(1, "a\nb\n"), "tag 7\na\nb\n");
  EXPECT_GT(stats_.received, 0u);
  EXPECT_GT(stats_.sent, 0u);
}

TEST_F(DatagramTest, RepliesAreCutAtTheirEdges) {
  Peer peer(address_);
  constexpr std::size_t kPayload = kMaxDatagramBytes - kDatagramFrameBytes;
  const std::size_t head = std::string("tag 7\n").size();
  for (const std::size_t size : {kPayload - 1, kPayload, kPayload + 1, 2 * kPayload,
                                 2 * kPayload + 1, std::size_t{100'000}}) {
    for (const std::string how : {"big ", "pin "}) {
      const std::size_t n = size - head;
      EXPECT_EQ(peer.Ask(3, how + std::to_string(n) + "\n"), "tag 7\n" + Pattern(n)) << how << n;
    }
  }
}

TEST_F(DatagramTest, WhatIsNoRequestIsPassedOver) {
  Peer peer(address_);
  const std::vector<std::string> bad = {"",
                                        std::string(1, '\0'),
                                        std::string(7, '\0'),
                                        Frame(1, 0, 1, ""),
                                        Frame(1, 0, 0, "word\n"),
                                        Frame(1, 0, 2, "word\n"),
                                        Frame(1, 1, 2, "word\n"),
                                        Frame(1, 0xffff, 0xffff, "word\n")};
  for (const std::string& datagram : bad) peer.Send(datagram);
  // The first answer is the one to what came last.
  EXPECT_EQ(peer.Ask(2, "word\n"), "tag 7\nword\n");
  EXPECT_EQ(peer.Receive(0), "");
}

TEST_F(DatagramTest, TheLargestDatagramArrivesWhole) {
  Peer peer(address_);
  constexpr std::size_t kLargest = 65'507 - kDatagramFrameBytes;
  std::string words;
  while (words.size() + 2 <= kLargest) words += "x\n";
  EXPECT_EQ(peer.Ask(1, words), "tag 7\n" + words);
}

TEST_F(DatagramTest, WorkersComeAndGoMeanwhile) {
  std::atomic<bool> done{false};
  std::thread client([&] {
    Peer peer(address_);
    for (std::uint16_t id = 0; !done.load(); ++id) {
      const std::string word = "word" + std::to_string(id);
      ASSERT_EQ(peer.Ask(id, word + "\n"), "tag 7\n" + word + "\n");
    }
  });
  for (const std::uint32_t threads : {1u, 4u, 2u, 6u, 1u, 3u}) {
    ASSERT_TRUE(pool_->SetThreads(threads));
    Peer peer(address_);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(peer.Ask(9, "x\n"), "tag 7\nx\n");
  }
  done = true;
  client.join();
}

TEST_F(DatagramTest, StoppingEndsIt) {
  Peer peer(address_);
  EXPECT_EQ(peer.Ask(1, "x\n"), "tag 7\nx\n");
  pool_->Stop(std::chrono::milliseconds(100));
  EXPECT_EQ(charged_.load(), 0);
  EXPECT_EQ(stats_.workers_alive.load(), 0u);
  EXPECT_EQ(stats_.connections_alive.load(), 0u);
}

TEST(ListenUdp, APortIsTakenOnce) {
  std::vector<ListenSocket> sockets;
  std::string error;
  ASSERT_TRUE(ListenUdp({LoopbackAddresses(0)[0]}, sockets, error)) << error;
  EXPECT_NE(sockets[0].address.port(), 0);
  EXPECT_FALSE(ListenUdp({sockets[0].address}, sockets, error));
  EXPECT_NE(error.find(sockets[0].address.ToString()), std::string::npos) << error;
}

}  // namespace
}  // namespace podcache::net
