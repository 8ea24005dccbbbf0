// An HTTP server that answers exactly what a test says, byte for byte: faults that a real API
// server shows once a year.
//
// One scripted reply per request, in order; what was asked is recorded. Bodies are sent in HTTP
// chunks as given, which a client receives one by one: cuts are exact and need no timing. Threads:
// one per connection; the public functions from any. Listens on a free loopback port.
#pragma once

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"

namespace podcache::kube {

struct RecordedRequest {
  std::string method;
  std::string target;
  std::string headers;  // Lines as received, without the request line.
  std::string body;
};

struct ScriptedReply {
  enum class End {
    kFinish,  // The body ends properly; the connection stays open.
    kCut,     // The connection is closed in the middle of the body.
    kHold,    // Nothing more is sent; the connection stays open.
  };
  int code = 200;
  std::vector<std::string> headers{};  // "Retry-After: 3"
  std::vector<std::string> chunks{};
  End end = End::kFinish;
};

class ScriptedServer {
 public:
  ScriptedServer();
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  // "http://127.0.0.1:port"
  const std::string& url() const { return url_; }
  // A request beyond the script is answered 500.
  void Script(ScriptedReply reply);
  std::vector<RecordedRequest> requests() const;
  int connections() const;
  // Blocks until so many requests came.
  void WaitForRequests(std::size_t count) const;

 private:
  void Accept();
  void Serve(int socket);
  ScriptedReply NextReply(RecordedRequest request);

  int listener_ = -1;
  std::string url_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<ScriptedReply> script_ GUARDED_BY(mutex_);
  std::vector<RecordedRequest> requests_ GUARDED_BY(mutex_);
  std::vector<int> sockets_ GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace podcache::kube
