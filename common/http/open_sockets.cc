#include "common/http/open_sockets.h"

#include <sys/stat.h>

namespace podcache::http {

void OpenSockets::Add(int fd) {
  struct stat found {};
  if (fstat(fd, &found) == 0) sockets_.push_back({fd, found.st_ino});
}

std::size_t OpenSockets::CountOpen() {
  std::erase_if(sockets_, [](const Socket& socket) {
    struct stat found {};
    return fstat(socket.fd, &found) != 0 || found.st_ino != socket.inode;
  });
  return sockets_.size();
}

}  // namespace podcache::http
