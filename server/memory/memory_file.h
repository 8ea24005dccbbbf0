// A file that item memory lies in, so that the items can outlive the process: meant for tmpfs.
//
// Pages are taken by range before they are used, so that a full file system is an answer and not a
// signal, and given back by range. The first page belongs to the file itself: it says whose file
// it is and carries a label, which changes whenever the contents start to.
//
// Threads: Open and SetLabel one, the rest any. Ownership: the file is locked against other
// processes while it is open; a mapped range belongs to who asked for it. Units: bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace podcache::memory {

class MemoryFile {
 public:
  // Opens the file or makes it. nullptr, with one line of reason, if it must not be used: not a
  // regular file, not ours, in use by another process, not writable, or on a file system that
  // cannot reserve room. Nothing of it has been changed then.
  static std::unique_ptr<MemoryFile> Open(const std::string& path, std::string& error);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // 0 in a new file.
  std::uint64_t label() const noexcept { return label_; }
  // False if the system refuses.
  bool SetLabel(std::uint64_t label) noexcept;
  std::uint64_t size_bytes() const noexcept;
  // What its file system has room for beyond what the file holds.
  std::uint64_t free_bytes() const noexcept;
  // False if it is on a disk: then all of it is written there, and read from there.
  bool in_memory() const noexcept;

  // Forgets all contents.
  bool Clear() noexcept;
  // Takes the pages, which read as zero where they were not there. False without room for them.
  bool Allocate(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void Free(std::uint64_t offset, std::uint64_t bytes) noexcept;
  // What was written survives the process anyway; this is for files on a disk.
  bool Sync() noexcept;

  // Address space for the file from its start on, not yet usable (pages.h: CommitPages).
  char* MapRange(std::size_t bytes, std::size_t alignment) noexcept;
  // Copies out what is there; reads zero where there is nothing. False if that is not to be had.
  bool Read(std::uint64_t offset, char* out, std::size_t bytes) const noexcept;

 private:
  explicit MemoryFile(int descriptor) noexcept : descriptor_(descriptor) {}
  bool Recognize(std::string& error) noexcept;

  const int descriptor_;
  std::uint64_t label_ = 0;
};

}  // namespace podcache::memory
