#include "server/protocol/auth_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace podcache::protocol {
namespace {

void ExpectError(std::string_view input, Reply error, std::size_t consumed) {
  const AuthResult result = ParseAuth(input);
  EXPECT_EQ(result.status, AuthStatus::kError) << input;
  EXPECT_EQ(Text(result.error), Text(error)) << input;
  EXPECT_EQ(result.consumed, consumed) << input;
}

TEST(AuthParserTest, UserAndPassword) {
  const std::string input = "set key 1 2 7\r\nfoo bar\r\nget a\r\n";
  const AuthResult result = ParseAuth(input);
  EXPECT_EQ(result.status, AuthStatus::kPair);
  EXPECT_EQ(result.user, "foo");
  EXPECT_EQ(result.password, "bar");
  EXPECT_EQ(result.consumed, 24U);
  // Everything behind the first space is the password.
  EXPECT_EQ(ParseAuth("set k 0 0 6\r\nu a b \r\n").password, "a b ");
  EXPECT_EQ(ParseAuth("set k 0 0 1\r\n \r\n").status, AuthStatus::kPair);
  // Further arguments and a bare newline behind the line are nothing special.
  EXPECT_EQ(ParseAuth("set k 0 0 3 noreply\na b\r\n").status, AuthStatus::kPair);
}

TEST(AuthParserTest, TheAnswerIsTheSameWhereverTheInputIsCut) {
  for (const std::string_view input :
       {"set key 1 2 7\r\nfoo bar\r\n", "set key 1 2 3\r\nfoobar\r\n", "get key\r\n"}) {
    const AuthResult whole = ParseAuth(input);
    for (std::size_t cut = 0; cut < input.size(); ++cut) {
      const AuthResult part = ParseAuth(input.substr(0, cut));
      if (part.status == AuthStatus::kNeedMore) continue;
      EXPECT_EQ(part.status, whole.status) << cut;
      EXPECT_EQ(part.consumed, whole.consumed) << cut;
    }
  }
}

TEST(AuthParserTest, EverythingElseIsUnauthenticated) {
  for (const std::string_view line :
       {"get foo\r\n", "version\r\n", "set foo 0 0\r\n", "set foo 0 0 -1\r\n", "set foo 0 0 x\r\n",
        "set foo 0 0 99999999999\r\n", "SET foo 0 0 7\r\n", "add a 0 0 1\r\n", "settle a 0 0 7\r\n",
        " set a 0 0\r\n", " set a 0 0 7\r\n", "      \r\n"}) {
    ExpectError(line, Reply::kUnauthenticated, line.size());
  }
}

TEST(AuthParserTest, EachLimitAtItsEdge) {
  ExpectError("set foo 0 0 16385\r\n", Reply::kAuthTooLong, 19);
  ExpectError("set foo 0 0 2147483646\r\n", Reply::kAuthTooLong, 24);
  const std::string longest = "u " + std::string(kMaxAuthTokenBytes - 2, 'p');
  const std::string fits = "set k 0 0 16384\r\n" + longest + "\r\n";
  EXPECT_EQ(ParseAuth(fits).status, AuthStatus::kPair);
  EXPECT_EQ(ParseAuth(fits.substr(0, fits.size() - 1)).status, AuthStatus::kNeedMore);
  // memcached closes on lines too short for anything, too.
  EXPECT_EQ(ParseAuth("12345\n").status, AuthStatus::kClose);
  EXPECT_EQ(ParseAuth("\r\n\r\n\r\n\r\n").status, AuthStatus::kClose);
  ExpectError("123456\n", Reply::kUnauthenticated, 7);
  EXPECT_EQ(ParseAuth(std::string(2049, 'x')).status, AuthStatus::kNeedMore);
  EXPECT_EQ(ParseAuth(std::string(2050, 'x')).status, AuthStatus::kClose);
}

TEST(AuthParserTest, BadTokens) {
  ExpectError("set k 0 0 6\r\nfoobar\r\n", Reply::kBadAuthToken, 21);
  ExpectError("set k 0 0 0\r\n\r\n", Reply::kBadAuthToken, 15);
  ExpectError("set k 0 0 7\r\nfoo barxx", Reply::kBadTermination, 22);
  // A space in the line end is none in the token.
  ExpectError("set k 0 0 3\r\nfoo \r\n", Reply::kBadTermination, 18);
}

}  // namespace
}  // namespace podcache::protocol
