#include "server/net/listener.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace podcache::net {

namespace {
// Clients taken from one socket in one turn.
constexpr int kAcceptsPerTurn = 128;
constexpr std::chrono::milliseconds kPause{10};

void Switch(int fd, int level, int option) {
  const int on = 1;
  ::setsockopt(fd, level, option, &on, sizeof(on));
}
}  // namespace

Listener::Listener(EventLoop& loop, WorkerPool& pool, const Clock& clock, ListenerSettings settings)
    : loop_(loop), pool_(pool), clock_(clock), settings_(std::move(settings)) {}

Listener::~Listener() { Stop(); }

bool Listener::Start(std::vector<ListenSocket> sockets) {
  for (ListenSocket& socket : sockets) {
    ConnectionListing& listing = listings_.emplace_back();
    listing.id = pool_.NewId();
    listing.local_address = socket.is_unix ? socket.path : socket.address.ToString();
    listing.last_active_seconds = static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::seconds>(clock_.MonotonicNow()).count());
    if (!socket.is_unix) listing.peer = PeerAddress::From(socket.address.storage);
    entries_.emplace_back(new Entry{*this, std::move(socket), {}});
  }
  accepting_.store(true);
  return WatchAll();
}

bool Listener::WatchAll() {
  for (const auto& entry : entries_) {
    const auto callback = [](void* context) {
      Entry& ready = *static_cast<Entry*>(context);
      ready.listener.AcceptFrom(ready);
    };
    if (!entry->watch.StartReadable(loop_, entry->socket.fd.get(), callback, entry.get())) {
      return false;
    }
  }
  return true;
}

void Listener::Stop() {
  pause_timer_.Stop();
  rejected_.Clear();
  for (const auto& entry : entries_) {
    entry->watch.Stop();
    RemoveUnixPath(entry->socket);
  }
  entries_.clear();
  accepting_.store(false);
}

void Listener::AcceptFrom(Entry& entry) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    if (!settings_.reject_when_full && !pool_.HasRoom()) return Pause();
    sockaddr_storage peer{};
    socklen_t length = sizeof(peer);
    FileDescriptor client(::accept4(entry.socket.fd.get(), reinterpret_cast<sockaddr*>(&peer),
                                    &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client.valid()) {
      Welcome(std::move(client), PeerAddress::From(peer), entry.socket.tag);
      continue;
    }
    switch (errno) {
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        return Pause();
      case EAGAIN:
        return;
      default:
        // A client that gave up, or a network error that the kernel reports here: the next one may
        // be fine.
        continue;
    }
  }
}

void Listener::Welcome(FileDescriptor client, const PeerAddress& peer, std::uint8_t socket_tag) {
  if (!peer.is_unix()) {
    Switch(client.get(), IPPROTO_TCP, TCP_NODELAY);
    Switch(client.get(), SOL_SOCKET, SO_KEEPALIVE);
  }
  std::unique_ptr<Transport> transport = NewPlainTransport(std::move(client));
  if (pool_.Admit(transport, peer, socket_tag)) return;
  iovec text{const_cast<char*>(settings_.rejection_text.data()), settings_.rejection_text.size()};
  transport->Send(&text, 1);
  // Its first request is often on the way already.
  rejected_.Add(loop_, clock_, settings_.linger, std::move(transport));
}

void Listener::Pause() {
  for (const auto& entry : entries_) entry->watch.Stop();
  accepting_.store(false);
  disabled_count_.fetch_add(1);
  paused_since_ = clock_.MonotonicNow();
  pause_timer_.StartPeriodic(
      loop_, kPause, [](void* self) { static_cast<Listener*>(self)->TryToGoOn(); }, this);
}

void Listener::TryToGoOn() {
  if (!settings_.reject_when_full && !pool_.HasRoom()) return;
  pause_timer_.Stop();
  const auto paused = clock_.MonotonicNow() - paused_since_;
  disabled_us_.fetch_add(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(paused).count()));
  accepting_.store(true);
  WatchAll();
}

ListenerReport Listener::report() const {
  return ListenerReport{accepting_.load(), disabled_count_.load(), disabled_us_.load()};
}

}  // namespace podcache::net
