// Many clients that read or write all they can, beside one that asks for little. What is ready is
// served in the next turn, so a bound on the work of a turn is one on how long it waits; bytes are
// counted, not time.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/net/worker_pool.h"
#include "tests/unit/server/net/line_handler.h"
#include "tests/unit/server/net/test_client.h"

namespace podcache::net {
namespace {

constexpr int kGreedy = 100;
// A call sends and receives this much at most. In a turn a megabyte is moved, the call that exceeds
// it and two of greedy connections are done to their end, and small ones beside.
constexpr std::uint64_t kMostCallBytes = (512U << 10) + (256U << 10);
constexpr std::uint64_t kMostTurnBytes = (1U << 20) + 3 * kMostCallBytes + 10'000;

class FairnessTest : public ::testing::Test {
 protected:
  FairnessTest() : pool_(factory_, clock_, PoolSettings()) { EXPECT_TRUE(pool_.SetThreads(1)); }
  ~FairnessTest() override {
    stop_ = true;
    if (drain_.joinable()) drain_.join();
  }

  TestClient Connect(int buffer_bytes = 1 << 20) {
    std::unique_ptr<Transport> transport;
    TestClient client = TestClient::Pair(transport, buffer_bytes);
    EXPECT_TRUE(pool_.Admit(transport, {}));
    return client;
  }
  void Start(const std::string& request) {
    for (int i = 0; i < kGreedy; ++i) greedy_.push_back(Connect());
    for (TestClient& client : greedy_) ASSERT_TRUE(client.Send(request));
    drain_ = std::thread([this] { Drain(); });
    WaitUntilItIsBusy();
  }
  void Drain() {
    std::vector<pollfd> ready;
    for (TestClient& client : greedy_) ready.push_back({client.fd(), POLLIN, 0});
    std::vector<char> bytes(1 << 20);
    while (!stop_) {
      ::poll(ready.data(), ready.size(), 10);
      for (const pollfd& one : ready) {
        if (one.revents != 0) ::recv(one.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
      }
    }
  }
  // What the greedy ones send again and again, from where they are in it.
  void Upload(const std::string& request) {
    std::vector<std::size_t> at(greedy_.size());
    std::vector<char> answers(1 << 16);
    while (!stop_) {
      for (std::size_t i = 0; i < greedy_.size(); ++i) {
        at[i] =
            (at[i] + greedy_[i].SendSome(std::string_view(request).substr(at[i]))) % request.size();
        ::recv(greedy_[i].fd(), answers.data(), answers.size(), MSG_DONTWAIT);
      }
    }
  }
  // Some have begun, others have not: both kinds are there.
  void WaitUntilItIsBusy() {
    while (stats_.sent.load() + stats_.received.load() < (std::uint64_t{10} << 20)) {
      std::this_thread::yield();
    }
  }
  void AskForLittle() {
    TestClient small = Connect();
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(small.Send("hello\n"));
      ASSERT_EQ(small.Receive(6), "hello\n");
    }
    EXPECT_GT(stats_.most_turn_bytes.load(), 0U);
    EXPECT_LE(stats_.most_turn_bytes.load(), kMostTurnBytes);
  }

  // One that sends whenever it can and reads less than comes back, so that the server has to read
  // and to write at once, and at times to stop reading. Every byte comes back in order.
  void SendAndReadAtOnce() {
    TestClient client = Connect(16 << 10);
    std::array<char, 3000> piece;
    std::string sent;
    for (int i = 0; i < 4000; ++i) sent += std::to_string(i) + std::string(700, 'w') + "\n";
    std::string received;
    std::string_view left = sent;
    while (received.size() < sent.size()) {
      pollfd one{client.fd(), static_cast<short>(left.empty() ? POLLIN : POLLIN | POLLOUT), 0};
      ASSERT_GT(::poll(&one, 1, 10'000), 0) << received.size() << " of " << sent.size();
      left.remove_prefix(client.SendSome(left));
      const ssize_t n = ::recv(client.fd(), piece.data(), piece.size(), MSG_DONTWAIT);
      if (n > 0) received.append(piece.data(), static_cast<std::size_t>(n));
    }
    EXPECT_TRUE(received == sent);
  }

  LineStats stats_;
  LineFactory factory_{stats_};
  ManualClock clock_;
  WorkerPool pool_;
  std::vector<TestClient> greedy_;
  std::atomic<bool> stop_{false};
  std::thread drain_;
};

TEST_F(FairnessTest, ReadersOfRepliesMadeInManyTurns) {
  Start("big 1000000000000\n");
  AskForLittle();
}

TEST_F(FairnessTest, ReadersOfManyReplies) {
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += "pin 200000\n";
  Start(requests);
  AskForLittle();
}

TEST_F(FairnessTest, ReadersOfOneLargeReply) {
  std::string requests;
  for (int i = 0; i < 20; ++i) requests += "pin 3000000\n";
  Start(requests);
  AskForLittle();
}

TEST_F(FairnessTest, ReadsAndWritesOneConnection) { SendAndReadAtOnce(); }

TEST_F(FairnessTest, ReadsAndWritesOneConnectionBesideGreedyOnes) {
  Start("big 1000000000000\n");
  SendAndReadAtOnce();
}

TEST_F(FairnessTest, WritersOfLargeValues) {
  for (int i = 0; i < kGreedy; ++i) greedy_.push_back(Connect());
  const std::string request = "put 300000\n" + Pattern(300'000);
  drain_ = std::thread([&] { Upload(request); });
  WaitUntilItIsBusy();
  AskForLittle();
  stop_ = true;
  drain_.join();
}

}  // namespace
}  // namespace podcache::net
