#include "tests/unit/server/net/line_handler.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace podcache::net {

namespace {

constexpr std::size_t kBigPiece = 64U << 10;
constexpr std::size_t kOutputBudget = 256U << 10;
constexpr std::size_t kDirectPiece = 100'000;
// `pin` may ask for.
constexpr std::size_t kMostPinned = 4'000'000;

class PinnedPattern final : public PinnedBytes {
 public:
  PinnedPattern(std::size_t n, LineStats& stats) : size_(n), stats_(stats) { ++stats_.pins_alive; }
  ~PinnedPattern() override { --stats_.pins_alive; }
  std::size_t size() const noexcept override { return size_; }
  int FillIovec(std::size_t offset, iovec* pieces, int max) const noexcept override {
    static const std::string bytes = Pattern(kMostPinned);
    if (max == 0 || offset == size_) return 0;
    pieces[0] = {const_cast<char*>(bytes.data()) + offset, size_ - offset};
    return 1;
  }

 private:
  const std::size_t size_;
  LineStats& stats_;
};

class LineWorker final : public WorkerHandler {
 public:
  explicit LineWorker(LineStats& stats) : stats_(stats) {
    ++stats_.workers_made;
    ++stats_.workers_alive;
  }
  ~LineWorker() override {
    if (!uploads_.empty()) ++stats_.violations;
    --stats_.workers_alive;
  }
  std::unique_ptr<ConnectionHandler> NewConnection(const ConnectionInfo& info) override;
  void ConnectionClosed(const ConnectionInfo& info, CloseReason reason) noexcept override;
  void OnDatagram(std::uint8_t socket_tag, std::span<const char> requests,
                  std::size_t max_reply_bytes, OutputBuffer& output) override;
  void EndTurn() noexcept override {
    ++turns_;
    if (turn_bytes_ > stats_.most_turn_bytes.load()) stats_.most_turn_bytes.store(turn_bytes_);
    turn_bytes_ = 0;
  }
  void CountBytes(std::uint64_t received, std::uint64_t sent) noexcept override {
    turn_bytes_ += received + sent;
    stats_.received += received;
    stats_.sent += sent;
  }
  void CountYield() noexcept override { ++stats_.yields; }
  void CountHandoff() noexcept override { ++stats_.handoffs; }
  std::uint64_t commands() const noexcept override { return commands_.load(); }

  void CountCommand() { ++commands_; }
  LineStats& stats() { return stats_; }
  // Memory of uploads under way, by connection: not to be touched by another worker. Plain members
  // on purpose, so that ThreadSanitizer sees it when two threads use one handler.
  std::map<std::uint64_t, std::string>& uploads() { return uploads_; }

 private:
  LineStats& stats_;
  std::atomic<std::uint64_t> commands_{0};
  std::uint64_t turns_ = 0;
  std::uint64_t turn_bytes_ = 0;
  std::map<std::uint64_t, std::string> uploads_;
};

// Says "begun" once, then "tick" whenever it may.
class TickConnection final : public ConnectionHandler {
 public:
  HandlerResult OnInput(WorkerHandler&, std::span<const char> input,
                        OutputBuffer& output) override {
    if (!begun_ || output.empty()) output.Append(begun_ ? "tick\n" : "begun\n");
    begun_ = true;
    return {input.size(), NextStep::kStream, {}};
  }
  HandlerResult OnDirect(WorkerHandler&, std::size_t, OutputBuffer&) override { return {}; }
  bool AtRequestBoundary() const noexcept override { return true; }

 private:
  bool begun_ = false;
};

class LineConnection final : public ConnectionHandler {
 public:
  LineConnection(std::uint64_t id, LineStats& stats) : id_(id), stats_(stats) {
    ++stats_.connections_alive;
  }
  ~LineConnection() override {
    if (upload_worker_ != nullptr) upload_worker_->uploads().erase(id_);
    --stats_.connections_alive;
  }

  HandlerResult OnInput(WorkerHandler& worker, std::span<const char> input,
                        OutputBuffer& output) override {
    auto& mine = static_cast<LineWorker&>(worker);
    std::size_t consumed = 0;
    while (true) {
      while (big_left_ > 0) {
        const std::size_t n = std::min(big_left_, kBigPiece);
        AppendPattern(output, big_done_, n);
        big_done_ += n;
        big_left_ -= n;
        if (big_left_ > 0) return {consumed, NextStep::kYield, {}};
      }
      const std::string_view rest(input.data() + consumed, input.size() - consumed);
      const std::size_t end = rest.find('\n');
      if (end == std::string_view::npos) return {consumed, NextStep::kNeedInput, {}};
      if (output.pending_bytes() > kOutputBudget) return {consumed, NextStep::kYield, {}};
      consumed += end + 1;
      mine.CountCommand();
      const HandlerResult result = Execute(mine, std::string(rest.substr(0, end)), output);
      if (result.next != NextStep::kNeedInput) return {consumed, result.next, result.direct};
    }
  }

  HandlerResult OnDirect(WorkerHandler& worker, std::size_t n, OutputBuffer& output) override {
    if (&worker != upload_worker_) ++stats_.violations;
    upload_done_ += n;
    std::string& value = upload_worker_->uploads().at(id_);
    if (upload_done_ < value.size()) return {0, NextStep::kDirect, NextPiece(value)};
    output.Append("sum " + std::to_string(Checksum(value)) + "\n");
    upload_worker_->uploads().erase(id_);
    upload_worker_ = nullptr;
    return {0, NextStep::kNeedInput, {}};
  }

  bool AtRequestBoundary() const noexcept override {
    return upload_worker_ == nullptr && big_left_ == 0;
  }
  Activity activity() const noexcept override {
    return upload_worker_ != nullptr ? Activity::kValue : Activity::kWaiting;
  }
  std::unique_ptr<ConnectionHandler> TakeSuccessor() override {
    return std::make_unique<TickConnection>();
  }

 private:
  HandlerResult Execute(LineWorker& worker, const std::string& line, OutputBuffer& output) {
    const auto number = [&] { return std::strtoull(line.c_str() + 4, nullptr, 10); };
    if (line.rfind("put ", 0) == 0) {
      upload_worker_ = &worker;
      upload_done_ = 0;
      std::string& value = worker.uploads()[id_];
      value.resize(number());
      return {0, NextStep::kDirect, NextPiece(value)};
    }
    if (line.rfind("big ", 0) == 0) {
      big_left_ = number();
      big_done_ = 0;
    } else if (line.rfind("pin ", 0) == 0) {
      output.AppendPinned(std::make_unique<PinnedPattern>(number(), stats_));
    } else if (line == "quit") {
      output.Append("bye\n");
      return {0, NextStep::kClose, {}};
    } else if (line == "abort") {
      return {0, NextStep::kAbort, {}};
    } else if (line == "stream") {
      return {0, NextStep::kReplace, {}};
    } else {
      output.Append(line + "\n");
    }
    return {0, NextStep::kNeedInput, {}};
  }

  // Values come in pieces, as those of large items do.
  std::span<char> NextPiece(std::string& value) const {
    return {value.data() + upload_done_, std::min(value.size() - upload_done_, kDirectPiece)};
  }

  static void AppendPattern(OutputBuffer& output, std::size_t from, std::size_t n) {
    char* const to = output.Reserve(n);
    for (std::size_t i = 0; i < n; ++i) to[i] = PatternAt(from + i);
    output.Commit(n);
  }

  const std::uint64_t id_;
  LineStats& stats_;
  LineWorker* upload_worker_ = nullptr;
  std::size_t upload_done_ = 0;
  std::size_t big_left_ = 0;
  std::size_t big_done_ = 0;
};

void LineWorker::ConnectionClosed(const ConnectionInfo&, CloseReason reason) noexcept {
  ++stats_.closed[static_cast<std::size_t>(reason)];
}

// The lines of a datagram, "tag <n>" before them.
void LineWorker::OnDatagram(std::uint8_t socket_tag, std::span<const char> requests, std::size_t,
                            OutputBuffer& output) {
  const std::unique_ptr<ConnectionHandler> lines = NewConnection({});
  output.Append("tag " + std::to_string(socket_tag) + "\n");
  HandlerResult result;
  do {
    result = lines->OnInput(*this, requests, output);
    requests = requests.subspan(result.consumed);
  } while (result.next == NextStep::kYield);
}

std::unique_ptr<ConnectionHandler> LineWorker::NewConnection(const ConnectionInfo& info) {
  return std::make_unique<LineConnection>(info.id, stats_);
}

}  // namespace

char PatternAt(std::size_t i) { return static_cast<char>((i * 31 + i / 251) & 0x7f); }

std::string Pattern(std::size_t n) {
  std::string bytes(n, '\0');
  for (std::size_t i = 0; i < n; ++i) bytes[i] = PatternAt(i);
  return bytes;
}

std::uint32_t Checksum(std::string_view bytes) {
  std::uint32_t a = 1;
  std::uint32_t b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return (b << 16) | a;
}

std::unique_ptr<WorkerHandler> LineFactory::NewWorker() {
  return std::make_unique<LineWorker>(stats_);
}

}  // namespace podcache::net
