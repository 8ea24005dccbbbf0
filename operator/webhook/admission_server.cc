#include "operator/webhook/admission_server.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <event2/thread.h>

#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/http/listen_address.h"
#include "common/status/status.h"
#include "operator/webhook/server_tls.h"

namespace podcache::control {

namespace {

constexpr std::size_t kMaxHeaderBytes = 16U << 10;

struct EventBaseDeleter {
  void operator()(event_base* base) const { event_base_free(base); }
};
struct HttpDeleter {
  void operator()(evhttp* http) const { evhttp_free(http); }
};

std::string TakeBody(evhttp_request* request) {
  evbuffer* input = evhttp_request_get_input_buffer(request);
  std::string body(evbuffer_get_length(input), '\0');
  evbuffer_remove(input, body.data(), body.size());
  return body;
}

bool IsJson(evhttp_request* request) {
  const char* type = evhttp_find_header(evhttp_request_get_input_headers(request), "Content-Type");
  return type != nullptr && std::string_view(type).substr(0, 16) == "application/json";
}

const char* ReasonPhrase(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 415:
      return "Unsupported Media Type";
    default:
      return "Internal Server Error";
  }
}

void Reply(evhttp_request* request, int code, std::string_view type, std::string_view body) {
  evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                    std::string(type).c_str());
  evbuffer* output = evhttp_request_get_output_buffer(request);
  evbuffer_add(output, body.data(), body.size());
  evhttp_send_reply(request, code, ReasonPhrase(code), nullptr);
}

std::uint16_t PortOf(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

}  // namespace

class AdmissionServer::Impl {
 public:
  Impl(AdmissionServerOptions options, Handler handler, AdmissionObserver* observer,
       const Clock& clock, Logger log)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        observer_(observer),
        clock_(clock),
        log_(std::move(log)) {}
  ~Impl() { Stop(); }

  absl::Status UseCertificate(const tls::KeyPair& pair) { return tls_.Use(pair); }

  absl::Status Start() {
    if (!tls_.ready()) {
      return FailedPrecondition("admission server has no certificate");
    }
    evthread_use_pthreads();
    base_.reset(event_base_new());
    http_.reset(base_ ? evhttp_new(base_.get()) : nullptr);
    if (!http_) return Internal("libevent cannot start");
    Configure();
    PODCACHE_RETURN_IF_ERROR(Bind());
    thread_ = std::thread([this] { event_base_dispatch(base_.get()); });
    serving_.store(true);
    return absl::OkStatus();
  }

  void Stop() {
    if (!serving_.exchange(false)) return;
    event_base_once(
        base_.get(), -1, EV_TIMEOUT,
        [](evutil_socket_t, short, void* base) {
          event_base_loopbreak(static_cast<event_base*>(base));
        },
        base_.get(), nullptr);
    thread_.join();
    listeners_.clear();  // Freed with http_, before the last connections end.
    http_.reset();
    base_.reset();
  }

  bool serving() const { return serving_.load(); }
  std::uint16_t port() const { return port_.load(); }

 private:
  void Configure() {
    evhttp_set_max_body_size(http_.get(), static_cast<ev_ssize_t>(options_.max_body_bytes));
    evhttp_set_max_headers_size(http_.get(), kMaxHeaderBytes);
    evhttp_set_timeout(http_.get(), static_cast<int>(options_.idle_timeout.count()));
    evhttp_set_allowed_methods(http_.get(), EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                                EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
                                                EVHTTP_REQ_PATCH);
    evhttp_set_bevcb(http_.get(), &Impl::NewConnection, this);
    evhttp_set_gencb(http_.get(), &Impl::OnRequest, this);
  }

  absl::Status Bind() {
    std::string error;
    const auto address = http::ParseListenAddress(options_.listen, &error);
    if (!address) return InvalidArgument(error);
    const auto sockets = http::OpenListenSockets(*address, &error);
    if (!sockets) return Unavailable(error);
    for (const int socket : *sockets) {
      port_.store(PortOf(http::LocalAddress(socket)));
      evhttp_bound_socket* bound = evhttp_accept_socket_with_handle(http_.get(), socket);
      PODCACHE_CHECK(bound != nullptr);
      listeners_.push_back(evhttp_bound_socket_get_listener(bound));
    }
    return absl::OkStatus();
  }

  static bufferevent* NewConnection(event_base* base, void* self) {
    return static_cast<Impl*>(self)->NewTlsConnection(base);
  }

  bufferevent* NewTlsConnection(event_base* base) {
    SSL* ssl = tls_.NewConnection([this] { ConnectionEnded(); });
    PODCACHE_CHECK(ssl != nullptr);  // A null here would make libevent speak plain HTTP.
    if (++connections_ == options_.max_connections) {
      for (evconnlistener* listener : listeners_) evconnlistener_disable(listener);
    }
    bufferevent* connection = bufferevent_openssl_socket_new(
        base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
    PODCACHE_CHECK(connection != nullptr);
    bufferevent_openssl_set_allow_dirty_shutdown(connection, 1);
    return connection;
  }

  void ConnectionEnded() {
    if (connections_-- == options_.max_connections) {
      for (evconnlistener* listener : listeners_) evconnlistener_enable(listener);
    }
  }

  static void OnRequest(evhttp_request* request, void* self) {
    static_cast<Impl*>(self)->Answer(request);
  }

  void Answer(evhttp_request* request) {
    const auto started = clock_.MonotonicNow();
    if (observer_ != nullptr) observer_->OnRequestStart();
    const int code = Dispatch(request);
    if (observer_ != nullptr) observer_->OnRequestEnd(code, clock_.MonotonicNow() - started);
  }

  int Dispatch(evhttp_request* request) {
    const char* path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
    if (path == nullptr || options_.path != path) return Refuse(request, 404, "no such path");
    if (evhttp_request_get_command(request) != EVHTTP_REQ_POST) {
      return Refuse(request, 405, "use POST");
    }
    if (!IsJson(request)) return Refuse(request, 415, "Content-Type is not application/json");
    const absl::StatusOr<AdmissionRequest> review = DecodeAdmissionReview(TakeBody(request));
    if (!review.ok()) {
      log_.Warning("Refused malformed admission review", {{"error", MessageOf(review.status())}});
      return Refuse(request, 400, MessageOf(review.status()));
    }
    try {
      const AdmissionResponse response = handler_(*review);
      Reply(request, 200, "application/json", EncodeAdmissionReview(review->uid, response));
      return 200;
    } catch (const std::exception& error) {
      log_.Error("Admission handler failed", {{"uid", review->uid}, {"error", error.what()}});
      return Refuse(request, 500, "the webhook failed on this object");
    }
  }

  static int Refuse(evhttp_request* request, int code, std::string_view why) {
    Reply(request, code, "text/plain; charset=utf-8", std::string(why) + "\n");
    return code;
  }

  const AdmissionServerOptions options_;
  const Handler handler_;
  AdmissionObserver* const observer_;
  const Clock& clock_;
  const Logger log_;
  ServerTls tls_;
  std::unique_ptr<event_base, EventBaseDeleter> base_;
  std::unique_ptr<evhttp, HttpDeleter> http_;
  std::vector<evconnlistener*> listeners_;  // Owned by http_.
  std::size_t connections_ = 0;             // The server's thread only.
  std::thread thread_;
  std::atomic<bool> serving_{false};
  std::atomic<std::uint16_t> port_{0};
};

AdmissionServer::AdmissionServer(AdmissionServerOptions options, Handler handler,
                                 AdmissionObserver* observer, const Clock& clock, Logger log)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler), observer, clock,
                                   std::move(log))) {}
AdmissionServer::~AdmissionServer() = default;
absl::Status AdmissionServer::UseCertificate(const tls::KeyPair& pair) {
  return impl_->UseCertificate(pair);
}
absl::Status AdmissionServer::Start() { return impl_->Start(); }
void AdmissionServer::Stop() { impl_->Stop(); }
bool AdmissionServer::serving() const { return impl_->serving(); }
std::uint16_t AdmissionServer::port() const { return impl_->port(); }

}  // namespace podcache::control
