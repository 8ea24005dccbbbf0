// Connections that the server closes while their peers are still sending, over TCP: what was
// answered must arrive, which a reset would prevent.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/net/listener.h"
#include "tests/unit/server/net/line_handler.h"
#include "tests/unit/server/net/test_client.h"

namespace podcache::net {
namespace {

class LingeringTest : public ::testing::Test {
 protected:
  ~LingeringTest() override {
    if (acceptor_.joinable()) StopAccepting();
  }

  void Make(std::uint32_t threads, LingerSettings linger = {}, std::uint32_t connections = 100) {
    linger.check_period = std::chrono::milliseconds(1);
    PoolSettings settings;
    settings.max_connections = connections;
    settings.worker.linger = linger;
    pool_ = std::make_unique<WorkerPool>(factory_, clock_, settings);
    ASSERT_TRUE(pool_->SetThreads(threads));
    listener_ = std::make_unique<Listener>(loop_, *pool_, clock_,
                                           ListenerSettings{"ERROR full\n", true, linger});
    std::vector<ListenSocket> sockets;
    std::string error;
    ASSERT_TRUE(ListenTcp({LoopbackAddresses(0)[0]}, 16, sockets, error)) << error;
    address_ = sockets[0].address;
    ASSERT_TRUE(listener_->Start(std::move(sockets)));
    wake_up_.Start(
        loop_, [](void* self) { static_cast<LingeringTest*>(self)->stop_ = true; }, this);
    acceptor_ = std::thread([this] {
      while (!stop_) loop_.RunTurn(true);
    });
  }
  void StopAccepting() {
    wake_up_.Signal();
    acceptor_.join();
    wake_up_.Finish();
    listener_->Stop();
  }
  TestClient Dial() {
    FileDescriptor fd(::socket(address_.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address_.storage), address_.length),
        0);
    return TestClient(std::move(fd));
  }
  // Waits for something another thread does; the limit only ends a failing test.
  template <class Condition>
  static bool Eventually(Condition&& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  LineStats stats_;
  LineFactory factory_{stats_};
  ManualClock clock_;
  EventLoop loop_;
  WakeUp wake_up_;
  bool stop_ = false;  // Of the acceptor's thread.
  SocketAddress address_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<Listener> listener_;
  std::thread acceptor_;
};

TEST_F(LingeringTest, ALineThatDoesNotEndLeavesTheRepliesBeforeIt) {
  Make(1);
  TestClient client = Dial();
  ASSERT_TRUE(client.Send("one\n" + std::string(3'000'000, 'x')));
  EXPECT_EQ(client.Receive(4), "one\n");
  EXPECT_EQ(client.ReasonOfEnd(), 0);
  // It is no connection any more.
  EXPECT_TRUE(Eventually([&] { return pool_->Report().connections == 0; }));
  EXPECT_EQ(stats_.connections_alive.load(), 0U);
}

TEST_F(LingeringTest, WhatComesBehindQuit) {
  Make(1);
  TestClient client = Dial();
  ASSERT_TRUE(client.Send("one\nquit\n" + std::string(3'000'000, 'x')));
  EXPECT_EQ(client.Receive(8), "one\nbye\n");
  EXPECT_EQ(client.ReasonOfEnd(), 0);
}

TEST_F(LingeringTest, ARejectedClientThatHasAskedAlready) {
  Make(1, {}, 1);
  TestClient inside = Dial();
  ASSERT_TRUE(inside.Send("hello\n"));
  EXPECT_EQ(inside.Receive(6), "hello\n");
  TestClient rejected = Dial();
  ASSERT_TRUE(rejected.Send(std::string(100'000, 'x')));
  EXPECT_EQ(rejected.Receive(11), "ERROR full\n");
  EXPECT_EQ(rejected.ReasonOfEnd(), 0);
}

TEST_F(LingeringTest, BoundedInTime) {
  LingerSettings linger;
  linger.time = std::chrono::seconds(2);
  linger.bytes = SIZE_MAX;
  Make(1, linger);
  TestClient client = Dial();
  ASSERT_TRUE(client.Send("abort\n"));
  EXPECT_EQ(client.ReasonOfEnd(), 0);
  clock_.Advance(std::chrono::milliseconds(1999));
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.Send(std::string(4096, 'x')));
  clock_.Advance(std::chrono::milliseconds(1));
  EXPECT_TRUE(client.IsRefused());
}

TEST_F(LingeringTest, BoundedInBytes) {
  LingerSettings linger;
  linger.bytes = 100'000;
  Make(1, linger);
  TestClient client = Dial();
  ASSERT_TRUE(client.Send("abort\n"));
  EXPECT_EQ(client.ReasonOfEnd(), 0);
  ASSERT_TRUE(client.Send(std::string(99'999, 'x')));
  EXPECT_TRUE(client.IsRefused());
}

TEST_F(LingeringTest, BoundedInConnections) {
  LingerSettings linger;
  linger.connections = 2;
  linger.bytes = SIZE_MAX;
  Make(1, linger);
  std::vector<TestClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Dial());
    ASSERT_TRUE(clients.back().Send("abort\n"));
    EXPECT_EQ(clients.back().ReasonOfEnd(), 0);
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(clients[0].Send(std::string(4096, 'x')));
    ASSERT_TRUE(clients[1].Send(std::string(4096, 'x')));
  }
  EXPECT_TRUE(clients[2].IsRefused());
  // One that ends makes room.
  clients[0].Close();
  const auto lingers = [&] {
    TestClient next = Dial();
    next.Send("abort\n");
    if (next.ReasonOfEnd() != 0) return false;
    for (int i = 0; i < 100; ++i) {
      if (!next.Send(std::string(4096, 'x'))) return false;
    }
    return true;
  };
  EXPECT_TRUE(Eventually(lingers));
}

TEST_F(LingeringTest, AWorkerThatLeavesPassesThemOn) {
  LingerSettings linger;
  linger.bytes = SIZE_MAX;
  Make(4, linger);
  std::vector<TestClient> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(Dial());
    ASSERT_TRUE(clients.back().Send("one\nabort\n"));
  }
  for (TestClient& client : clients) {
    EXPECT_EQ(client.Receive(4), "one\n");
    EXPECT_EQ(client.ReasonOfEnd(), 0);
  }
  ASSERT_TRUE(pool_->SetThreads(1));
  for (TestClient& client : clients) {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.Send(std::string(4096, 'x')));
  }
  // Their time begins anew when they arrive.
  for (TestClient& client : clients) {
    EXPECT_TRUE(Eventually([&] {
      clock_.Advance(std::chrono::seconds(2));
      return !client.Send("x");
    }));
  }
}

TEST_F(LingeringTest, StoppingWaitsForThem) {
  Make(2);
  TestClient client = Dial();
  ASSERT_TRUE(client.Send("one\nabort\n"));
  EXPECT_EQ(client.Receive(4), "one\n");
  EXPECT_EQ(client.ReasonOfEnd(), 0);
  std::thread stop([&] { pool_->Stop(std::chrono::seconds(60)); });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(client.Send(std::string(4096, 'x')));
  client.Close();
  stop.join();
}

}  // namespace
}  // namespace podcache::net
