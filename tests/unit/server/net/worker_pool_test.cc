#include "server/net/worker_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/server/net/line_handler.h"
#include "tests/unit/server/net/test_client.h"

namespace podcache::net {
namespace {

// Waits for something another thread does; the limit only ends a failing test.
template <class Condition>
bool Eventually(Condition&& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class WorkerPoolTest : public ::testing::Test {
 protected:
  WorkerPool& Make(std::uint32_t threads, PoolSettings settings = {}) {
    settings.worker.charge_memory = [this](std::int64_t delta) { charged_ += delta; };
    pool_ = std::make_unique<WorkerPool>(factory_, clock_, settings);
    EXPECT_TRUE(pool_->SetThreads(threads));
    return *pool_;
  }
  TestClient Connect(int buffer_bytes = 0) {
    std::unique_ptr<Transport> transport;
    TestClient client = TestClient::Pair(transport, buffer_bytes);
    EXPECT_TRUE(pool_->Admit(transport, {}));
    return client;
  }
  void ExpectEcho(TestClient& client, const std::string& word) {
    ASSERT_TRUE(client.Send(word + "\n"));
    EXPECT_EQ(client.Receive(word.size() + 1), word + "\n");
  }
  std::vector<std::uint64_t> ConnectionsPerWorker() {
    std::vector<std::uint64_t> counts;
    for (const WorkerReport& worker : pool_->Report().workers) counts.push_back(worker.connections);
    return counts;
  }

  LineStats stats_;
  LineFactory factory_{stats_};
  ManualClock clock_;
  std::atomic<std::int64_t> charged_{0};
  std::unique_ptr<WorkerPool> pool_;
};

TEST_F(WorkerPoolTest, ListsConnectionsOfAllWorkers) {
  Make(3);
  EXPECT_EQ(pool_->NewId(), 1U);
  std::vector<TestClient> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(Connect());
    ExpectEcho(clients.back(), "hello");
  }
  clients[7].Close();
  ASSERT_TRUE(Eventually([&] { return pool_->Report().connections == 39; }));
  ASSERT_TRUE(clients[9].Send("put 10\nabc"));
  clock_.Advance(std::chrono::seconds(5));
  ExpectEcho(clients[3], "again");
  std::vector<ConnectionListing> list;
  ASSERT_TRUE(Eventually([&] {
    list = pool_->ListConnections();
    return list[8].activity == Activity::kValue;
  }));
  ASSERT_EQ(list.size(), 39U);
  std::uint64_t id = 1;
  for (const ConnectionListing& one : list) {
    ++id;
    if (id == 9) ++id;  // The one that has gone.
    EXPECT_EQ(one.id, id);
    EXPECT_TRUE(one.peer.is_unix());
  }
  EXPECT_EQ(list[3].last_active_seconds, 5U);
  EXPECT_EQ(list[4].last_active_seconds, 0U);
  EXPECT_EQ(stats_.closed[static_cast<std::size_t>(CloseReason::kNormal)], 1U);
}

TEST_F(WorkerPoolTest, StreamsGoOnWhereverTheirConnectionIsMoved) {
  PoolSettings settings;
  settings.worker.idle_timeout = std::chrono::seconds(1);
  settings.worker.idle_check_period = std::chrono::milliseconds(1);
  Make(3, settings);
  std::vector<TestClient> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(Connect());
    clients.back().Send("stream\n");
    EXPECT_EQ(clients.back().Receive(6), "begun\n");
  }
  // Watching is not idling.
  clock_.Advance(std::chrono::seconds(10));
  for (const std::uint32_t threads : {1U, 4U, 2U}) {
    ASSERT_TRUE(pool_->SetThreads(threads));
    for (TestClient& client : clients) {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(client.Receive(5), "tick\n");
    }
  }
  pool_->Stop(std::chrono::seconds(5));
  EXPECT_EQ(stats_.closed[static_cast<std::size_t>(CloseReason::kShutdown)], 6U);
}

TEST_F(WorkerPoolTest, HalfRequestsHaveALimitTogether) {
  PoolSettings settings;
  settings.worker.tail_limit_bytes = 1000;
  settings.worker.tails_full_text = "full\n";
  Make(2, settings);
  std::vector<TestClient> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(Connect());
    ASSERT_TRUE(clients.back().Send(std::string(600, 'x')));
    ASSERT_TRUE(Eventually([&] { return pool_->Report().read_buffer_bytes == 600U * (i + 1U); }));
  }
  TestClient third = Connect();
  ExpectEcho(third, "whole");
  ASSERT_TRUE(third.Send("half"));
  EXPECT_EQ(third.ReceiveLine(), "full\n");
  EXPECT_TRUE(third.WaitClosed());
  clients[0].Close();
  ASSERT_TRUE(Eventually([&] { return pool_->Report().read_buffer_bytes == 600U; }));
  TestClient fourth = Connect();
  ASSERT_TRUE(fourth.Send("ha"));
  ASSERT_TRUE(Eventually([&] { return pool_->Report().read_buffers == 2U; }));
  ASSERT_TRUE(fourth.Send("lf\n"));
  EXPECT_EQ(fourth.Receive(5), "half\n");
  EXPECT_EQ(pool_->Report().refused_tails, 1U);
}

TEST_F(WorkerPoolTest, SpreadsConnectionsEvenly) {
  Make(4);
  std::vector<TestClient> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(Connect());
  for (TestClient& client : clients) ExpectEcho(client, "hello");
  EXPECT_EQ(ConnectionsPerWorker(), (std::vector<std::uint64_t>{5, 5, 5, 5}));
  const PoolReport report = pool_->Report();
  EXPECT_EQ(report.connections, 20U);
  EXPECT_EQ(report.connections_total, 20U);
  std::uint64_t commands = 0;
  for (const WorkerReport& worker : report.workers) commands += worker.commands;
  EXPECT_EQ(commands, 20U);
}

TEST_F(WorkerPoolTest, GrowthSharesTheConnectionsThereAre) {
  Make(1);
  std::vector<TestClient> clients;
  for (int i = 0; i < 24; ++i) clients.push_back(Connect());
  for (TestClient& client : clients) ExpectEcho(client, "before");
  ASSERT_TRUE(pool_->SetThreads(6));
  EXPECT_EQ(pool_->threads_running(), 6U);
  EXPECT_TRUE(Eventually([&] {
    const auto counts = ConnectionsPerWorker();
    return *std::max_element(counts.begin(), counts.end()) == 4;
  }));
  for (TestClient& client : clients) ExpectEcho(client, "after");
  EXPECT_EQ(stats_.handoffs.load(), 20U);
}

TEST_F(WorkerPoolTest, ReductionKeepsEveryConnection) {
  Make(6);
  std::vector<TestClient> clients;
  for (int i = 0; i < 30; ++i) clients.push_back(Connect());
  for (TestClient& client : clients) ExpectEcho(client, "before");
  ASSERT_TRUE(pool_->SetThreads(1));
  EXPECT_EQ(pool_->threads_running(), 1U);
  for (TestClient& client : clients) ExpectEcho(client, "after");
  EXPECT_EQ(ConnectionsPerWorker(), (std::vector<std::uint64_t>{30}));
  EXPECT_EQ(stats_.workers_alive.load(), 1U);
}

// Not first to another one that leaves.
TEST_F(WorkerPoolTest, ReductionMovesEachConnectionOnce) {
  Make(8);
  std::vector<TestClient> clients;
  for (int i = 0; i < 64; ++i) clients.push_back(Connect());
  for (TestClient& client : clients) ExpectEcho(client, "before");
  ASSERT_TRUE(pool_->SetThreads(2));
  for (TestClient& client : clients) ExpectEcho(client, "after");
  EXPECT_EQ(stats_.handoffs.load(), 48U);  // Eight of each of the six that left.
  EXPECT_EQ(ConnectionsPerWorker(), (std::vector<std::uint64_t>{32, 32}));
}

TEST_F(WorkerPoolTest, FiguresOfThreadsThatLeaveAreNeverMissing) {
  Make(8);
  std::vector<TestClient> clients;
  for (int i = 0; i < 16; ++i) clients.push_back(Connect());
  for (TestClient& client : clients) ExpectEcho(client, "hello");
  const auto turns = [&] {
    const PoolReport report = pool_->Report();
    return std::accumulate(report.turns.buckets.begin(), report.turns.buckets.end(),
                           std::uint64_t{0});
  };
  std::atomic<bool> stopped{false};
  std::thread change([&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(pool_->SetThreads(i % 2 == 0 ? 1 : 8));
    pool_->Stop(std::chrono::seconds(5));
    stopped.store(true);
  });
  std::uint64_t last = 0;
  while (!stopped.load()) {
    const std::uint64_t now = turns();
    EXPECT_GE(now, last);
    last = now;
  }
  change.join();
  EXPECT_GE(turns(), last);
  EXPECT_EQ(pool_->threads_running(), 0U);
}

TEST_F(WorkerPoolTest, HalfDoneRequestsMoveWithTheirHandler) {
  Make(4);
  const std::string value = Pattern(400'000);
  std::vector<TestClient> uploads;
  std::vector<TestClient> readers;
  for (int i = 0; i < 8; ++i) {
    uploads.push_back(Connect());
    readers.push_back(Connect(4096));
  }
  for (TestClient& client : uploads) {
    ExpectEcho(client, "start");
    client.Send("put 400000\n" + value.substr(0, 150'000));
  }
  for (TestClient& client : readers) {
    client.Send("pin 300000\nbig 600000\nend\n");
    EXPECT_EQ(client.Receive(10), Pattern(10));
  }
  // None of these is at a request boundary, yet the threads leave at once, and again from where
  // they went.
  ASSERT_TRUE(pool_->SetThreads(2));
  ASSERT_TRUE(pool_->SetThreads(1));
  EXPECT_EQ(pool_->threads_running(), 1U);
  EXPECT_GT(stats_.workers_alive.load(), 1U);
  for (TestClient& client : uploads) {
    client.Send(value.substr(150'000) + "more\n");
    EXPECT_EQ(client.ReceiveLine(), "sum " + std::to_string(Checksum(value)) + "\n");
    EXPECT_EQ(client.ReceiveLine(), "more\n");
  }
  for (TestClient& client : readers) {
    EXPECT_EQ(client.Receive(299'990), Pattern(300'000).substr(10));
    EXPECT_EQ(client.Receive(600'000), Pattern(600'000));
    EXPECT_EQ(client.ReceiveLine(), "end\n");
  }
  // Once everything is settled the handlers of the threads that left are gone too.
  EXPECT_TRUE(Eventually([&] { return stats_.workers_alive.load() == 1; }));
  EXPECT_EQ(stats_.violations.load(), 0U);
  EXPECT_EQ(stats_.pins_alive.load(), 0U);
}

TEST_F(WorkerPoolTest, RefusesMoreClientsThanTheLimit) {
  PoolSettings settings;
  settings.max_connections = 3;
  Make(2, settings);
  std::vector<TestClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Connect());
  std::unique_ptr<Transport> transport;
  TestClient extra = TestClient::Pair(transport);
  EXPECT_FALSE(pool_->Admit(transport, {}));
  EXPECT_NE(transport, nullptr);
  EXPECT_EQ(pool_->Report().connections_rejected, 1U);
  clients.pop_back();
  EXPECT_TRUE(Eventually([&] { return pool_->HasRoom(); }));
  EXPECT_TRUE(pool_->Admit(transport, {}));
  ExpectEcho(extra, "in");
}

TEST_F(WorkerPoolTest, ClosesIdleConnectionsOnly) {
  PoolSettings settings;
  settings.worker.idle_timeout = std::chrono::seconds(3);
  settings.worker.idle_check_period = std::chrono::milliseconds(1);
  Make(1, settings);
  TestClient idle = Connect();
  TestClient half = Connect();
  TestClient slow = Connect(4096);
  TestClient busy = Connect();
  TestClient late = Connect();
  ExpectEcho(idle, "hello");
  half.Send("begun");
  slow.Send("pin 500000\n");
  EXPECT_EQ(slow.Receive(1), Pattern(1));
  ExpectEcho(busy, "hello");
  clock_.Advance(std::chrono::milliseconds(2900));
  ExpectEcho(busy, "again");
  ExpectEcho(late, "hello");
  EXPECT_EQ(pool_->Report().connections, 5U);
  clock_.Advance(std::chrono::milliseconds(200));
  EXPECT_TRUE(idle.WaitClosed());
  EXPECT_TRUE(half.WaitClosed());
  ExpectEcho(busy, "still here");
  EXPECT_EQ(slow.Receive(499'999), Pattern(500'000).substr(1));
  // A reply that took longer than the timeout was activity to its end.
  clock_.Advance(std::chrono::milliseconds(2800));
  EXPECT_TRUE(late.WaitClosed());
  ExpectEcho(busy, "and still");
  ExpectEcho(slow, "here");
  EXPECT_EQ(pool_->Report().idle_kicks, 3U);
}

TEST_F(WorkerPoolTest, ChargesAndReleasesMemory) {
  Make(2);
  const std::int64_t start = charged_.load();
  {
    std::vector<TestClient> clients;
    for (int i = 0; i < 200; ++i) clients.push_back(Connect(4096));
    for (TestClient& client : clients) {
      client.Send("big 100000\n");
      EXPECT_EQ(client.Receive(1), Pattern(1));
    }
    // Unsent replies are on the account, less what the sockets hold: of each the first piece of 64
    // KiB.
    EXPECT_TRUE(Eventually([&] { return charged_.load() - start > 200 * 50'000; }));
    for (TestClient& client : clients) EXPECT_EQ(client.Receive(99'999).size(), 99'999U);
    for (TestClient& client : clients) ExpectEcho(client, "done");
    // At most a KiB each is left, beside the workers' own buffers.
    EXPECT_TRUE(Eventually([&] { return charged_.load() - start < 200 * 1024 + 2 * (1 << 20); }));
  }
  EXPECT_TRUE(Eventually([&] { return pool_->Report().connections == 0; }));
  EXPECT_EQ(pool_->Report().reply_buffers, 0U);
  EXPECT_EQ(pool_->Report().reply_buffer_bytes, 0U);
  pool_->Stop(std::chrono::seconds(1));
  EXPECT_EQ(charged_.load(), 0);
}

TEST_F(WorkerPoolTest, DrainAnswersWhatHasComeAndClosesTheIdle) {
  Make(3);
  std::vector<TestClient> idle;
  for (int i = 0; i < 9; ++i) idle.push_back(Connect());
  for (TestClient& client : idle) ExpectEcho(client, "hello");
  TestClient upload = Connect();
  ExpectEcho(upload, "hello");
  const std::string value = Pattern(200'000);
  upload.Send("put 200000\n" + value.substr(0, 50'000));
  TestClient asked = Connect(4096);
  asked.Send("big 700000\n");
  EXPECT_EQ(asked.Receive(1), Pattern(1));
  std::thread stop([&] { pool_->Stop(std::chrono::seconds(60)); });
  for (TestClient& client : idle) EXPECT_TRUE(client.WaitClosed());
  upload.Send(value.substr(50'000));
  EXPECT_EQ(upload.ReceiveLine(), "sum " + std::to_string(Checksum(value)) + "\n");
  EXPECT_TRUE(upload.WaitClosed());
  EXPECT_EQ(asked.Receive(699'999), Pattern(700'000).substr(1));
  EXPECT_TRUE(asked.WaitClosed());
  stop.join();  // Long before the deadline.
  EXPECT_EQ(stats_.connections_alive.load(), 0U);
  EXPECT_EQ(stats_.workers_alive.load(), 0U);
}

TEST_F(WorkerPoolTest, DeadlineClosesTheRest) {
  Make(2);
  TestClient stuck = Connect();
  ExpectEcho(stuck, "hello");
  stuck.Send("put 1000\n");
  pool_->Stop(std::chrono::milliseconds(20));
  EXPECT_TRUE(stuck.WaitClosed());
  EXPECT_EQ(stats_.connections_alive.load(), 0U);
  EXPECT_FALSE(pool_->SetThreads(3));
  std::unique_ptr<Transport> transport;
  TestClient late = TestClient::Pair(transport);
  EXPECT_FALSE(pool_->Admit(transport, {}));
}

TEST_F(WorkerPoolTest, RefusesImpossibleThreadCounts) {
  Make(2);
  EXPECT_FALSE(pool_->SetThreads(0));
  EXPECT_FALSE(pool_->SetThreads(kMaxThreads + 1));
  EXPECT_EQ(pool_->threads_running(), 2U);
}

// Mixed load with every byte checked, while the number of threads goes up and down.
class Load {
 public:
  Load(TestClient client, std::uint64_t seed) : client_(std::move(client)), random_(seed) {}

  void Run(const std::atomic<bool>& stop) {
    while (!stop.load() && errors == 0) {
      switch (random_() % 5) {
        case 0:
          Echo(1 + random_() % 50);
          break;
        case 1:
          Upload(random_() % 300'000 + 1);
          break;
        case 2:
          Download("big ", random_() % 400'000 + 1);
          break;
        case 3:
          Download("pin ", random_() % 200'000 + 1);
          break;
        default:
          Dribble();
          break;
      }
      ++rounds;
    }
  }

  std::uint64_t errors = 0;
  std::uint64_t rounds = 0;

 private:
  void Echo(std::uint64_t lines) {
    std::string text;
    for (std::uint64_t i = 0; i < lines; ++i) text += "line " + std::to_string(random_()) + "\n";
    Check(client_.Send(text) && client_.Receive(text.size()) == text);
  }
  void Upload(std::size_t n) {
    const std::string value = Pattern(n);
    const std::size_t cut = random_() % n;
    Check(client_.Send("put " + std::to_string(n) + "\n" + value.substr(0, cut)));
    std::this_thread::yield();
    Check(client_.Send(value.substr(cut) + "then\n"));
    Check(client_.ReceiveLine() == "sum " + std::to_string(Checksum(value)) + "\n");
    Check(client_.ReceiveLine() == "then\n");
  }
  void Download(const std::string& command, std::size_t n) {
    Check(client_.Send(command + std::to_string(n) + "\n"));
    std::string got;
    while (got.size() < n) {
      const std::string piece = client_.Receive(std::min<std::size_t>(n - got.size(), 9'999));
      if (piece.empty()) break;
      got += piece;
    }
    Check(got == Pattern(n));
  }
  void Dribble() {
    const std::string line = "slowly " + std::to_string(random_()) + "\n";
    for (const char c : line) Check(client_.Send(std::string_view(&c, 1)));
    Check(client_.Receive(line.size()) == line);
  }
  void Check(bool right) { errors += right ? 0 : 1; }

  TestClient client_;
  std::mt19937_64 random_;
};

TEST_F(WorkerPoolTest, ThreadsComeAndGoUnderLoadWithoutAnError) {
  Make(1);
  std::vector<std::unique_ptr<Load>> loads;
  std::vector<TestClient> bystanders;
  for (int i = 0; i < 40; ++i) bystanders.push_back(Connect());
  for (std::uint64_t i = 0; i < 6; ++i) {
    loads.push_back(std::make_unique<Load>(Connect(i % 2 == 0 ? 0 : 8192), i + 1));
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (const auto& load : loads) threads.emplace_back([&] { load->Run(stop); });
  std::mt19937 random(7);
  const auto rounds = [&] {
    std::uint64_t sum = 0;
    for (const WorkerReport& worker : pool_->Report().workers) sum += worker.commands;
    return sum;
  };
  for (int i = 0; i < 60; ++i) {
    const std::uint32_t count = i % 3 == 0 ? 8 : i % 3 == 1 ? 1 : 1 + random() % 8;
    ASSERT_TRUE(pool_->SetThreads(count));
    EXPECT_EQ(pool_->threads_running(), count);
    // Some work in between, however slow the machine.
    const std::uint64_t before = rounds();
    EXPECT_TRUE(Eventually([&] { return rounds() >= before + 5; }));
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < loads.size(); ++i) {
    EXPECT_EQ(loads[i]->errors, 0U) << "client " << i;
    EXPECT_GT(loads[i]->rounds, 0U) << "client " << i;
  }
  for (TestClient& client : bystanders) ExpectEcho(client, "still here");
  EXPECT_GT(stats_.handoffs.load(), 0U);
  EXPECT_EQ(stats_.violations.load(), 0U);
  pool_->Stop(std::chrono::seconds(5));
  EXPECT_EQ(stats_.workers_alive.load(), 0U);
  EXPECT_EQ(charged_.load(), 0);
}

}  // namespace
}  // namespace podcache::net
