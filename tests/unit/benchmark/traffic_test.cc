#include "tests/benchmark/load/traffic.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace podcache::bench {
namespace {

// Answers every line of a get with END and every set with STORED, or whatever it is told to.
class ToyServer {
 public:
  explicit ToyServer(std::string get_reply = "END\r\n") : get_reply_(std::move(get_reply)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    ::listen(listener_, 10);
    socklen_t length = sizeof(address);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { Serve(); });
  }
  ~ToyServer() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }
  const std::string& address() const { return address_; }
  std::uint64_t sets() const { return sets_; }

 private:
  void Serve() {
    std::vector<pollfd> fds{{listener_, POLLIN, 0}};
    std::vector<std::string> input(1);
    while (!stop_) {
      ::poll(fds.data(), fds.size(), 10);
      if ((fds[0].revents & POLLIN) != 0) {
        fds.push_back({::accept(listener_, nullptr, nullptr), POLLIN, 0});
        input.emplace_back();
      }
      for (std::size_t i = 1; i < fds.size(); ++i) {
        if ((fds[i].revents & POLLIN) != 0) Answer(fds[i].fd, input[i]);
      }
    }
    for (std::size_t i = 1; i < fds.size(); ++i) ::close(fds[i].fd);
  }
  void Answer(int fd, std::string& input) {
    std::array<char, 4096> room;
    const ssize_t n = ::recv(fd, room.data(), room.size(), 0);
    if (n <= 0) return;
    input.append(room.data(), static_cast<std::size_t>(n));
    std::string replies;
    for (std::size_t end = input.find("\r\n"); end != std::string::npos; end = input.find("\r\n")) {
      const bool get = input.starts_with("get ");
      if (get) {
        replies += get_reply_;
      } else if (!input.starts_with("set ")) {
        ++sets_;
        replies += "STORED\r\n";
      }
      input.erase(0, end + 2);
    }
    ::send(fd, replies.data(), replies.size(), MSG_NOSIGNAL);
  }

  const std::string get_reply_;
  int listener_ = -1;
  std::string address_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> sets_{0};
  std::thread thread_;
};

std::unique_ptr<RequestSource> Every(const Items& items, RequestShape request, std::uint64_t end) {
  return std::make_unique<EveryItemSource>(items, request, 4, 10, 0, end);
}

TEST(Traffic, AsksForEverythingOnce) {
  const ToyServer server;
  const Items items(16, 10);
  Traffic traffic;
  traffic.Add(server.address(), Every(items, {Verb::kSet, 1}, 10), NewReplyScanner());
  traffic.Add(server.address(), Every(items, {Verb::kGet, 3}, 31), NewReplyScanner());
  traffic.Run();
  const Totals totals = traffic.totals();
  EXPECT_EQ(totals.sets, 10U);
  EXPECT_EQ(server.sets(), 10U);
  EXPECT_EQ(totals.keys_asked, 31U);
  EXPECT_EQ(totals.keys_found, 0U);
  // Two batches of 4 gets, then 7 keys one by one.
  EXPECT_EQ(totals.requests, 10U + 8U + 7U);
  EXPECT_EQ(totals.errors, 0U);
}

TEST(Traffic, PacedSetsFollowTheGets) {
  const ToyServer server;
  const Items items(16, 10);
  Traffic traffic(100);
  Workload sets = *FindWorkload("set50");
  sets.pipeline = 1;
  traffic.Add(server.address(), Every(items, {Verb::kGet, 5}, 1000), NewReplyScanner());
  traffic.Add(server.address(), std::make_unique<CycleSource>(items, sets, ItemPicker(10, 0, 1), 0),
              NewReplyScanner(), true);
  traffic.Run();
  EXPECT_EQ(traffic.totals().keys_asked, 1000U);
  // 100 for each 1000 keys; one connection may not have got through with all of them at the end.
  EXPECT_GT(traffic.totals().sets, 0U);
  EXPECT_LE(traffic.totals().sets, 100U);
}

TEST(Traffic, ErrorsAreCounted) {
  const ToyServer server("SERVER_ERROR no\r\n");
  const Items items(16, 10);
  Traffic traffic;
  traffic.Add(server.address(), Every(items, {Verb::kGet, 1}, 8), NewReplyScanner());
  traffic.Run();
  EXPECT_EQ(traffic.totals().errors, 8U);
  EXPECT_EQ(traffic.complaint(), "the server answered SERVER_ERROR no\r\n");
}

TEST(Traffic, MoreRepliesThanRequestsEndIt) {
  const ToyServer server("END\r\nEND\r\n");
  const Items items(16, 10);
  Traffic traffic;
  traffic.Add(server.address(), Every(items, {Verb::kGet, 1}, 8), NewReplyScanner());
  EXPECT_THROW(traffic.Run(), Failure);
}

TEST(Traffic, NobodyThere) {
  const Items items(16, 10);
  Traffic traffic;
  EXPECT_THROW(traffic.Add("127.0.0.1:1", Every(items, {Verb::kGet, 1}, 1), NewReplyScanner()),
               Failure);
  EXPECT_THROW(traffic.Add("nowhere", Every(items, {Verb::kGet, 1}, 1), NewReplyScanner()),
               Failure);
}

}  // namespace
}  // namespace podcache::bench
