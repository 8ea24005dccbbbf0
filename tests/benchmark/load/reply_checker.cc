#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "tests/benchmark/load/reply_reader.h"

namespace podcache::bench {

namespace {

constexpr std::string_view kValue = "VALUE ";
constexpr std::string_view kLineEnd = "\r\n";

class ReplyChecker final : public ReplyReader {
 public:
  ReplyChecker(const Items& items, std::size_t value_bytes)
      : items_(items), value_bytes_(value_bytes) {}

  void Expect(const Batch& batch) override {
    requests_.insert(requests_.end(), batch.requests.begin(), batch.requests.end());
    expected_.insert(expected_.end(), batch.items.begin(), batch.items.end());
  }
  ReplyCounts Feed(std::span<const char> received) override;
  const std::string& complaint() const noexcept override { return complaint_; }

 private:
  // Bytes taken; 0 when it is not complete.
  std::size_t TakeOne(std::string_view rest, ReplyCounts& counts);
  void OnValue(std::string_view key, std::string_view data, ReplyCounts& counts);
  void OnEnd(std::string_view line, ReplyCounts& counts);
  void Complain(ReplyCounts& counts, std::string what, std::string_view got);

  const Items& items_;
  const std::size_t value_bytes_;
  std::string received_;
  // What is still to be answered; of the first request, the keys that may still be found.
  std::deque<RequestShape> requests_;
  std::deque<std::uint64_t> expected_;
  std::string complaint_;
};

ReplyCounts ReplyChecker::Feed(std::span<const char> received) {
  ReplyCounts counts;
  received_.append(received.data(), received.size());
  std::string_view rest = received_;
  while (const std::size_t taken = TakeOne(rest, counts)) rest.remove_prefix(taken);
  received_.erase(0, received_.size() - rest.size());
  return counts;
}

std::size_t ReplyChecker::TakeOne(std::string_view rest, ReplyCounts& counts) {
  const std::size_t line_bytes = rest.find(kLineEnd);
  if (line_bytes == std::string_view::npos) return 0;
  const std::string_view line = rest.substr(0, line_bytes);
  const std::size_t line_end = line_bytes + kLineEnd.size();
  if (!line.starts_with(kValue)) {
    OnEnd(line, counts);
    return line_end;
  }
  const std::size_t bytes = AnnouncedBytes(line);
  if (rest.size() < line_end + bytes + kLineEnd.size()) return 0;
  if (rest.substr(line_end + bytes, kLineEnd.size()) != kLineEnd)
    Complain(counts, "a value does not end where its line says", line);
  const std::string_view key = line.substr(kValue.size());
  OnValue(key.substr(0, key.find(' ')), rest.substr(line_end, bytes), counts);
  return line_end + bytes + kLineEnd.size();
}

void ReplyChecker::OnValue(std::string_view key, std::string_view data, ReplyCounts& counts) {
  ++counts.values;
  if (requests_.empty() || requests_.front().verb != Verb::kGet)
    return Complain(counts, "a value that nobody asked for", key);
  const std::optional<std::uint64_t> item = items_.ItemOf(key);
  RequestShape& request = requests_.front();
  // Keys are answered in the order of the request; those in between are missing.
  bool asked = false;
  while (request.keys > 0 && !asked) {
    asked = item == expected_.front();
    expected_.pop_front();
    --request.keys;
  }
  if (!asked) return Complain(counts, "not a key of this request, or out of order", key);
  if (data.size() != value_bytes_ || !items_.IsValueOf(data, *item))
    Complain(counts, "a value that was never stored for " + std::string(key), data);
}

void ReplyChecker::OnEnd(std::string_view line, ReplyCounts& counts) {
  ++counts.replies;
  if (line == "STORED") ++counts.stored;
  if (requests_.empty()) return Complain(counts, "a reply that nobody waits for", line);
  const RequestShape request = requests_.front();
  requests_.pop_front();
  expected_.erase(expected_.begin(), expected_.begin() + request.keys);
  const std::string_view wanted = request.verb == Verb::kGet ? "END" : "STORED";
  if (line != wanted) Complain(counts, "not " + std::string(wanted), line);
}

void ReplyChecker::Complain(ReplyCounts& counts, std::string what, std::string_view got) {
  constexpr std::size_t kShown = 200;
  ++counts.errors;
  if (complaint_.empty()) complaint_ = std::move(what) + ": " + std::string(got.substr(0, kShown));
}

}  // namespace

std::unique_ptr<ReplyReader> NewReplyChecker(const Items& items, std::size_t value_bytes) {
  return std::make_unique<ReplyChecker>(items, value_bytes);
}

}  // namespace podcache::bench
