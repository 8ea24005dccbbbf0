#include "operator/client/curl_transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/base/clock.h"
#include "tests/unit/operator/client/scripted_server.h"

namespace podcache::kube {
namespace {

class CurlTransportTest : public testing::Test {
 protected:
  std::unique_ptr<CurlTransport> Connect(const RestConfig& config) {
    auto transport = CurlTransport::Create(config, "podcache-test/1", clock_, stop_.get_token());
    EXPECT_TRUE(transport.ok()) << transport.status();
    return *std::move(transport);
  }
  std::unique_ptr<CurlTransport> Connect() {
    RestConfig config;
    config.server = server_.url();
    return Connect(config);
  }

  ManualClock clock_;
  std::stop_source stop_;
  ScriptedServer server_;
};

TEST_F(CurlTransportTest, SendsWhatItIsTold) {
  server_.Script({.code = 201, .chunks = {"hel", "lo"}});
  const auto transport = Connect();
  const auto response = transport->Send({.method = "PATCH",
                                         .target = "/a/%2F/../b?x=%26",
                                         .content_type = "application/apply-patch+yaml",
                                         .body = std::string(5000, 'b')});
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 201);
  EXPECT_EQ(response->body, "hello");
  const RecordedRequest request = server_.requests().at(0);
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.target, "/a/%2F/../b?x=%26");
  EXPECT_EQ(request.body, std::string(5000, 'b'));
  EXPECT_NE(request.headers.find("Content-Type: application/apply-patch+yaml\r\n"),
            std::string::npos);
  EXPECT_NE(request.headers.find("User-Agent: podcache-test/1\r\n"), std::string::npos);
  EXPECT_EQ(request.headers.find("Expect:"), std::string::npos);
  EXPECT_EQ(request.headers.find("Authorization"), std::string::npos);
}

TEST_F(CurlTransportTest, ConnectionsAreReused) {
  const auto transport = Connect();
  for (int i = 0; i < 20; ++i) {
    server_.Script({.chunks = {"ok"}});
    ASSERT_TRUE(transport->Send({.method = i % 2 == 0 ? "GET" : "DELETE", .target = "/"}).ok());
  }
  EXPECT_EQ(server_.connections(), 1);
}

TEST_F(CurlTransportTest, EachConcurrentExchangeHasItsOwn) {
  server_.Script({.chunks = {"first\n"}, .end = ScriptedReply::End::kHold});
  const auto transport = Connect();
  std::stop_source stop;
  std::thread watcher([&] {
    const auto response = transport->Stream(
        {.target = "/watch"}, nullptr, [](std::string_view) { return true; }, stop.get_token());
    EXPECT_EQ(response.status().code(), absl::StatusCode::kCancelled);
  });
  server_.WaitForRequests(1);
  server_.Script({.chunks = {"ok"}});
  EXPECT_TRUE(transport->Send({.target = "/get"}).ok());
  EXPECT_EQ(server_.connections(), 2);
  stop.request_stop();
  watcher.join();
}

TEST_F(CurlTransportTest, AStopEndsASilentWatchAtOnce) {
  server_.Script({.end = ScriptedReply::End::kHold});
  const auto transport = Connect();
  std::atomic<bool> started{false};
  std::jthread watcher([&](const std::stop_token& stop) {
    const auto response = transport->Stream(
        {.target = "/watch", .timeout = std::chrono::hours(1)}, [&](int) { started = true; },
        [](std::string_view) { return true; }, stop);
    EXPECT_EQ(response.status().code(), absl::StatusCode::kCancelled);
  });
  server_.WaitForRequests(1);
  watcher.request_stop();
  watcher.join();  // Else the test's own timeout ends it.
}

TEST_F(CurlTransportTest, TheProcessStopEndsEverything) {
  server_.Script({.end = ScriptedReply::End::kHold});
  const auto transport = Connect();
  std::thread sender([&] {
    EXPECT_EQ(transport->Send({.target = "/"}).status().code(), absl::StatusCode::kCancelled);
  });
  server_.WaitForRequests(1);
  stop_.request_stop();
  sender.join();
  EXPECT_EQ(transport->Send({.target = "/"}).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(CurlTransportTest, StreamDeliversPiecesAndAnnouncesTheStart) {
  server_.Script({.chunks = {"a", "bc", "d"}});
  const auto transport = Connect();
  std::vector<std::string> pieces;
  int code = 0;
  const auto response = transport->Stream(
      {.target = "/"}, [&](int started) { code = started; },
      [&](std::string_view bytes) {
        EXPECT_EQ(code, 200);
        pieces.emplace_back(bytes);
        return true;
      },
      std::stop_token());
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "bc", "d"}));
}

TEST_F(CurlTransportTest, AStreamsErrorBodyIsBuffered) {
  server_.Script({.code = 410, .headers = {"Retry-After: 3"}, .chunks = {"gone"}});
  const auto transport = Connect();
  const auto response = transport->Stream(
      {.target = "/"}, [](int) { FAIL(); },
      [](std::string_view) {
        ADD_FAILURE();
        return true;
      },
      std::stop_token());
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->code, 410);
  EXPECT_EQ(response->body, "gone");
  EXPECT_EQ(response->retry_after, std::chrono::seconds(3));
}

TEST_F(CurlTransportTest, ABodyAboveTheLimitIsRefused) {
  server_.Script({.chunks = {std::string(600, 'x'), std::string(600, 'x')}});
  const auto transport = Connect();
  EXPECT_EQ(transport->Send({.target = "/", .max_response_bytes = 1000}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(CurlTransportTest, FaultsOfTheConnection) {
  const auto transport = Connect();
  server_.Script({.chunks = {"half"}, .end = ScriptedReply::End::kCut});
  EXPECT_EQ(transport->Send({.target = "/"}).status().code(), absl::StatusCode::kUnavailable);
  server_.Script({.end = ScriptedReply::End::kHold});
  EXPECT_EQ(
      transport->Send({.target = "/", .timeout = std::chrono::milliseconds(20)}).status().code(),
      absl::StatusCode::kDeadlineExceeded);
  RestConfig nobody;
  nobody.server = "http://127.0.0.1:1";
  EXPECT_EQ(Connect(nobody)->Send({.target = "/"}).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CurlTransportTest, ServersThatAreNoUrl) {
  for (const char* server : {"", "ftp://host", "file:///etc/passwd", "https://"}) {
    RestConfig config;
    config.server = server;
    EXPECT_EQ(CurlTransport::Create(config, "t", clock_, {}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << server;
  }
}

class TokenFile {
 public:
  TokenFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "token.XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TokenFile() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_ / "token"; }
  void Write(const std::string& token) const { std::ofstream(path()) << token << "\n"; }

 private:
  std::filesystem::path path_;
};

std::string TokenOf(const RecordedRequest& request) {
  static constexpr std::string_view kName = "Authorization: Bearer ";
  const std::size_t at = request.headers.find(kName);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kName.size();
  return request.headers.substr(begin, request.headers.find('\r', begin) - begin);
}

TEST_F(CurlTransportTest, ATokenIsReadAgainAfterAMinute) {
  const TokenFile file;
  file.Write("one");
  RestConfig config;
  config.server = server_.url();
  config.token.file = file.path();
  const auto transport = Connect(config);
  const auto token_now = [&] {
    server_.Script({});
    EXPECT_TRUE(transport->Send({.target = "/"}).ok());
    return TokenOf(server_.requests().back());
  };
  EXPECT_EQ(token_now(), "one");
  file.Write("two");
  clock_.Advance(std::chrono::seconds(59));
  EXPECT_EQ(token_now(), "one");
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(token_now(), "two");
  std::filesystem::remove(file.path());
  clock_.Advance(std::chrono::minutes(5));
  EXPECT_EQ(token_now(), "two");  // The last good one, while the file is away.
}

TEST_F(CurlTransportTest, ATokenIsReadAgainAtA401) {
  const TokenFile file;
  file.Write("old");
  RestConfig config;
  config.server = server_.url();
  config.token.file = file.path();
  const auto transport = Connect(config);
  server_.Script({});
  ASSERT_TRUE(transport->Send({.target = "/"}).ok());
  file.Write("new");
  server_.Script({.code = 401});
  server_.Script({.code = 200});
  EXPECT_EQ(transport->Send({.target = "/"})->code, 200);
  EXPECT_EQ(TokenOf(server_.requests().at(1)), "old");
  EXPECT_EQ(TokenOf(server_.requests().at(2)), "new");
  // The same token again would only be refused again.
  server_.Script({.code = 401});
  EXPECT_EQ(transport->Send({.target = "/"})->code, 401);
  EXPECT_EQ(server_.requests().size(), 4u);
}

TEST_F(CurlTransportTest, ATokenThatWouldSmuggleAHeaderIsRefused) {
  RestConfig config;
  config.server = server_.url();
  config.token.text = "a\r\nX-Evil: 1";
  EXPECT_FALSE(Connect(config)->Send({.target = "/"}).ok());
  EXPECT_TRUE(server_.requests().empty());
}

}  // namespace
}  // namespace podcache::kube
