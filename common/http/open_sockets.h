// Counts which of the sockets it was told of are still open, for a library that tells nobody when
// it closes one.
//
// A descriptor number is used again after a close, the inode behind it is not: both together know a
// socket.
//
// Threads: one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace podcache::http {

class OpenSockets {
 public:
  void Add(int fd);
  // Looks at each of them: one system call per socket.
  std::size_t CountOpen();

 private:
  struct Socket {
    int fd;
    ino_t inode;
  };
  std::vector<Socket> sockets_;
};

}  // namespace podcache::http
