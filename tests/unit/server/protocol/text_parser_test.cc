// The parser alone. What the replies are to whole conversations is tested with the session and the
// transcripts.
#include "server/protocol/text_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace podcache::protocol {
namespace {

ParseResult Parse(std::string_view input, Request& request) {
  return TextParser::Parse(input, request);
}

ParseResult Parse(std::string_view input) {
  Request request;
  return Parse(input, request);
}

void ExpectError(std::string_view line, Reply error, std::uint64_t skip_bytes = 0) {
  const std::string whole = std::string(line) + "\r\n";
  const ParseResult result = Parse(whole);
  EXPECT_EQ(result.status, ParseStatus::kError) << line;
  EXPECT_EQ(Text(result.error), Text(error)) << line;
  EXPECT_EQ(result.consumed, whole.size()) << line;
  EXPECT_EQ(result.skip_bytes, skip_bytes) << line;
  EXPECT_FALSE(result.noreply) << line;
}

TEST(TextParserTest, StorageRequest) {
  Request request;
  const ParseResult result = Parse("cas key 7 60 5 99 noreply\r\nvalue\r\n", request);
  EXPECT_EQ(result.status, ParseStatus::kRequest);
  EXPECT_EQ(result.consumed, 27U);
  EXPECT_EQ(request.verb, Verb::kCas);
  EXPECT_EQ(request.key, "key");
  EXPECT_EQ(request.client_flags, 7U);
  EXPECT_EQ(request.exptime, 60);
  EXPECT_EQ(request.value_bytes, 5U);
  EXPECT_EQ(request.number, 99U);
  EXPECT_TRUE(request.noreply);
}

TEST(TextParserTest, LinesEndWithOrWithoutCarriageReturn) {
  Request request;
  EXPECT_EQ(Parse("touch k 5\n", request).consumed, 10U);
  EXPECT_EQ(request.exptime, 5);
  EXPECT_EQ(Parse("touch k 5\r\n", request).consumed, 11U);
  EXPECT_EQ(request.exptime, 5);
}

TEST(TextParserTest, SeveralSpacesCountAsOne) {
  Request request;
  EXPECT_EQ(Parse("incr   k    18446744073709551615   \r\n", request).status,
            ParseStatus::kRequest);
  EXPECT_EQ(request.key, "k");
  EXPECT_EQ(request.number, 18446744073709551615U);
}

TEST(TextParserTest, EveryVerbIsKnownAndNothingElse) {
  const std::vector<std::pair<std::string, Verb>> lines = {
      {"set k 0 0 1", Verb::kSet},
      {"add k 0 0 1", Verb::kAdd},
      {"replace k 0 0 1", Verb::kReplace},
      {"append k 0 0 1", Verb::kAppend},
      {"prepend k 0 0 1", Verb::kPrepend},
      {"cas k 0 0 1 1", Verb::kCas},
      {"delete k", Verb::kDelete},
      {"incr k 1", Verb::kIncr},
      {"decr k 1", Verb::kDecr},
      {"touch k 1", Verb::kTouch},
      {"flush_all", Verb::kFlushAll},
      {"version", Verb::kVersion},
      {"verbosity 1", Verb::kVerbosity},
      {"stats", Verb::kStats},
      {"quit", Verb::kQuit},
      {"shutdown", Verb::kShutdown},
      {"cache_memlimit 64", Verb::kCacheMemlimit},
      {"lru_crawler enable", Verb::kLruCrawler},
      {"lru mode flat", Verb::kLru},
      {"slabs automove 1", Verb::kSlabs},
      {"refresh_certs", Verb::kRefreshCerts},
      {"debugtime 1", Verb::kDebugtime}};
  for (const auto& [line, verb] : lines) {
    Request request;
    ASSERT_EQ(Parse(line + "\r\n", request).status, ParseStatus::kRequest) << line;
    EXPECT_EQ(request.verb, verb) << line;
    const std::size_t word = line.find(' ');
    const std::string rest = word == std::string::npos ? "" : line.substr(word);
    ExpectError(line.substr(0, word) + "x" + rest, Reply::kError);
    std::string upper = line;
    upper[0] = static_cast<char>(upper[0] - 'a' + 'A');
    ExpectError(upper, Reply::kError);
  }
  for (const char* line : {"bget k", "verbosit", "flush_al", "mgk", "mx k", "m k", "mnn"}) {
    ExpectError(line, Reply::kError);
  }
}

// What else is on the line is for MetaParser.
TEST(TextParserTest, MetaLinesAreFound) {
  for (const std::string line : {"mg ", "mg k v", "ms k 2 z", "md k", "ma k", "mn", "me k"}) {
    for (const char* end : {"\r\n", "\n"}) {
      const ParseResult result = Parse(line + end + "mn\r\n");
      EXPECT_EQ(result.status, ParseStatus::kMeta) << line;
      EXPECT_EQ(result.consumed, line.size() + std::string_view(end).size()) << line;
    }
    for (std::size_t cut = 0; cut <= line.size(); ++cut) {
      EXPECT_EQ(Parse(line.substr(0, cut)).status, ParseStatus::kNeedMore) << line;
    }
  }
}

TEST(TextParserTest, BlankAndSingleByteLines) {
  ExpectError("", Reply::kBadFormat);
  ExpectError("v", Reply::kBadFormat);
  ExpectError(" ", Reply::kBadFormat);
  ExpectError("vv", Reply::kError);
  ExpectError("  ", Reply::kError);
  EXPECT_EQ(Parse("\n").consumed, 1U);
}

TEST(TextParserTest, ALeadingSpaceIsNoCommand) {
  ExpectError(" get a", Reply::kError);
  ExpectError("  version", Reply::kError);
}

TEST(TextParserTest, TooFewArguments) {
  for (const char* line :
       {"get", "get ", "gets", "gat", "gat 10", "gat 10 ", "gat abc", "gats", "set", "set k",
        "set k 0", "set k 0 0", "delete", "incr", "incr k", "decr k", "touch", "touch k"}) {
    ExpectError(line, Reply::kBadFormat);
  }
  // Its length could be read: the data block is swallowed.
  ExpectError("cas k 0 0 1", Reply::kBadFormat, 3);
}

TEST(TextParserTest, KeyLimitAtItsEdges) {
  for (const std::size_t size : {std::size_t{1}, kMaxKeyBytes - 1, kMaxKeyBytes}) {
    const std::string key(size, 'k');
    Request request;
    const std::string line = "delete " + key + "\r\n";
    EXPECT_EQ(Parse(line, request).status, ParseStatus::kRequest);
    EXPECT_EQ(request.key, key);
    EXPECT_EQ(Parse("get " + key + "\r\n").status, ParseStatus::kKeys);
    EXPECT_EQ(Parse("get a " + key + " b\r\n").status, ParseStatus::kKeys);
  }
  const std::string key(kMaxKeyBytes + 1, 'k');
  ExpectError("delete " + key, Reply::kBadFormat);
  ExpectError("incr " + key + " x", Reply::kBadFormat);
  ExpectError("touch " + key + " x", Reply::kBadFormat);
  ExpectError("set " + key + " 0 0 5", Reply::kBadFormat, 7);
  ExpectError("get " + key, Reply::kBadFormat);
  ExpectError("get a b c " + key + " d", Reply::kBadFormat);
  ExpectError("gat 0 " + key, Reply::kBadFormat);
  ExpectError("gat x " + key, Reply::kBadExptime);
}

// Wherever the one that is too long stands, and whatever number of spaces is around it.
TEST(TextParserTest, OneKeyTooManyBytesLongAmongOthers) {
  for (const std::size_t spaces : {1, 2, 5}) {
    const std::string gap(spaces, ' ');
    for (std::size_t before = 0; before < 2 * kMaxKeyBytes; ++before) {
      // Tokens of 1 to 13 bytes, then one at the limit, one above or far above.
      std::string keys;
      for (std::size_t n = 1; keys.size() < before; n = n % 13 + 1)
        keys += gap + std::string(n, 'a');
      for (const std::size_t size : {kMaxKeyBytes, kMaxKeyBytes + 1, 3 * kMaxKeyBytes}) {
        const std::string line = "get" + keys + gap + std::string(size, 'k') + gap + "b" + gap;
        if (line.size() > kMaxLineBytes) continue;
        const ParseStatus expected = size > kMaxKeyBytes ? ParseStatus::kError : ParseStatus::kKeys;
        ASSERT_EQ(Parse(line + "\r\n").status, expected) << before << " " << spaces << " " << size;
      }
    }
  }
}

TEST(TextParserTest, DataLengthAtItsEdges) {
  for (const char* length : {"0", "2147483644", "2147483645"}) {
    EXPECT_EQ(Parse(std::string("set k 0 0 ") + length + "\r\n").status, ParseStatus::kRequest);
  }
  for (const char* length :
       {"2147483646", "2147483647", "4294967296", "99999999999999999999", "-1", "+1", "x", "1.5"}) {
    ExpectError(std::string("set k 0 0 ") + length, Reply::kBadFormat);
  }
}

TEST(TextParserTest, BadArgumentsWithAReadableLengthSwallowTheData) {
  ExpectError("set k x 0 10", Reply::kBadFormat, 12);
  ExpectError("set k 0 1.5 3", Reply::kBadFormat, 5);
  ExpectError("set k -1 0 0", Reply::kBadFormat, 2);
  ExpectError("cas k 0 0 1 x", Reply::kBadFormat, 3);
  ExpectError("cas k 0 0 2147483645 18446744073709551616", Reply::kBadFormat, 2147483647);
}

TEST(TextParserTest, NoreplyHidesEveryErrorOfItsCommand) {
  for (const char* line :
       {"set noreply", "set k 0 0 noreply", "set k 0 0 x noreply", "set k x 0 1 noreply",
        "set k 0 0 99999999999 noreply", "cas k 0 0 1 noreply", "cas k 0 0 1 x noreply",
        "incr k noreply", "incr k x noreply", "decr k -1 noreply", "touch k noreply",
        "touch k x noreply", "touch noreply"}) {
    const ParseResult result = Parse(std::string(line) + "\r\n");
    EXPECT_EQ(result.status, ParseStatus::kError) << line;
    EXPECT_TRUE(result.noreply) << line;
  }
  for (const char* line : {"delete noreply", "delete k 0 noreply", "flush_all noreply",
                           "verbosity noreply", "shutdown noreply", "touch k 0  noreply  "}) {
    Request request;
    EXPECT_EQ(Parse(std::string(line) + "\r\n", request).status, ParseStatus::kRequest) << line;
    EXPECT_TRUE(request.noreply) << line;
  }
  for (const char* line :
       {"version noreply", "stats noreply", "delete noreply k", "delete xnoreply"}) {
    Request request;
    EXPECT_EQ(Parse(std::string(line) + "\r\n", request).status, ParseStatus::kRequest) << line;
    EXPECT_FALSE(request.noreply) << line;
  }
}

TEST(TextParserTest, AWebBrowserIsCutOff) {
  for (const char* line : {"GET / HTTP/1.1", "foo HTTP/", "a HTTP/1.0 ", "  foo HTTP/1.0"}) {
    EXPECT_EQ(Parse(std::string(line) + "\r\n").status, ParseStatus::kClose) << line;
  }
  ExpectError("HTTP/1.1", Reply::kError);
  ExpectError(" HTTP/1.1", Reply::kError);
  ExpectError("foo HTTP/1.1 x", Reply::kError);
  ExpectError("foo xHTTP/1.1", Reply::kError);
  ExpectError("set / HTTP/1.1", Reply::kBadFormat);
  EXPECT_EQ(Parse("get / HTTP/1.1\r\n").status, ParseStatus::kKeys);
}

TEST(TextParserTest, BinaryProtocolIsRefused) {
  ExpectError("\x80\x05", Reply::kError);
  ExpectError("\x81\x80", Reply::kError);
}

TEST(TextParserTest, LineLimitAtItsEdges) {
  for (const std::size_t size : {kMaxLineBytes - 1, kMaxLineBytes}) {
    EXPECT_EQ(Parse(std::string(size, 'x')).status, ParseStatus::kNeedMore);
    EXPECT_EQ(Parse(std::string(size, 'x') + "\n").status, ParseStatus::kError);
    EXPECT_EQ(Parse(std::string(size, 'x') + "\r").status, ParseStatus::kNeedMore);
    EXPECT_EQ(Parse(std::string(size, 'x') + "\r\n").status, ParseStatus::kError);
  }
  const std::string over(kMaxLineBytes + 1, 'x');
  EXPECT_EQ(Parse(over).status, ParseStatus::kClose);
  EXPECT_EQ(Parse(over + "\n").status, ParseStatus::kClose);
  EXPECT_EQ(Parse(over + "\r\nversion\r\n").status, ParseStatus::kClose);
  EXPECT_EQ(Parse("delete k" + std::string(kMaxLineBytes, ' ') + "\r\n").status,
            ParseStatus::kClose);
  EXPECT_EQ(Parse(std::string(4096, ' ')).status, ParseStatus::kClose);
}

TEST(TextParserTest, RetrievalLinesMayBeLonger) {
  const std::string many(2 * kMaxLineBytes, ' ');
  for (const char* start : {"get k", "gets k", "gat 10 k", "gats 10 k"}) {
    Request request;
    const ParseResult result = Parse(start + many, request);
    EXPECT_EQ(result.status, ParseStatus::kKeys) << start;
    EXPECT_EQ(result.consumed, std::string_view(start).size() - 2) << start;
  }
  for (const char* start : {"getx k", "gatss 10 k", "get", "mg k"}) {
    EXPECT_EQ(Parse(start + std::string(2 * kMaxLineBytes, 'x')).status, ParseStatus::kClose)
        << start;
  }
  // A command cannot start with a space; but the line is not cut off either.
  const std::string line = "get k" + many;
  EXPECT_EQ(Parse(" " + line).status, ParseStatus::kSkipLine);
  EXPECT_EQ(Parse(std::string(kMaxLeadingSpaces, ' ') + line).status, ParseStatus::kSkipLine);
  EXPECT_EQ(Parse(std::string(kMaxLeadingSpaces + 1, ' ') + line).status, ParseStatus::kClose);
  // A bad exptime is known before the line ends.
  const ParseResult bad = Parse("gat x k" + many);
  EXPECT_EQ(bad.status, ParseStatus::kSkipLine);
  EXPECT_EQ(Text(bad.error), Text(Reply::kBadExptime));
}

TEST(TextParserTest, KeysOneByOne) {
  KeyResult key = TextParser::NextKey("  a bc\r\n");
  EXPECT_EQ(key.status, KeyStatus::kKey);
  EXPECT_EQ(key.key, "a");
  EXPECT_EQ(key.consumed, 3U);
  key = TextParser::NextKey(" bc\r\nversion\r\n");
  EXPECT_EQ(key.status, KeyStatus::kLastKey);
  EXPECT_EQ(key.key, "bc");
  EXPECT_EQ(key.consumed, 5U);
  key = TextParser::NextKey("bc\n");
  EXPECT_EQ(key.status, KeyStatus::kLastKey);
  EXPECT_EQ(key.key, "bc");
  key = TextParser::NextKey("  \r\n");
  EXPECT_EQ(key.status, KeyStatus::kEndOfLine);
  EXPECT_EQ(key.consumed, 4U);
  key = TextParser::NextKey("\n");
  EXPECT_EQ(key.status, KeyStatus::kEndOfLine);
  // A carriage return belongs to the line end only right before the newline.
  EXPECT_EQ(TextParser::NextKey("a\r \r\n").key, "a\r");
  EXPECT_EQ(TextParser::NextKey("\rx\r\n").key, "\rx");
}

TEST(TextParserTest, IncompleteKeysWait) {
  for (const char* input : {"", " ", "a", " ab", "ab\r", "\r"}) {
    EXPECT_EQ(TextParser::NextKey(input).status, KeyStatus::kNeedMore) << input;
  }
  const std::string longest(kMaxKeyBytes, 'k');
  EXPECT_EQ(TextParser::NextKey(longest).status, KeyStatus::kNeedMore);
  EXPECT_EQ(TextParser::NextKey(longest + "\r").status, KeyStatus::kNeedMore);
  EXPECT_EQ(TextParser::NextKey(longest + "\r\n").key, longest);
  EXPECT_EQ(TextParser::NextKey(longest + "\n").key, longest);
  EXPECT_EQ(TextParser::NextKey(longest + " ").key, longest);
  EXPECT_EQ(TextParser::NextKey(longest + "\r ").status, KeyStatus::kTooLong);
  EXPECT_EQ(TextParser::NextKey(longest + "\rx").status, KeyStatus::kTooLong);
  EXPECT_EQ(TextParser::NextKey(longest + "x").status, KeyStatus::kTooLong);
  EXPECT_EQ(TextParser::NextKey(longest + "x\r\n").status, KeyStatus::kTooLong);
  EXPECT_EQ(TextParser::NextKey(longest + longest).status, KeyStatus::kTooLong);
}

// As long as a line is not complete the parser must neither decide nor consume.
TEST(TextParserTest, EveryPrefixOfALineNeedsMore) {
  for (const std::string_view line :
       {"set key 7 60 5 noreply\r\n", "get a b c\r\n", "gat 10 a\r\n", "incr k 5\n", "quit\r\n",
        "GET / HTTP/1.1\r\n", "stats settings\r\n", "\r\n"}) {
    for (std::size_t size = 0; size < line.size(); ++size) {
      const ParseResult result = Parse(line.substr(0, size));
      EXPECT_EQ(result.status, ParseStatus::kNeedMore) << line.substr(0, size);
      EXPECT_EQ(result.consumed, 0U);
    }
    EXPECT_NE(Parse(line).status, ParseStatus::kNeedMore);
  }
}

}  // namespace
}  // namespace podcache::protocol
