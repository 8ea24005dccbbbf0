#include "common/http/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/common/http/http_client.h"

namespace podcache::http {
namespace {

using ::testing::HasSubstr;

std::string PortOf(const std::string& address) { return address.substr(address.rfind(':') + 1); }

bool KernelHasIpv6() {
  const int fd = socket(AF_INET6, SOCK_STREAM, 0);
  if (fd < 0) return false;
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool works = bind(fd, reinterpret_cast<sockaddr*>(&loopback), sizeof(loopback)) == 0;
  close(fd);
  return works;
}

TEST(ParseListenAddressTest, ReadsAllForms) {
  std::string error;
  EXPECT_EQ(ParseListenAddress("127.0.0.1:9150", &error)->host, "127.0.0.1");
  EXPECT_EQ(ParseListenAddress("127.0.0.1:9150", &error)->port, 9150);
  EXPECT_EQ(ParseListenAddress("[::1]:65535", &error)->host, "::1");
  EXPECT_EQ(ParseListenAddress("*:0", &error)->host, "*");
  EXPECT_EQ(ParseListenAddress("cache.example:1", &error)->host, "cache.example");
  EXPECT_EQ(ParseListenAddress("unix:/run/podcache/admin.sock", &error)->unix_path,
            "/run/podcache/admin.sock");
}

TEST(ParseListenAddressTest, RefusesOthersWithTheReason) {
  const auto reason = [](std::string_view text) {
    std::string error;
    EXPECT_FALSE(ParseListenAddress(text, &error)) << text;
    return error;
  };
  EXPECT_THAT(reason(""), HasSubstr("expected host:port"));
  EXPECT_THAT(reason("9150"), HasSubstr("expected host:port"));
  EXPECT_THAT(reason(":9150"), HasSubstr("host is missing"));
  EXPECT_THAT(reason("a:65536"), HasSubstr("0 to 65535"));
  EXPECT_THAT(reason("a:-1"), HasSubstr("0 to 65535"));
  EXPECT_THAT(reason("a:"), HasSubstr("0 to 65535"));
  EXPECT_THAT(reason("::1:80"), HasSubstr("brackets"));
  EXPECT_THAT(reason("[127.0.0.1]:80"), HasSubstr("brackets"));
  EXPECT_THAT(reason("unix:"), HasSubstr("path is missing"));
  EXPECT_THAT(reason("unix:/" + std::string(200, 'x')), HasSubstr("107 bytes"));
}

TEST(ParseListenAddressTest, KnowsLoopback) {
  const auto loopback = [](std::string_view text) {
    std::string error;
    return ParseListenAddress(text, &error)->is_loopback();
  };
  EXPECT_TRUE(loopback("127.0.0.1:1"));
  EXPECT_TRUE(loopback("127.9.9.9:1"));
  EXPECT_TRUE(loopback("[::1]:1"));
  EXPECT_TRUE(loopback("localhost:1"));
  EXPECT_TRUE(loopback("unix:/tmp/x"));
  EXPECT_FALSE(loopback("*:1"));
  EXPECT_FALSE(loopback("0.0.0.0:1"));
  EXPECT_FALSE(loopback("[::]:1"));
  EXPECT_FALSE(loopback("10.0.0.1:1"));
  EXPECT_FALSE(loopback("localhost.example:1"));
}

TEST(OpenListenSocketsTest, StarServesBothFamiliesWithOnePort) {
  std::string error;
  const auto sockets = OpenListenSockets({"*", 0, ""}, &error);
  ASSERT_TRUE(sockets) << error;
  ASSERT_EQ(sockets->size(), 1U);
  const std::string port = PortOf(LocalAddress(sockets->front()));
  EXPECT_TRUE(RawConnection("127.0.0.1:" + port).connected());
  if (KernelHasIpv6()) {
    EXPECT_TRUE(RawConnection("[::1]:" + port).connected());
  }
  close(sockets->front());
}

TEST(OpenListenSocketsTest, UnknownHostsAndForeignAddressesAreErrors) {
  std::string error;
  EXPECT_FALSE(OpenListenSockets({"no-such-host.invalid", 0, ""}, &error));
  EXPECT_THAT(error, HasSubstr("cannot resolve 'no-such-host.invalid:0'"));
  // TEST-NET-1 of RFC 5737 belongs to no interface.
  EXPECT_FALSE(OpenListenSockets({"192.0.2.1", 0, ""}, &error));
  EXPECT_THAT(error, HasSubstr("cannot listen on '192.0.2.1:0'"));
}

}  // namespace
}  // namespace podcache::http
