#include "server/net/listener.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/server/net/line_handler.h"
#include "tests/unit/server/net/test_client.h"

namespace podcache::net {
namespace {

class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() {
    char name[] = "/tmp/podcache-listener-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~ListenerTest() override { std::filesystem::remove_all(folder_); }

  void Make(std::uint32_t max_connections, ListenerSettings settings = {"ERROR full\n", true}) {
    PoolSettings pool_settings;
    pool_settings.max_connections = max_connections;
    pool_ = std::make_unique<WorkerPool>(factory_, clock_, pool_settings);
    ASSERT_TRUE(pool_->SetThreads(1));
    listener_ = std::make_unique<Listener>(loop_, *pool_, clock_, settings);
  }
  // Listens on one free port of 127.0.0.1.
  SocketAddress ListenOnLoopback() {
    std::vector<ListenSocket> sockets;
    std::string error;
    EXPECT_TRUE(ListenTcp({LoopbackAddresses(0)[0]}, 16, sockets, error)) << error;
    const SocketAddress address = sockets[0].address;
    EXPECT_TRUE(listener_->Start(std::move(sockets)));
    return address;
  }
  TestClient Dial(const SocketAddress& address) {
    FileDescriptor fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length), 0)
        << address.ToString();
    return TestClient(std::move(fd));
  }
  TestClient DialUnix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return TestClient(std::move(fd));
  }
  void ExpectEcho(TestClient& client) {
    client.Send("hello\n");
    loop_.RunTurn(false);
    EXPECT_EQ(client.Receive(6), "hello\n");
  }

  LineStats stats_;
  LineFactory factory_{stats_};
  SystemClock clock_;
  EventLoop loop_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<Listener> listener_;
  std::string folder_;
};

TEST_F(ListenerTest, ServesBothFamiliesOnOnePortChosenByTheKernel) {
  Make(10);
  std::vector<ListenSocket> sockets;
  std::string error;
  std::vector<SocketAddress> everywhere;
  ASSERT_TRUE(Resolve("*", 0, everywhere, error));
  ASSERT_TRUE(ListenTcp(everywhere, 16, sockets, error)) << error;
  ASSERT_GE(sockets.size(), 1U);
  const std::uint16_t port = sockets[0].address.port();
  EXPECT_NE(port, 0);
  const bool has_v6 = sockets.size() == 2;
  EXPECT_EQ(sockets.back().address.port(), port);
  ASSERT_TRUE(listener_->Start(std::move(sockets)));
  TestClient v4 = Dial(LoopbackAddresses(port)[0]);
  ExpectEcho(v4);
  if (has_v6) {
    TestClient v6 = Dial(LoopbackAddresses(port)[1]);
    ExpectEcho(v6);
  }
}

TEST_F(ListenerTest, PortInUseIsAnError) {
  std::vector<ListenSocket> sockets;
  std::string error;
  ASSERT_TRUE(ListenTcp({LoopbackAddresses(0)[0]}, 16, sockets, error));
  std::vector<ListenSocket> more;
  EXPECT_FALSE(ListenTcp({sockets[0].address}, 16, more, error));
  EXPECT_NE(error.find(sockets[0].address.ToString()), std::string::npos) << error;
  EXPECT_TRUE(more.empty());
}

TEST_F(ListenerTest, AddressOfNobodyIsPassedOverUnlessItIsTheOnlyOne) {
  std::string error;
  std::vector<SocketAddress> foreign;
  ASSERT_TRUE(Resolve("192.0.2.1", 0, foreign, error));  // TEST-NET-1: never ours.
  std::vector<ListenSocket> sockets;
  EXPECT_FALSE(ListenTcp(foreign, 16, sockets, error));
  foreign.push_back(LoopbackAddresses(0)[0]);
  EXPECT_TRUE(ListenTcp(foreign, 16, sockets, error)) << error;
  EXPECT_EQ(sockets.size(), 1U);
}

TEST_F(ListenerTest, UnixSocketHasItsModeAndReplacesAStaleFile) {
  Make(10);
  const std::string path = folder_ + "/cache.sock";
  std::string error;
  {
    std::vector<ListenSocket> gone;
    ASSERT_TRUE(ListenUnix(path, 0600, 16, gone, error)) << error;
    // The descriptor closes, the file stays: what a killed server leaves.
  }
  std::vector<ListenSocket> sockets;
  ASSERT_TRUE(ListenUnix(path, 0640, 16, sockets, error)) << error;
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
  std::vector<ListenSocket> second;
  EXPECT_FALSE(ListenUnix(path, 0600, 16, second, error));
  ASSERT_TRUE(listener_->Start(std::move(sockets)));
  TestClient client = DialUnix(path);
  ExpectEcho(client);
  listener_->Stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ListenerTest, NeverReplacesAnOrdinaryFile) {
  const std::string path = folder_ + "/file";
  FileDescriptor file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  std::vector<ListenSocket> sockets;
  std::string error;
  EXPECT_FALSE(ListenUnix(path, 0600, 16, sockets, error));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(ListenUnix(std::string(200, 'x'), 0600, 16, sockets, error));
}

TEST_F(ListenerTest, TellsAClientAboveTheLimitAndCloses) {
  Make(1);
  const SocketAddress address = ListenOnLoopback();
  TestClient first = Dial(address);
  ExpectEcho(first);
  TestClient second = Dial(address);
  loop_.RunTurn(true);
  EXPECT_EQ(second.Receive(11), "ERROR full\n");
  EXPECT_TRUE(second.WaitClosed());
  EXPECT_EQ(pool_->Report().connections_rejected, 1U);
  ExpectEcho(first);
}

TEST_F(ListenerTest, LeavesClientsInTheQueueWhenToldSo) {
  Make(1, {"ERROR full\n", false});
  const SocketAddress address = ListenOnLoopback();
  TestClient first = Dial(address);
  ExpectEcho(first);
  TestClient second = Dial(address);
  second.Send("hello\n");
  loop_.RunTurn(true);
  EXPECT_FALSE(listener_->report().accepting);
  EXPECT_EQ(listener_->report().disabled_count, 1U);
  first.Close();
  while (!listener_->report().accepting) loop_.RunTurn(true);
  loop_.RunTurn(true);
  EXPECT_EQ(second.Receive(6), "hello\n");
  EXPECT_EQ(pool_->Report().connections_rejected, 0U);
}

TEST_F(ListenerTest, SurvivesRunningOutOfDescriptors) {
  Make(100);
  const SocketAddress address = ListenOnLoopback();
  TestClient before = Dial(address);
  ExpectEcho(before);
  TestClient waiting = Dial(address);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old_limit), 0);
  rlimit none = old_limit;
  none.rlim_cur = 3;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  loop_.RunTurn(true);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old_limit), 0);
  EXPECT_FALSE(listener_->report().accepting);
  while (!listener_->report().accepting) loop_.RunTurn(true);
  loop_.RunTurn(true);
  ExpectEcho(waiting);
  ExpectEcho(before);
  EXPECT_EQ(listener_->report().disabled_count, 1U);
}

TEST(SplitHostPort, KnowsTheFormsOfAddresses) {
  struct Case {
    std::string text;
    bool valid;
    std::string host;
    int port;
  };
  const std::vector<Case> cases = {
      {"127.0.0.1", true, "127.0.0.1", 11211},
      {"127.0.0.1:80", true, "127.0.0.1", 80},
      {"[::1]:80", true, "::1", 80},
      {"[::1]", true, "::1", 11211},
      {"::1", true, "::1", 11211},
      {"name:0", true, "name", 0},
      {"*:9150", true, "*", 9150},
      {":80", true, "", 80},
      {"name:", false, "", 0},
      {"name:65536", false, "", 0},
      {"name:80x", false, "", 0},
      {"[::1", false, "", 0},
      {"[]:80", false, "", 0},
      {"[::1]80", false, "", 0},
      {"", false, "", 0},
  };
  for (const Case& one : cases) {
    std::string host;
    int port = 11211;
    EXPECT_EQ(SplitHostPort(one.text, host, port), one.valid) << one.text;
    if (!one.valid) continue;
    EXPECT_EQ(host, one.host) << one.text;
    EXPECT_EQ(port, one.port) << one.text;
  }
}

TEST(Resolve, NamesTheHostItCannotFind) {
  std::vector<SocketAddress> addresses;
  std::string error;
  EXPECT_FALSE(Resolve("no-such-host.invalid", 1, addresses, error));
  EXPECT_NE(error.find("no-such-host.invalid"), std::string::npos);
  ASSERT_TRUE(Resolve("::1", 7, addresses, error));
  EXPECT_EQ(addresses.back().ToString(), "[::1]:7");
}

}  // namespace
}  // namespace podcache::net
