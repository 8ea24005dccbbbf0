// Every transcript through the session: whole, byte by byte, and cut at every point. The expected
// replies are the transcripts', which memcached 1.6.45 confirms (tests/transcript/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/transcript/transcript.h"
#include "tests/unit/server/session/session_harness.h"

namespace podcache {
namespace {

using testing::Connection;
using testing::Harness;
using transcript::Case;
using transcript::Line;
using transcript::LineKind;

constexpr const char* kFolder = "tests/transcript";

// Called with what one write holds and how many bytes of the case came before it; returns the reads
// it arrives with.
using Cutter = std::function<std::vector<std::string>(const std::string&, std::size_t)>;

class CaseRun {
 public:
  CaseRun(Harness& harness, const Cutter& cutter)
      : harness_(harness), connection_(std::in_place, harness), cutter_(cutter) {}

  // What went wrong, if anything.
  std::optional<std::string> Run(const Case& whole) {
    for (const Line& line : whole.lines) {
      if (const auto problem = Step(line)) return problem;
    }
    Write();
    return End();
  }

  std::size_t sent_bytes() const { return sent_bytes_; }

 private:
  static std::string Problem(std::string_view wanted, std::string_view got) {
    constexpr std::size_t kShown = 300;
    return "expected " + std::string(wanted.substr(0, kShown)) + ", got " +
           std::string(got.substr(0, kShown));
  }

  std::optional<std::string> NothingLeft() const {
    if (received_.empty()) return std::nullopt;
    return Problem("nothing more", received_);
  }

  // What is wrong with the connection at the end of its part.
  std::optional<std::string> End() {
    if (connection_->closed()) return NothingLeft();
    if (!connection_->AtRequestBoundary()) return "not at a request boundary";
    if (is_binary_) {
      received_ += connection_->Receive(transcript::EncodePacket(kNoop, ""));
      const std::string last = NextPacket();
      if (!transcript::PacketFits(last, kNoop, group_)) return Problem("the reply of a Noop", last);
    } else {
      received_ += connection_->Receive("version\r\n");
      const std::string last = NextLine();
      if (!last.starts_with("VERSION ")) return Problem("a VERSION line", last);
    }
    return NothingLeft();
  }

  std::optional<std::string> Step(const Line& line) {
    if (line.kind == LineKind::kSend) {
      pending_ += transcript::Expand(line.text, group_);
      return std::nullopt;
    }
    if (line.kind == LineKind::kSendPacket) {
      pending_ += transcript::EncodePacket(line.text, group_);
      return std::nullopt;
    }
    Write();
    switch (line.kind) {
      case LineKind::kWait:
        harness_.clock.Advance(std::chrono::milliseconds(std::stoi(line.text)));
        break;
      case LineKind::kExpect: {
        const std::string wanted = transcript::Expand(line.text, group_) + "\r\n";
        const std::string got = NextLine();
        if (got != wanted) return Problem(wanted, got);
        break;
      }
      case LineKind::kExpectMatch:
      case LineKind::kExpectMatchBare: {
        const std::string_view end = line.kind == LineKind::kExpectMatch ? "\r\n" : "\n";
        std::string got = NextLine();
        if (!got.ends_with(end)) return Problem(line.text, got);
        got.resize(got.size() - end.size());
        if (!transcript::Matches(got, line.text, group_)) return Problem(line.text, got);
        break;
      }
      case LineKind::kExpectPacket: {
        const std::string got = NextPacket();
        if (!transcript::PacketFits(got, line.text, group_)) return Problem(line.text, Hex(got));
        break;
      }
      case LineKind::kConnect:
        if (const auto problem = End()) return problem;
        connection_.emplace(harness_);
        is_binary_ = false;
        begun_ = false;
        break;
      case LineKind::kClosed:
        if (!connection_->closed()) return "still open, received " + received_;
        break;
      case LineKind::kCut:
      case LineKind::kSend:
      case LineKind::kSendPacket:
        break;
    }
    return std::nullopt;
  }

  void Write() {
    if (!begun_ && !pending_.empty()) {
      begun_ = true;
      is_binary_ = pending_[0] == '\x80';
    }
    for (const std::string& read : cutter_(pending_, sent_bytes_)) {
      received_ += connection_->Receive(read);
    }
    sent_bytes_ += pending_.size();
    pending_.clear();
  }

  std::string NextLine() {
    const std::size_t newline = received_.find('\n');
    const std::string line =
        received_.substr(0, newline == std::string::npos ? newline : newline + 1);
    received_.erase(0, line.size());
    return line;
  }

  std::string NextPacket() {
    const std::size_t size = std::min(transcript::PacketBytes(received_), received_.size());
    const std::string packet = received_.substr(0, size);
    received_.erase(0, size);
    return packet;
  }

  static std::string Hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
      constexpr char kDigits[] = "0123456789abcdef";
      text += kDigits[static_cast<unsigned char>(byte) >> 4];
      text += kDigits[static_cast<unsigned char>(byte) & 15];
    }
    return text;
  }

  static constexpr std::string_view kNoop = "0a opaque=ffffffff";

  Harness& harness_;
  std::optional<Connection> connection_;
  const Cutter& cutter_;
  std::string pending_;
  std::string received_;
  std::string group_;
  std::size_t sent_bytes_ = 0;
  bool begun_ = false;
  bool is_binary_ = false;
};

std::vector<std::string> Whole(const std::string& bytes, std::size_t) {
  return bytes.empty() ? std::vector<std::string>() : std::vector<std::string>{bytes};
}

std::vector<std::string> SingleBytes(const std::string& bytes, std::size_t) {
  std::vector<std::string> reads;
  for (const char byte : bytes) reads.emplace_back(1, byte);
  return reads;
}

// Two reads, cut after `cut` bytes of the case.
Cutter CutAt(std::size_t cut) {
  return [cut](const std::string& bytes, std::size_t before) {
    if (cut <= before || cut >= before + bytes.size()) return Whole(bytes, before);
    return std::vector<std::string>{bytes.substr(0, cut - before), bytes.substr(cut - before)};
  };
}

class SessionTranscriptTest : public ::testing::Test {
 protected:
  static std::vector<Case> AllCases() {
    std::vector<Case> cases;
    for (const auto& file : transcript::AllFiles(kFolder)) {
      for (Case& one : transcript::ReadFile(file)) cases.push_back(std::move(one));
    }
    return cases;
  }

  // Returns how many bytes the case sends.
  std::size_t Check(const Case& one, const Cutter& cutter, const std::string& how) {
    EXPECT_EQ(harness_.Ask("flush_all\r\n"), "OK\r\n");
    CaseRun run(harness_, cutter);
    const std::optional<std::string> problem = run.Run(one);
    EXPECT_EQ(problem, std::nullopt) << one.title << " (" << how << ")";
    return run.sent_bytes();
  }

  Harness harness_;
};

TEST_F(SessionTranscriptTest, Whole) {
  for (const Case& one : AllCases()) Check(one, &Whole, "whole");
}

TEST_F(SessionTranscriptTest, ByteByByte) {
  constexpr std::size_t kLongest = 20'000;
  for (const Case& one : AllCases()) {
    if (Check(one, &Whole, "whole") <= kLongest && !one.whole)
      Check(one, &SingleBytes, "byte by byte");
  }
}

// All points of ordinary cases. Of longer ones, where most points are inside one value or key, as
// many as time allows, the last bytes included.
TEST_F(SessionTranscriptTest, EveryCut) {
  for (const Case& one : AllCases()) {
    const std::size_t size = Check(one, &Whole, "whole");
    if (one.whole) continue;
    const std::size_t step = size <= 250 ? 1 : size <= 50'000 ? size / 61 : size / 5;
    for (std::size_t cut = 1; cut < size; cut += step) {
      Check(one, CutAt(cut), "cut at " + std::to_string(cut));
      if (HasFailure()) return;
    }
    for (std::size_t back = 1; step > 1 && back <= 10; ++back) {
      Check(one, CutAt(size - back), "cut before the last " + std::to_string(back));
    }
  }
}

}  // namespace
}  // namespace podcache
