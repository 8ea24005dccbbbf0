#include "common/http/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <stdexcept>

#include "tests/unit/common/http/http_client.h"

namespace podcache::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

EndpointOptions Options() {
  EndpointOptions options;
  options.addresses = {"127.0.0.1:0"};
  options.routes["/healthz"] = [] { return Response{200, "ok\n"}; };
  options.routes["/readyz"] = [] { return Response{503, "starting\n"}; };
  options.routes["/broken"] = []() -> Response { throw std::runtime_error("out of order"); };
  return options;
}

std::unique_ptr<Endpoint> StartOrDie(EndpointOptions options) {
  std::string error;
  auto endpoint = Endpoint::Start(std::move(options), &error);
  EXPECT_TRUE(endpoint) << error;
  return endpoint;
}

TEST(EndpointTest, AnswersGetWithStatusTypeAndBody) {
  const auto endpoint = StartOrDie(Options());
  const std::string answer = Get(endpoint->bound_addresses()[0], "/healthz?verbose=1");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\nok\n"));
  EXPECT_THAT(Get(endpoint->bound_addresses()[0], "/readyz"), StartsWith("HTTP/1.1 503 "));
}

TEST(EndpointTest, HeadHasNoBody) {
  const auto endpoint = StartOrDie(Options());
  const std::string answer =
      Exchange(endpoint->bound_addresses()[0],
               "HEAD /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST(EndpointTest, OtherPathsAre404OtherMethods405) {
  const auto endpoint = StartOrDie(Options());
  const std::string& address = endpoint->bound_addresses()[0];
  EXPECT_THAT(Get(address, "/"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Get(address, "/healthz/x"), StartsWith("HTTP/1.1 404 "));
  for (const char* method : {"POST", "PUT", "DELETE"}) {
    const std::string answer = Exchange(
        address,
        std::string(method) +
            " /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 ")) << method;
    EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n"));
  }
}

TEST(EndpointTest, AThrowingHandlerIs500AndTheEndpointLivesOn) {
  const auto endpoint = StartOrDie(Options());
  EXPECT_THAT(Get(endpoint->bound_addresses()[0], "/broken"), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(Get(endpoint->bound_addresses()[0], "/healthz"), StartsWith("HTTP/1.1 200 "));
}

TEST(EndpointTest, GarbageAndOversizedRequestsAreRefused) {
  const auto endpoint = StartOrDie(Options());
  const std::string& address = endpoint->bound_addresses()[0];
  EXPECT_THAT(Exchange(address, "get key\r\n\r\n"), Not(HasSubstr(" 200 ")));
  EXPECT_THAT(Exchange(address, std::string(100'000, 'x')), Not(HasSubstr(" 200 ")));
  EXPECT_THAT(
      Exchange(address, "GET /healthz HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"),
      Not(HasSubstr(" 200 ")));
  EXPECT_THAT(Exchange(address, "POST /healthz HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n"),
              Not(HasSubstr(" 200 ")));
  EXPECT_THAT(Get(address, "/healthz"), StartsWith("HTTP/1.1 200 "));
}

TEST(EndpointTest, IdleConnectionsAreClosedByTimeAndMakeRoomForOthers) {
  EndpointOptions options = Options();
  options.max_connections = 2;
  options.idle_timeout = std::chrono::seconds(1);
  const auto endpoint = StartOrDie(std::move(options));
  const std::string& address = endpoint->bound_addresses()[0];
  std::deque<RawConnection> idle;
  for (int i = 0; i < 6; ++i) idle.emplace_back(address).Send("GET /hea");
  // Waits in the backlog until idle ones are gone: answered only because they are.
  EXPECT_THAT(Get(address, "/healthz"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(idle.front().ReadAll(), Not(HasSubstr(" 200 ")));
}

TEST(EndpointTest, ListensOnSeveralAddresses) {
  EndpointOptions options = Options();
  options.addresses = {"127.0.0.1:0", "127.0.0.2:0"};
  const auto endpoint = StartOrDie(std::move(options));
  ASSERT_THAT(endpoint->bound_addresses(), SizeIs(2));
  for (const std::string& address : endpoint->bound_addresses()) {
    EXPECT_THAT(Get(address, "/healthz"), StartsWith("HTTP/1.1 200 ")) << address;
  }
}

TEST(EndpointTest, ABusyPortIsAnErrorThatNamesIt) {
  const auto first = StartOrDie(Options());
  EndpointOptions options = Options();
  options.addresses = {first->bound_addresses()[0]};
  std::string error;
  EXPECT_FALSE(Endpoint::Start(std::move(options), &error));
  EXPECT_THAT(error, HasSubstr(first->bound_addresses()[0]));
  EXPECT_THAT(error, HasSubstr("Address already in use"));
}

TEST(EndpointTest, AfterStopNobodyListens) {
  const auto endpoint = StartOrDie(Options());
  const std::string address = endpoint->bound_addresses()[0];
  RawConnection idle(address);  // Does not hold Stop up.
  endpoint->Stop();
  endpoint->Stop();
  EXPECT_FALSE(RawConnection(address).connected());
}

}  // namespace
}  // namespace podcache::http
