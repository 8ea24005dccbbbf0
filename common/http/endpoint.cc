#include "common/http/endpoint.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>

#include "common/http/listen_address.h"
#include "common/http/open_sockets.h"

namespace podcache::http {

namespace {

constexpr std::size_t kMaxBodyBytes = 4096;  // Requests have no body worth reading.
constexpr timeval kLimitPoll{0,
                             50'000};  // While full: how often to look whether a connection ended.

struct Deleter {
  void operator()(event_base* p) const { event_base_free(p); }
  void operator()(evhttp* p) const { evhttp_free(p); }
  void operator()(event* p) const { event_free(p); }
};

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 503:
      return "Service Unavailable";
    default:
      return status < 500 ? "Error" : "Internal Server Error";
  }
}

timeval ToTimeval(std::chrono::milliseconds time) {
  return {static_cast<time_t>(time.count() / 1000),
          static_cast<suseconds_t>(time.count() % 1000 * 1000)};
}

}  // namespace

class Endpoint::Impl {
 public:
  explicit Impl(EndpointOptions options) : options_(std::move(options)) {}
  ~Impl() {
    Stop();
    http_.reset();
    stop_event_.reset();
    new_connections_event_.reset();
    limit_timer_.reset();
    base_.reset();
    if (stop_fd_ >= 0) close(stop_fd_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool Start(std::string* error) {
    base_.reset(event_base_new());
    if (base_) event_base_priority_init(base_.get(), 2);
    http_.reset(base_ ? evhttp_new(base_.get()) : nullptr);
    stop_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!http_ || stop_fd_ < 0) {
      *error = std::string("cannot make an event loop: ") + std::strerror(errno);
      return false;
    }
    stop_event_.reset(event_new(base_.get(), stop_fd_, EV_READ, OnStop, this));
    event_add(stop_event_.get(), nullptr);
    new_connections_event_.reset(event_new(base_.get(), -1, 0, OnNewConnections, this));
    event_priority_set(new_connections_event_.get(), 0);
    limit_timer_.reset(event_new(base_.get(), -1, 0, OnLimitTimer, this));
    Configure();
    for (const std::string& address : options_.addresses) {
      if (!Listen(address, error)) return false;
    }
    thread_ = std::thread([this] { event_base_dispatch(base_.get()); });
    return true;
  }

  void Stop() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    while (write(stop_fd_, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
    thread_.join();
  }

  const std::vector<std::string>& bound_addresses() const { return bound_addresses_; }

 private:
  void Configure() {
    evhttp_set_max_headers_size(http_.get(), static_cast<ev_ssize_t>(options_.max_header_bytes));
    evhttp_set_max_body_size(http_.get(), static_cast<ev_ssize_t>(kMaxBodyBytes));
    evhttp_set_timeout(http_.get(), static_cast<int>(options_.idle_timeout.count()));
    // All known methods come to OnRequest, so that wrong ones get our 405 instead of the library's
    // 501.
    evhttp_set_allowed_methods(http_.get(), EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
                                                EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
                                                EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
    evhttp_set_gencb(http_.get(), OnRequest, this);
    evhttp_set_bevcb(http_.get(), NewConnection, this);
  }

  bool Listen(const std::string& text, std::string* error) {
    const auto address = ParseListenAddress(text, error);
    if (!address) return false;
    if (address->is_unix()) {
      *error = "'" + text + "': HTTP listens on TCP only";
      return false;
    }
    const auto sockets = OpenListenSockets(*address, error);
    if (!sockets) return false;
    for (const int fd : *sockets) {
      bound_addresses_.push_back(LocalAddress(fd));
      evconnlistener* listener =
          evconnlistener_new(base_.get(), nullptr, nullptr, LEV_OPT_CLOSE_ON_FREE, 0, fd);
      bound_.push_back(evhttp_bind_listener(http_.get(), listener));
    }
    return true;
  }

  // The library has no limit on connections and no notice of their end. Here a connection begins;
  // its descriptor is known once the library's accept callback is through, when OnNewConnections
  // runs, ahead of everything else by its priority.
  static bufferevent* NewConnection(event_base* base, void* self) {
    auto* impl = static_cast<Impl*>(self);
    bufferevent* connection = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    impl->new_connections_.push_back(connection);
    event_active(impl->new_connections_event_.get(), 0, 0);
    return connection;
  }

  static void OnNewConnections(evutil_socket_t, short, void* self) {
    auto* impl = static_cast<Impl*>(self);
    for (bufferevent* connection : impl->new_connections_) {
      impl->open_sockets_.Add(bufferevent_getfd(connection));
    }
    impl->new_connections_.clear();
    impl->LimitConnections();
  }

  static void OnLimitTimer(evutil_socket_t, short, void* self) {
    static_cast<Impl*>(self)->LimitConnections();
  }

  void LimitConnections() {
    const bool full = open_sockets_.CountOpen() >= options_.max_connections;
    Accept(!full);
    if (full) event_add(limit_timer_.get(), &kLimitPoll);
  }

  void Accept(bool on) {
    for (evhttp_bound_socket* bound : bound_) {
      evconnlistener* listener = evhttp_bound_socket_get_listener(bound);
      if (on) {
        evconnlistener_enable(listener);
      } else {
        evconnlistener_disable(listener);
      }
    }
  }

  static void OnRequest(evhttp_request* request, void* self) {
    static_cast<Impl*>(self)->Answer(request);
  }

  Response Route(evhttp_request* request) const {
    const char* path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
    const auto route = options_.routes.find(std::string_view(path == nullptr ? "" : path));
    if (route == options_.routes.end()) return {404, "not found\n"};
    const auto method = evhttp_request_get_command(request);
    if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
      evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", "GET, HEAD");
      return {405, "only GET and HEAD\n"};
    }
    try {
      return route->second();
    } catch (const std::exception& error) {
      return {500, std::string(error.what()) + "\n"};
    }
  }

  void Answer(evhttp_request* request) {
    const Response response = Route(request);
    evkeyvalq* headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Content-Type", response.content_type.c_str());
    evhttp_add_header(headers, "Content-Length", std::to_string(response.body.size()).c_str());
    if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD) {
      evbuffer_add(evhttp_request_get_output_buffer(request), response.body.data(),
                   response.body.size());
    }
    ++answers_under_way_;
    evhttp_request_set_on_complete_cb(request, OnAnswered, this);
    evhttp_send_reply(request, response.status, ReasonOf(response.status), nullptr);
  }

  static void OnAnswered(evhttp_request*, void* self) {
    auto* impl = static_cast<Impl*>(self);
    --impl->answers_under_way_;
    if (impl->stopping_ && impl->answers_under_way_ == 0)
      event_base_loopexit(impl->base_.get(), nullptr);
  }

  static void OnStop(evutil_socket_t, short, void* self) {
    auto* impl = static_cast<Impl*>(self);
    impl->stopping_ = true;
    for (evhttp_bound_socket* bound : impl->bound_)
      evhttp_del_accept_socket(impl->http_.get(), bound);
    impl->bound_.clear();
    const timeval grace = ToTimeval(impl->answers_under_way_ == 0 ? std::chrono::milliseconds(0)
                                                                  : impl->options_.grace);
    event_base_loopexit(impl->base_.get(), &grace);
  }

  const EndpointOptions options_;
  std::unique_ptr<event_base, Deleter> base_;
  std::unique_ptr<evhttp, Deleter> http_;
  std::unique_ptr<event, Deleter> stop_event_;
  std::unique_ptr<event, Deleter> new_connections_event_;
  std::unique_ptr<event, Deleter> limit_timer_;
  int stop_fd_ = -1;
  std::vector<evhttp_bound_socket*> bound_;
  std::vector<std::string> bound_addresses_;
  std::thread thread_;
  // Below: only on the endpoint's thread while it runs.
  std::vector<bufferevent*> new_connections_;
  OpenSockets open_sockets_;
  // Answers handed to the library and not yet sent; those of connections that broke stay counted,
  // which costs Stop no more than its grace period.
  std::size_t answers_under_way_ = 0;
  bool stopping_ = false;
};

std::unique_ptr<Endpoint> Endpoint::Start(EndpointOptions options, std::string* error) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (!impl->Start(error)) return nullptr;
  return std::unique_ptr<Endpoint>(new Endpoint(std::move(impl)));
}

Endpoint::Endpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Endpoint::~Endpoint() = default;
void Endpoint::Stop() { impl_->Stop(); }
const std::vector<std::string>& Endpoint::bound_addresses() const {
  return impl_->bound_addresses();
}

}  // namespace podcache::http
