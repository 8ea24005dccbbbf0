// A channel to one pod's admin port that trusts nobody but this pod.
//
// Threads: any.
#pragma once

#include <memory>

#include "common/tls/certificate.h"
#include "operator/admin/node_client.h"

namespace grpc {
class Channel;
}

namespace podcache::control {

// Connects lazily. Never shares a connection with another channel, not even to the same address:
// the next pod there has another secret.
std::shared_ptr<grpc::Channel> NewNodeChannel(const NodeTarget& target, const tls::KeyPair& client);

}  // namespace podcache::control
