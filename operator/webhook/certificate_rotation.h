// Keeps the operator's certificates alive: reads the one Secret, on the leader renews what is due,
// publishes the CA bundle in the webhook configuration, and tells the process when there is
// something new to use.
//
// On the leader a visit goes: read → plan → write the Secret → publish the bundle → use. Other
// replicas read and use. The Secret is created, never overwritten without the version that was
// read: of several writers one wins, the others read again, so all end with the same.
//
// Threads: any; visits wait for each other (Start runs a thread of its own). `on_change` runs on
// the visiting thread. Ownership: borrows client and clock. The destructor stops.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "common/logging/logger.h"
#include "operator/client/api_client.h"
#include "operator/webhook/certificate_set.h"
#include "operator/webhook/rotation_plan.h"

namespace podcache::control {

struct CertificateRotationOptions {
  kube::NamespacedName secret;
  std::string webhook_configuration;
  RotationOptions rotation;
  std::chrono::seconds interval{30};
  std::chrono::seconds retry_interval{1};
};

class CertificateRotation {
 public:
  using OnChange = std::function<void(const CertificateSet& set)>;

  CertificateRotation(kube::ApiClient& client, CertificateRotationOptions options,
                      std::function<bool()> may_write, OnChange on_change, const Clock& clock,
                      Logger log);
  ~CertificateRotation();

  // One look, and one round of changes where they are due. NotFound on a replica that may not
  // write: not made yet.
  absl::Status Visit() EXCLUDES(visit_mutex_);

  void Start();
  void Stop();
  // A visit soon; after becoming the leader, for example.
  void Wake();

  // There are certificates in use.
  bool ready() const { return ready_.load(); }
  // The last visit found our whole bundle in every entry of the webhook configuration.
  bool published() const { return published_.load(); }

 private:
  struct Stored {
    std::optional<kube::Object> secret;  // Absent: to be created.
    CertificateSet set;
  };
  absl::Status VisitLocked() REQUIRES(visit_mutex_);
  absl::StatusOr<Stored> Load();
  absl::Status Renew(Stored& stored, std::string_view published_bundle);
  absl::Status Write(const Stored& stored);
  // Brings `bundle` into every webhook entry that lacks it.
  absl::Status Publish(const kube::Object& configuration, std::string_view bundle);
  void Use(const CertificateSet& set) REQUIRES(visit_mutex_);
  void Run();

  kube::ApiClient& client_;
  const CertificateRotationOptions options_;
  const std::function<bool()> may_write_;
  const OnChange on_change_;
  const Clock& clock_;
  const Logger log_;
  Mutex visit_mutex_;
  SecretData in_use_ GUARDED_BY(visit_mutex_);
  std::atomic<bool> ready_{false};
  std::atomic<bool> published_{false};

  Mutex mutex_;
  CondVar wake_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool woken_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace podcache::control
