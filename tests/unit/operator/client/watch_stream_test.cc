#include "operator/client/watch_stream.h"

#include <gtest/gtest.h>

#include <vector>

#include "operator/client/api_error.h"

namespace podcache::kube {
namespace {

// Every way that lines end, characters of two to four bytes, an empty line.
const std::string kStream =
    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"één\"}}}\n"
    "\n"
    "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"€\"}}}\r\n"
    "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"😀\"}}}\n";

std::vector<std::string> LinesOf(const std::vector<std::string_view>& pieces) {
  LineSplitter splitter;
  std::vector<std::string> lines;
  for (const std::string_view piece : pieces) {
    EXPECT_TRUE(splitter
                    .Feed(piece,
                          [&](std::string_view line) {
                            lines.emplace_back(line);
                            return absl::OkStatus();
                          })
                    .ok());
  }
  EXPECT_EQ(splitter.pending(), 0u);
  return lines;
}

TEST(LineSplitterTest, EveryCutGivesTheSameLines) {
  const std::string_view stream = kStream;
  const std::vector<std::string> whole = LinesOf({stream});
  ASSERT_EQ(whole.size(), 4u);
  EXPECT_EQ(whole[0], "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"één\"}}}");
  EXPECT_EQ(whole[1], "");
  EXPECT_EQ(whole[2], "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"€\"}}}");
  for (std::size_t i = 0; i <= stream.size(); ++i) {
    EXPECT_EQ(LinesOf({stream.substr(0, i), stream.substr(i)}), whole) << "cut at " << i;
    for (std::size_t j = i; j <= stream.size(); ++j) {
      ASSERT_EQ(LinesOf({stream.substr(0, i), stream.substr(i, j - i), stream.substr(j)}), whole)
          << "cuts at " << i << " and " << j;
    }
  }
}

TEST(LineSplitterTest, ByteByByte) {
  const std::string_view stream = kStream;
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < stream.size(); ++i) bytes.push_back(stream.substr(i, 1));
  EXPECT_EQ(LinesOf(bytes), LinesOf({stream}));
}

TEST(LineSplitterTest, ALineOf4MiBInSmallPieces) {
  const std::string line(std::size_t{4} << 20, 'x');
  const std::string stream = line + "\nnext\n";
  std::vector<std::string_view> pieces;
  for (std::size_t i = 0; i < stream.size(); i += 16384) {
    pieces.push_back(std::string_view(stream).substr(i, 16384));
  }
  const std::vector<std::string> lines = LinesOf(pieces);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], line);
  EXPECT_EQ(lines[1], "next");
}

TEST(LineSplitterTest, AnEndlessLineIsRefused) {
  LineSplitter splitter(100);
  const auto ignore = [](std::string_view) { return absl::OkStatus(); };
  EXPECT_TRUE(splitter.Feed(std::string(100, 'x'), ignore).ok());
  EXPECT_EQ(splitter.Feed("x", ignore).code(), absl::StatusCode::kResourceExhausted);
  LineSplitter whole(100);
  EXPECT_EQ(whole.Feed(std::string(101, 'x') + "\n", ignore).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(LineSplitterTest, TheHandlersErrorEndsIt) {
  LineSplitter splitter;
  int calls = 0;
  const absl::Status status = splitter.Feed("a\nb\n", [&](std::string_view) {
    ++calls;
    return absl::InternalError("no");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(calls, 1);
}

TEST(DecodeWatchEventTest, Types) {
  const auto decode = [](const std::string& type) {
    return DecodeWatchEvent("{\"type\":\"" + type +
                            "\",\"object\":{\"metadata\":{\"name\":\"n\",\"managedFields\":[]}}}");
  };
  EXPECT_EQ(decode("ADDED")->type, WatchEventType::kAdded);
  EXPECT_EQ(decode("MODIFIED")->type, WatchEventType::kModified);
  EXPECT_EQ(decode("DELETED")->type, WatchEventType::kDeleted);
  EXPECT_EQ(decode("BOOKMARK")->type, WatchEventType::kBookmark);
  EXPECT_EQ(decode("ADDED")->object.Dump(), R"({"metadata":{"name":"n"}})");
  EXPECT_EQ(decode("SURPRISE").status().code(), absl::StatusCode::kDataLoss);
}

TEST(DecodeWatchEventTest, ErrorEventsBecomeErrors) {
  const absl::Status expired =
      DecodeWatchEvent(
          R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})")
          .status();
  EXPECT_TRUE(IsGone(expired));
  const absl::Status other =
      DecodeWatchEvent(
          R"({"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd is unwell"}})")
          .status();
  EXPECT_FALSE(IsGone(other));
  EXPECT_EQ(other.code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(DecodeWatchEvent(R"({"type":"ERROR","object":{}})").ok());
}

TEST(DecodeWatchEventTest, GarbageIsDataLoss) {
  for (const char* line :
       {"", "null", "[]", "{}", R"({"type":1,"object":{}})", R"({"type":"ADDED","object":null})",
        R"({"type":"ADDED","object":{})", "<html>"}) {
    EXPECT_EQ(DecodeWatchEvent(line).status().code(), absl::StatusCode::kDataLoss) << line;
  }
}

}  // namespace
}  // namespace podcache::kube
