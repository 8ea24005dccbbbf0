#include "tests/unit/operator/client/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "common/base/check.h"

namespace podcache::kube {
namespace {

bool SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::size_t ContentLength(const std::string& headers) {
  static constexpr std::string_view kName = "Content-Length: ";
  const std::size_t at = headers.find(kName);
  if (at == std::string::npos) return 0;
  return std::strtoul(headers.c_str() + at + kName.size(), nullptr, 10);
}

// False when the peer closed. `buffer` keeps what came too early.
bool ReadRequest(int socket, std::string& buffer, RecordedRequest& request) {
  std::size_t end;
  char piece[65536];
  const auto more = [&] {
    const ssize_t got = recv(socket, piece, sizeof piece, 0);
    if (got <= 0) return false;
    buffer.append(piece, static_cast<std::size_t>(got));
    return true;
  };
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return false;
  }
  const std::size_t line_end = buffer.find("\r\n");
  const std::string line = buffer.substr(0, line_end);
  request.method = line.substr(0, line.find(' '));
  request.target =
      line.substr(request.method.size() + 1, line.rfind(' ') - request.method.size() - 1);
  request.headers = buffer.substr(line_end + 2, end - line_end);
  buffer.erase(0, end + 4);
  const std::size_t length = ContentLength(request.headers);
  while (buffer.size() < length) {
    if (!more()) return false;
  }
  request.body = buffer.substr(0, length);
  buffer.erase(0, length);
  return true;
}

bool SendReply(int socket, const ScriptedReply& reply) {
  std::string head =
      "HTTP/1.1 " + std::to_string(reply.code) +
      " Scripted\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
  for (const std::string& header : reply.headers) head += header + "\r\n";
  if (!SendAll(socket, head + "\r\n")) return false;
  for (const std::string& chunk : reply.chunks) {
    if (chunk.empty()) continue;  // Would end the body.
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", chunk.size());
    if (!SendAll(socket, size + chunk + "\r\n")) return false;
  }
  return reply.end != ScriptedReply::End::kFinish || SendAll(socket, "0\r\n\r\n");
}

}  // namespace

ScriptedServer::ScriptedServer() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  PODCACHE_CHECK(listener_ >= 0 && bind(listener_, generic, size) == 0);
  PODCACHE_CHECK(listen(listener_, 64) == 0 && getsockname(listener_, generic, &size) == 0);
  url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  acceptor_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
    threads.swap(threads_);
  }
  acceptor_.join();
  for (std::thread& thread : threads) thread.join();
  {
    MutexLock lock(mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  for (const int socket : sockets_) close(socket);
  close(listener_);
}

void ScriptedServer::Accept() {
  for (;;) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    MutexLock lock(mutex_);
    sockets_.push_back(socket);
    if (stopping_) {
      shutdown(socket, SHUT_RDWR);
      return;
    }
    threads_.emplace_back([this, socket] { Serve(socket); });
  }
}

void ScriptedServer::Serve(int socket) {
  std::string buffer;
  RecordedRequest request;
  while (ReadRequest(socket, buffer, request)) {
    const ScriptedReply reply = NextReply(std::exchange(request, {}));
    if (!SendReply(socket, reply)) break;
    if (reply.end == ScriptedReply::End::kCut) break;
  }
  shutdown(socket,
           SHUT_RDWR);  // Closed by the destructor: the number must not be used again before.
}

ScriptedReply ScriptedServer::NextReply(RecordedRequest request) {
  MutexLock lock(mutex_);
  requests_.push_back(std::move(request));
  changed_.NotifyAll();
  if (script_.empty()) return {.code = 500, .chunks = {"beyond the script"}};
  ScriptedReply reply = std::move(script_.front());
  script_.erase(script_.begin());
  return reply;
}

void ScriptedServer::Script(ScriptedReply reply) {
  MutexLock lock(mutex_);
  script_.push_back(std::move(reply));
}

std::vector<RecordedRequest> ScriptedServer::requests() const {
  MutexLock lock(mutex_);
  return requests_;
}

int ScriptedServer::connections() const {
  MutexLock lock(mutex_);
  return static_cast<int>(sockets_.size());
}

void ScriptedServer::WaitForRequests(std::size_t count) const {
  MutexLock lock(mutex_);
  while (requests_.size() < count) changed_.Wait(mutex_);
}

}  // namespace podcache::kube
