#include "server/net/connection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/server/net/line_handler.h"
#include "tests/unit/server/net/test_client.h"

namespace podcache::net {
namespace {

// One connection driven by hand: the test is its worker.
class ConnectionTest : public ::testing::Test {
 protected:
  explicit ConnectionTest(int socket_buffer_bytes = 0)
      : client_(TestClient::Pair(transport_, socket_buffer_bytes)), worker_(factory_.NewWorker()) {
    connection_ = std::make_unique<Connection>(std::move(transport_),
                                               worker_->NewConnection({1, {}}), *worker_);
  }

  // Turns until nothing moves any more.
  void Run() {
    for (int i = 0; i < 100'000 && !connection_->closed(); ++i) {
      const auto before = std::pair(stats_.received.load(), stats_.sent.load());
      const bool ran = connection_->runnable();
      TurnResources turn{buffer_, reply_, watermarks_};
      if (ran) connection_->Resume(turn);
      if (connection_->wants_write()) connection_->OnWritable(turn);
      connection_->OnReadable(turn);
      EXPECT_TRUE(reply_.empty());
      if (!ran && before == std::pair(stats_.received.load(), stats_.sent.load())) return;
    }
  }

  LineStats stats_;
  LineFactory factory_{stats_};
  std::unique_ptr<Transport> transport_;
  TestClient client_;
  std::unique_ptr<WorkerHandler> worker_;
  std::unique_ptr<Connection> connection_;
  std::vector<char> buffer_ = std::vector<char>(65536);
  OutputBuffer reply_;
  Watermarks watermarks_;
};

TEST_F(ConnectionTest, AnotherHandlerTakesOverAndStreams) {
  client_.Send("one\nstream\nignored\n");
  Run();
  EXPECT_EQ(client_.Receive(10), "one\nbegun\n");
  EXPECT_TRUE(connection_->streaming());
  EXPECT_TRUE(connection_->Settled());
  TurnResources turn{buffer_, reply_, watermarks_};
  for (int i = 0; i < 3; ++i) {
    connection_->OnStreamTick(turn);
    EXPECT_EQ(client_.Receive(5), "tick\n");
  }
  client_.Send("whatever is sent now\n");
  Run();
  EXPECT_EQ(client_.Receive(5), "tick\n");
  client_.EndSending();
  Run();
  EXPECT_TRUE(connection_->closed());
  EXPECT_EQ(connection_->close_reason(), CloseReason::kNormal);
}

TEST_F(ConnectionTest, KnowsWhyItHasClosed) {
  client_.Send("abort\n");
  Run();
  EXPECT_TRUE(connection_->closed());
  EXPECT_EQ(connection_->close_reason(), CloseReason::kError);
}

TEST_F(ConnectionTest, HalfALineIsRefusedWhereNothingMoreMayBeKept) {
  TurnResources full{buffer_, reply_, watermarks_, true, "no room\n"};
  client_.Send("whole\n");
  connection_->OnReadable(full);
  EXPECT_EQ(client_.Receive(6), "whole\n");
  client_.Send("whole\nhalf");
  connection_->OnReadable(full);
  EXPECT_EQ(client_.Receive(14), "whole\nno room\n");
  EXPECT_TRUE(connection_->closed());
  EXPECT_TRUE(connection_->refused_tail());
}

TEST_F(ConnectionTest, AnswersTheSameWhereverTheInputIsCut) {
  const std::string value = Pattern(300);
  const std::string input = "first\nput 300\n" + value + "second\n\nlast\n";
  const std::string answer = "first\nsum " + std::to_string(Checksum(value)) + "\nsecond\n\nlast\n";
  for (std::size_t cut = 0; cut <= input.size(); ++cut) {
    client_.Send(input.substr(0, cut));
    Run();
    client_.Send(input.substr(cut));
    Run();
    ASSERT_EQ(client_.Receive(answer.size()), answer) << "cut at " << cut;
    EXPECT_TRUE(connection_->Idle());
  }
  for (const char byte : input) {
    client_.Send(std::string_view(&byte, 1));
    Run();
  }
  EXPECT_EQ(client_.Receive(answer.size()), answer);
  EXPECT_EQ(stats_.violations.load(), 0U);
}

TEST_F(ConnectionTest, IdleConnectionHoldsNoBuffers) {
  const std::size_t empty = connection_->footprint_bytes();
  client_.Send("half a li");
  Run();
  EXPECT_FALSE(connection_->Idle());
  EXPECT_TRUE(connection_->Settled());
  EXPECT_EQ(connection_->footprint_bytes(), empty + 9);
  client_.Send("ne\n");
  Run();
  EXPECT_EQ(client_.Receive(12), "half a line\n");
  EXPECT_TRUE(connection_->Idle());
  EXPECT_EQ(connection_->footprint_bytes(), empty);
  EXPECT_LE(empty, 512U);
}

TEST_F(ConnectionTest, LargeUploadArrivesWhole) {
  const std::string value = Pattern(3'000'000);
  client_.Send("put 3000000\n");
  std::string_view rest(value);
  while (!rest.empty()) {
    const std::size_t sent = client_.SendSome(rest.substr(0, 70'001));
    rest.remove_prefix(sent);
    Run();
    EXPECT_EQ(connection_->Settled(), rest.empty());
  }
  client_.Send("next\n");
  Run();
  EXPECT_EQ(client_.ReceiveLine(), "sum " + std::to_string(Checksum(value)) + "\n");
  EXPECT_EQ(client_.ReceiveLine(), "next\n");
}

TEST_F(ConnectionTest, ReceiveBufferBoundaryInsideAValueAndALine) {
  // Lines that do not divide the buffer's size.
  std::string input;
  for (int i = 0; i < 40'000; ++i) input += "line" + std::to_string(i) + "\n";
  std::string got;
  std::string_view rest(input);
  while (got.size() < input.size()) {
    rest.remove_prefix(client_.SendSome(rest));
    Run();
    char bytes[65536];
    const ssize_t n = ::recv(client_.fd(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n > 0) got.append(bytes, static_cast<std::size_t>(n));
  }
  EXPECT_TRUE(got == input);
}

TEST_F(ConnectionTest, QuitSendsWhatIsDueAndCloses) {
  client_.Send("one\nquit\nnever\n");
  Run();
  EXPECT_TRUE(connection_->closed());
  connection_.reset();
  EXPECT_EQ(client_.Receive(100), "one\nbye\n");
  EXPECT_TRUE(client_.WaitClosed());
}

TEST_F(ConnectionTest, PeerThatEndsItsSideStillGetsItsAnswers) {
  client_.Send("one\nbig 500000\ntwo\n");
  client_.EndSending();
  std::string got;
  while (!connection_->closed()) {
    Run();
    got += client_.Receive(1);
    char bytes[65536];
    const ssize_t n = ::recv(client_.fd(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n > 0) got.append(bytes, static_cast<std::size_t>(n));
  }
  const std::string expected = "one\n" + Pattern(500'000) + "two\n";
  got += client_.Receive(expected.size() - got.size());
  EXPECT_TRUE(got == expected);
}

TEST_F(ConnectionTest, PeerGoneInTheMiddleOfAnUploadReleasesIt) {
  client_.Send("put 1000\nabc");
  Run();
  client_.Close();
  Run();
  EXPECT_TRUE(connection_->closed());
  connection_.reset();
  EXPECT_EQ(stats_.connections_alive.load(), 0U);
  EXPECT_EQ(stats_.violations.load(), 0U);
}

TEST_F(ConnectionTest, InputWithoutEndOfLineIsNotKeptForEver) {
  const std::string endless(2 * kMaxUnconsumedBytes, 'x');
  client_.Send(endless);
  Run();
  EXPECT_TRUE(connection_->closed());
}

class SlowReaderTest : public ConnectionTest {
 protected:
  SlowReaderTest() : ConnectionTest(4096) {}
};

TEST_F(SlowReaderTest, StopsReadingAboveTheHighWatermarkAndGoesOnBelowTheLow) {
  ASSERT_TRUE(client_.Send("pin 2000000\n"));
  Run();
  EXPECT_TRUE(connection_->throttled());
  EXPECT_GT(connection_->output_bytes(), watermarks_.high_bytes);
  EXPECT_FALSE(connection_->wants_read());
  while (connection_->throttled()) {
    ASSERT_EQ(client_.Receive(1000).size(), 1000U);
    Run();
  }
  EXPECT_LT(connection_->output_bytes(), watermarks_.low_bytes);
  EXPECT_TRUE(connection_->wants_read());
}

TEST_F(SlowReaderTest, StopsExecutingWhatCannotBeSent) {
  std::string input;
  for (int i = 0; i < 100; ++i) input += "big 100000\n";
  client_.Send(input);
  Run();
  EXPECT_TRUE(connection_->throttled());
  EXPECT_FALSE(connection_->runnable());
  EXPECT_FALSE(connection_->wants_read());
  EXPECT_TRUE(connection_->wants_write());
  // One turn's budget above the watermark at most.
  EXPECT_LE(connection_->output_bytes(), watermarks_.high_bytes + (512U << 10));
  EXPECT_LE(connection_->footprint_bytes(), 2 * (watermarks_.high_bytes + (512U << 10)));
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += Pattern(100'000);
  std::string got;
  while (got.size() < expected.size()) {
    const std::string piece =
        client_.Receive(std::min<std::size_t>(expected.size() - got.size(), 1000));
    ASSERT_FALSE(piece.empty());
    got += piece;
    Run();
    EXPECT_LE(connection_->output_bytes(), watermarks_.high_bytes + (512U << 10));
  }
  EXPECT_TRUE(got == expected);
  EXPECT_FALSE(connection_->throttled());
  EXPECT_TRUE(connection_->Idle());
}

TEST_F(SlowReaderTest, PinnedPayloadsArePinnedUntilSent) {
  client_.Send("pin 300000\nafter\n");
  Run();
  EXPECT_EQ(stats_.pins_alive.load(), 1U);
  EXPECT_FALSE(connection_->Settled());
  std::string got;
  while (got.size() < 300'006) {
    got += client_.Receive(1);
    char bytes[4096];
    const ssize_t n = ::recv(client_.fd(), bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n > 0) got.append(bytes, static_cast<std::size_t>(n));
    Run();
  }
  EXPECT_TRUE(got == Pattern(300'000) + "after\n");
  EXPECT_EQ(stats_.pins_alive.load(), 0U);
  EXPECT_TRUE(connection_->Settled());
}

}  // namespace
}  // namespace podcache::net
