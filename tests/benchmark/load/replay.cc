#include "tests/benchmark/load/replay.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_set>

#include "tests/benchmark/load/reply_reader.h"

namespace podcache::bench {

namespace {

constexpr std::size_t kReceiveBytes = 256U << 10;
constexpr int kPatienceMs = 10'000;
constexpr std::size_t kMaxKeyBytes = 250;
constexpr std::string_view kLineEnd = "\r\n";
// Of 64 bits, six a character.
constexpr std::size_t kIdChars = 11;

void AwaitSocket(const ClientSocket& socket, short what) {
  pollfd one{socket.fd(), what, 0};
  if (::poll(&one, 1, kPatienceMs) == 0) throw Failure("the server has stopped answering");
}

}  // namespace

WireCache::WireCache(const std::string& address, std::size_t max_value_bytes, double ttl_scale)
    : socket_(address), values_(16, max_value_bytes), ttl_scale_(ttl_scale) {}

void WireCache::AppendKey(const TraceRequest& request) {
  constexpr std::string_view kAlphabet =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
  std::uint64_t id = request.key;
  for (std::size_t i = 0; i < kIdChars; ++i, id >>= 6) out_ += kAlphabet[id & 63];
  const std::size_t bytes = std::min<std::size_t>(request.key_bytes, kMaxKeyBytes);
  if (bytes > kIdChars) out_.append(bytes - kIdChars, '.');
}

void WireCache::Get(std::span<const TraceRequest> requests, std::vector<bool>& found) {
  found.assign(requests.size(), false);
  if (requests.empty()) return;
  out_ = "get";
  std::vector<std::string> keys;
  for (const TraceRequest& request : requests) {
    out_ += ' ';
    const std::size_t begin = out_.size();
    AppendKey(request);
    keys.push_back(out_.substr(begin));
  }
  out_ += kLineEnd;
  SendAll();
  std::size_t next = 0;
  for (std::string line(ReadLine()); line != "END"; line = ReadLine()) {
    if (!line.starts_with("VALUE ")) throw Failure("the server answered " + line);
    const std::string key = line.substr(6, line.find(' ', 6) - 6);
    while (next < keys.size() && keys[next] != key) ++next;
    if (next == keys.size()) throw Failure("a value that nobody asked for: " + line);
    const std::size_t bytes = AnnouncedBytes(line);
    const std::string_view value = ReadBytes(bytes + kLineEnd.size());
    if (!values_.IsValueOf(value.substr(0, bytes), requests[next].key))
      throw Failure("a value that was never stored for its key: " + line);
    found[next] = true;
  }
}

void WireCache::Change(std::span<const TraceRequest> requests) {
  if (requests.empty()) return;
  out_.clear();
  for (const TraceRequest& request : requests) {
    const bool set = request.verb != TraceVerb::kDelete;
    out_ += set ? "set " : "delete ";
    AppendKey(request);
    if (set) {
      out_ += " 0 " + std::to_string(Exptime(request)) + " " + std::to_string(request.value_bytes) +
              "\r\n";
      const std::size_t begin = out_.size();
      out_.resize(begin + request.value_bytes);
      values_.WriteValue(out_.data() + begin, request.value_bytes, request.key, 0);
    }
    out_ += kLineEnd;
  }
  SendAll();
  for (const TraceRequest& request : requests) {
    const std::string_view line = ReadLine();
    if (request.verb != TraceVerb::kDelete && line != "STORED") ++refused_;
  }
}

std::uint64_t WireCache::Exptime(const TraceRequest& request) const {
  if (ttl_scale_ == 0 || request.ttl_seconds == 0) return 0;
  // Above thirty days it would be taken for a date.
  constexpr double kMax = 30 * 86400;
  return static_cast<std::uint64_t>(std::clamp(request.ttl_seconds / ttl_scale_, 1.0, kMax));
}

void WireCache::SendAll() {
  std::span<const char> rest = out_;
  while (true) {
    rest = rest.subspan(socket_.Send(rest));
    if (rest.empty()) return;
    AwaitSocket(socket_, POLLOUT);
  }
}

void WireCache::ReceiveMore() {
  in_.erase(0, at_);
  at_ = 0;
  AwaitSocket(socket_, POLLIN);
  const std::size_t kept = in_.size();
  in_.resize(kept + kReceiveBytes);
  in_.resize(kept + socket_.Receive(std::span(in_).subspan(kept)));
}

std::string_view WireCache::ReadLine() {
  std::size_t end = in_.find(kLineEnd, at_);
  while (end == std::string::npos) {
    ReceiveMore();
    end = in_.find(kLineEnd, at_);
  }
  const std::string_view line = std::string_view(in_).substr(at_, end - at_);
  at_ = end + kLineEnd.size();
  return line;
}

std::string_view WireCache::ReadBytes(std::size_t n) {
  while (in_.size() - at_ < n) ReceiveMore();
  at_ += n;
  return std::string_view(in_).substr(at_ - n, n);
}

namespace {

class Replayer {
 public:
  Replayer(ReplayCache& cache, const ReplayPlan& plan) : cache_(cache), plan_(plan) {}

  void Add(const TraceRequest& request) {
    if (keys_.contains(request.key)) Flush();
    keys_.insert(request.key);
    (request.verb == TraceVerb::kGet ? gets_ : changes_).push_back(request);
    ++result_.requests;
    if (keys_.size() == plan_.window) Flush();
  }
  ReplayResult Finish() {
    Flush();
    return result_;
  }

 private:
  void Flush() {
    cache_.Get(gets_, found_);
    const bool counts = result_.requests > plan_.skip;
    for (std::size_t i = 0; i < gets_.size(); ++i) {
      const TraceRequest& request = gets_[i];
      if (!found_[i]) changes_.push_back(request);
      if (!counts) continue;
      ++result_.gets;
      result_.misses += found_[i] ? 0 : 1;
      result_.bytes += request.value_bytes;
      result_.missed_bytes += found_[i] ? 0 : request.value_bytes;
    }
    cache_.Change(changes_);
    gets_.clear();
    changes_.clear();
    keys_.clear();
  }

  ReplayCache& cache_;
  const ReplayPlan& plan_;
  std::vector<TraceRequest> gets_;
  std::vector<TraceRequest> changes_;
  std::unordered_set<std::uint64_t> keys_;
  std::vector<bool> found_;
  ReplayResult result_;
};

}  // namespace

ReplayResult Replay(Trace& trace, ReplayCache& cache, const ReplayPlan& plan) {
  Replayer replayer(cache, plan);
  const auto start = std::chrono::steady_clock::now();
  double first_seconds = 0;
  TraceRequest request;
  for (std::uint64_t n = 0; n < plan.limit && trace.Next(request); ++n) {
    request.value_bytes = std::min(request.value_bytes, plan.max_value_bytes);
    if (plan.time_scale > 0) {
      if (n == 0) first_seconds = request.seconds;
      const std::chrono::duration<double> due((request.seconds - first_seconds) / plan.time_scale);
      std::this_thread::sleep_until(
          start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(due));
    }
    replayer.Add(request);
  }
  return replayer.Finish();
}

}  // namespace podcache::bench
