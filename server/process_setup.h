// What a server arranges with the operating system before it serves: user, descriptors, memory
// locking, background, files.
//
// Threads: start-up only, before there are others. Each function returns false with one line of
// reason on failure.
#pragma once

#include <cstdint>
#include <string>

namespace podcache::server {

// Until the server waits for signals there is nothing to finish: who is told to stop ends at once,
// with 0, and there is nothing to reload. Process 1 would lose all of these without a handler.
void EndOnEarlySignals() noexcept;
// As root a user must be named, as in memcached; for others the name is without effect.
bool DropPrivileges(const std::string& user, std::string& error);
// Raises the descriptor limit, if necessary, so that so many clients fit. Where the system does not
// allow it the number is lowered to what fits, if it may be, and the reason is given all the same.
bool EnsureDescriptors(std::uint32_t& max_connections, bool may_lower, std::string& error);
bool RaiseCoreLimit(std::string& error);
// Whether the kernel gives large pages to programs that ask for them.
bool LargePagesOffered(std::string& error);
bool LockMemory(std::string& error);
// Goes on in a child without terminal; the parent ends here.
bool Daemonize(std::string& error);
// Both replace the file as a whole, by way of <path>.tmp and, as memcached does with the file of
// MEMCACHED_PORT_FILENAME, <path>.lck.
bool WritePidFile(const std::string& path, std::string& error);
bool WritePortFile(const std::string& path, const std::string& text, std::string& error);

}  // namespace podcache::server
