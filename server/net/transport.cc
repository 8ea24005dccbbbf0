#include "server/net/transport.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace podcache::net {

namespace {

class PlainTransport final : public Transport {
 public:
  explicit PlainTransport(FileDescriptor socket) : socket_(std::move(socket)) {}

  int descriptor() const noexcept override { return socket_.get(); }

  IoResult Receive(iovec* pieces, int count) noexcept override {
    const ssize_t n = count == 1 ? ::recv(socket_.get(), pieces[0].iov_base, pieces[0].iov_len, 0)
                                 : ::readv(socket_.get(), pieces, count);
    if (n > 0) return {IoStatus::kOk, static_cast<std::size_t>(n)};
    return {n == 0 ? IoStatus::kClosed : FailureStatus(), 0};
  }

  IoResult Send(iovec* pieces, int count) noexcept override {
    ssize_t n = 0;
    if (count == 1) {
      n = ::send(socket_.get(), pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL);
    } else {
      msghdr message{};
      message.msg_iov = pieces;
      message.msg_iovlen = static_cast<std::size_t>(count);
      n = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    }
    if (n >= 0) return {IoStatus::kOk, static_cast<std::size_t>(n)};
    return {FailureStatus(), 0};
  }

  void EndSending() noexcept override { ::shutdown(socket_.get(), SHUT_WR); }

  bool HasUnread() const noexcept override {
    int bytes = 0;
    return ::ioctl(socket_.get(), FIONREAD, &bytes) == 0 && bytes > 0;
  }

 private:
  static IoStatus FailureStatus() noexcept {
    const bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return later ? IoStatus::kWouldBlock : IoStatus::kError;
  }

  FileDescriptor socket_;
};

}  // namespace

std::unique_ptr<Transport> NewPlainTransport(FileDescriptor socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

}  // namespace podcache::net
