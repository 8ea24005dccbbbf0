#include "common/base/output_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace podcache {
namespace {

// A payload of several pieces, as large items are.
class Pieces final : public PinnedBytes {
 public:
  Pieces(std::string bytes, std::size_t piece_bytes, int& alive)
      : bytes_(std::move(bytes)), piece_bytes_(piece_bytes), alive_(alive) {
    ++alive_;
  }
  ~Pieces() override { --alive_; }
  std::size_t size() const noexcept override { return bytes_.size(); }
  int FillIovec(std::size_t offset, iovec* pieces, int max) const noexcept override {
    int count = 0;
    while (offset < bytes_.size() && count < max) {
      const std::size_t n = std::min(piece_bytes_ - offset % piece_bytes_, bytes_.size() - offset);
      pieces[count++] = {const_cast<char*>(bytes_.data()) + offset, n};
      offset += n;
    }
    return count;
  }

 private:
  std::string bytes_;
  std::size_t piece_bytes_;
  int& alive_;
};

std::string Drain(OutputBuffer& buffer, std::size_t step, int max_pieces) {
  std::string sent;
  iovec pieces[16];
  while (!buffer.empty()) {
    const int count = buffer.FillIovec(pieces, max_pieces);
    std::size_t left = step;
    std::size_t taken = 0;
    for (int i = 0; i < count && left > 0; ++i) {
      const std::size_t n = std::min(left, pieces[i].iov_len);
      sent.append(static_cast<const char*>(pieces[i].iov_base), n);
      left -= n;
      taken += n;
    }
    if (taken == 0) ADD_FAILURE() << "no progress";
    if (taken == 0) break;
    buffer.Consume(taken);
  }
  return sent;
}

TEST(OutputBuffer, SendsInOrderWhateverTheCuts) {
  for (std::size_t step = 1; step < 70; ++step) {
    for (int max_pieces = 1; max_pieces <= 4; ++max_pieces) {
      int alive = 0;
      OutputBuffer buffer;
      buffer.Append("head ");
      buffer.AppendPinned(std::make_unique<Pieces>("0123456789abcdef", 5, alive));
      buffer.Append(" middle ");
      buffer.AppendPinned(std::make_unique<Pieces>("XYZ", 2, alive));
      buffer.AppendPinned(std::make_unique<Pieces>("!", 1, alive));
      buffer.Append(" tail");
      EXPECT_EQ(buffer.pending_bytes(), 5U + 16 + 8 + 3 + 1 + 5);
      EXPECT_EQ(Drain(buffer, step, max_pieces), "head 0123456789abcdef middle XYZ! tail");
      EXPECT_EQ(alive, 0);
    }
  }
}

TEST(OutputBuffer, RewindTakesBackBytesAndPins) {
  int alive = 0;
  OutputBuffer buffer;
  buffer.Append("kept");
  const OutputBuffer::Mark mark = buffer.GetMark();
  buffer.Append("gone");
  buffer.AppendPinned(std::make_unique<Pieces>("pinned", 3, alive));
  buffer.Rewind(mark);
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(Drain(buffer, 100, 4), "kept");
}

TEST(OutputBuffer, TailMovesToAnotherBuffer) {
  int alive = 0;
  OutputBuffer buffer;
  buffer.Append("first ");
  buffer.AppendPinned(std::make_unique<Pieces>("payload", 3, alive));
  buffer.Append(" last");
  buffer.Consume(9);  // Into the payload.
  OutputBuffer tail = buffer.TakeTail();
  EXPECT_TRUE(buffer.empty());
  buffer.Append("reused");
  EXPECT_EQ(Drain(buffer, 100, 4), "reused");
  OutputBuffer moved = std::move(tail);
  EXPECT_TRUE(tail.empty());
  EXPECT_EQ(Drain(moved, 2, 4), "load last");
  EXPECT_EQ(alive, 0);
}

TEST(OutputBuffer, MovedFromBufferIsUsable) {
  OutputBuffer a;
  a.Append("abc");
  OutputBuffer b = std::move(a);
  a.Append("new");
  EXPECT_EQ(Drain(a, 10, 1), "new");
  EXPECT_EQ(Drain(b, 10, 1), "abc");
}

}  // namespace
}  // namespace podcache
