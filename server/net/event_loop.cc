#include "server/net/event_loop.h"

#include <sys/eventfd.h>

#include "common/base/check.h"

namespace podcache::net {

std::string_view LibeventVersion() noexcept { return event_get_version(); }

EventLoop::EventLoop() {
  event_config* config = event_config_new();
  PODCACHE_CHECK(config != nullptr);
  // One thread per loop, so libevent needs no locks of its own.
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  base_.reset(event_base_new_with_config(config));
  event_config_free(config);
  PODCACHE_CHECK(base_ != nullptr);
}

void EventLoop::RunTurn(bool may_block) noexcept {
  event_base_loop(base_.get(), EVLOOP_ONCE | (may_block ? 0 : EVLOOP_NONBLOCK));
}

bool Watch::Start(EventLoop& loop, int fd, short what, const timeval* period,
                  WatchCallback callback, void* context) noexcept {
  Stop();
  callback_ = callback;
  context_ = context;
  const auto forward = [](evutil_socket_t, short, void* self) {
    const Watch& watch = *static_cast<Watch*>(self);
    watch.callback_(watch.context_);
  };
  if (event_assign(&event_, loop.base(), fd, static_cast<short>(what | EV_PERSIST), forward,
                   this) != 0) {
    return false;
  }
  active_ = event_add(&event_, period) == 0;
  return active_;
}

bool Watch::StartReadable(EventLoop& loop, int fd, WatchCallback callback, void* context) noexcept {
  return Start(loop, fd, EV_READ, nullptr, callback, context);
}

bool Watch::StartWritable(EventLoop& loop, int fd, WatchCallback callback, void* context) noexcept {
  return Start(loop, fd, EV_WRITE, nullptr, callback, context);
}

bool Watch::StartPeriodic(EventLoop& loop, std::chrono::microseconds period, WatchCallback callback,
                          void* context) noexcept {
  const timeval interval{static_cast<time_t>(period.count() / 1'000'000),
                         static_cast<suseconds_t>(period.count() % 1'000'000)};
  return Start(loop, -1, 0, &interval, callback, context);
}

bool Watch::StartSignal(EventLoop& loop, int signal, WatchCallback callback,
                        void* context) noexcept {
  return Start(loop, signal, EV_SIGNAL, nullptr, callback, context);
}

void Watch::Stop() noexcept {
  if (!active_) return;
  event_del(&event_);
  active_ = false;
}

WakeUp::WakeUp() : event_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  PODCACHE_CHECK(event_fd_.valid());
}

void WakeUp::Start(EventLoop& loop, WatchCallback callback, void* context) {
  callback_ = callback;
  context_ = context;
  PODCACHE_CHECK(watch_.StartReadable(loop, event_fd_.get(), &WakeUp::OnReadable, this));
}

void WakeUp::Signal() noexcept {
  // Can fail only when the counter is at its maximum, and then the loop is being woken anyway.
  [[maybe_unused]] const int ignored = ::eventfd_write(event_fd_.get(), 1);
}

void WakeUp::OnReadable(void* self) {
  WakeUp& wake_up = *static_cast<WakeUp*>(self);
  eventfd_t count = 0;
  if (::eventfd_read(wake_up.event_fd_.get(), &count) == 0) wake_up.callback_(wake_up.context_);
}

}  // namespace podcache::net
