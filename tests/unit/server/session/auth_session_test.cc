#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/session/session_harness.h"

namespace podcache::testing {
namespace {

class OnePair final : public Authenticator {
 public:
  bool Accepts(std::string_view user, std::string_view password) const override {
    return user == "foo" && password == "bar";
  }
};

class AuthSessionTest : public ::testing::Test {
 protected:
  OnePair pair_;
  Harness harness_{{}, Harness::DefaultStore(), &pair_};
};

constexpr char kRefused[] = "CLIENT_ERROR unauthenticated\r\n";

TEST_F(AuthSessionTest, NothingWorksBefore) {
  Connection connection(harness_);
  EXPECT_EQ(connection.Receive("get foo\r\n"), kRefused);
  EXPECT_EQ(connection.Receive("version\r\nstats settings\r\n"), std::string(kRefused) + kRefused);
  EXPECT_EQ(connection.Receive("set foo 0 0 2\r\nhi\r\n"),
            "CLIENT_ERROR bad authentication token format\r\n");
  EXPECT_EQ(connection.Receive("set foo 0 0 7\r\nfoo bab\r\n"),
            "CLIENT_ERROR authentication failure\r\n");
  EXPECT_EQ(connection.Receive("set foo 0 0 7\r\nfoo barxx"),
            "CLIENT_ERROR bad command line termination\r\n");
  EXPECT_EQ(connection.Receive("set foo 0 0 2147483646\r\n"),
            "CLIENT_ERROR auth token too long\r\n");
  EXPECT_FALSE(connection.closed());
  EXPECT_EQ(harness_.Count(metrics::Counter::kAuthCmds), 1U);
  EXPECT_EQ(harness_.Count(metrics::Counter::kAuthErrors), 1U);
  EXPECT_EQ(harness_.store.stats().items, 0U);
}

TEST_F(AuthSessionTest, EverythingWorksAfterwardsAndOnThatConnectionOnly) {
  // Cut anywhere; requests may follow at once.
  const std::string input = "set x 9 9 7\r\nfoo bar\r\nset a 0 0 1\r\nb\r\nget a x\r\n";
  const std::string answer = "STORED\r\nSTORED\r\nVALUE a 0 1\r\nb\r\nEND\r\n";
  for (std::size_t cut = 0; cut <= input.size(); ++cut) {
    Connection connection(harness_);
    std::string replies = connection.Receive(input.substr(0, cut));
    replies += connection.Receive(input.substr(cut));
    EXPECT_EQ(replies, answer) << cut;
  }
  EXPECT_EQ(harness_.Ask("get a\r\n"), kRefused);
  EXPECT_EQ(harness_.Count(metrics::Counter::kAuthCmds), input.size() + 1);
  EXPECT_EQ(harness_.Count(metrics::Counter::kAuthErrors), 0U);
}

TEST_F(AuthSessionTest, LinesThatCannotBeMeantEndIt) {
  for (const char* const line : {"\r\n\r\n\r\n\r\n", "quit\r\n", "mn\r\n"}) {
    Connection connection(harness_);
    EXPECT_EQ(connection.Receive(line), "");
    EXPECT_TRUE(connection.aborted()) << line;
  }
}

TEST_F(AuthSessionTest, AFloodOfRequestsYields) {
  Connection connection(harness_);
  std::string input;
  for (int i = 0; i < 1200; ++i) input += "get foo\r\n";
  EXPECT_EQ(connection.Receive(input).size(), 1200 * (sizeof(kRefused) - 1));
  EXPECT_EQ(connection.yields(), 2);
}

}  // namespace
}  // namespace podcache::testing
