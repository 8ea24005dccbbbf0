// Who reads without locks, and when what they may still see can be used again.
//
// A reader is inside a section while it follows pointers that it found without a lock. Who has made
// something unreachable retires it: an epoch ends. It is out of use when every reader is outside or
// entered in a later epoch.
//
// A section is a few microseconds and nobody may block in one, above all not for a lock whose
// holder may wait for readers. So waiting is short: as long as a section, or as long as the kernel
// keeps a reader off the CPU.
//
// Threads: any; a Reader belongs to one thread at a time. Ownership: the readers are gone before.
//
// Memory order: a writer makes its change, then looks who is inside; a reader says that it is
// inside, then looks for changes. All four are sequentially consistent (the change by way of the
// partition's lock word, spin_lock.h), so one of the two sees the other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "common/base/check.h"
#include "common/base/mutex.h"
#include "server/store/spin_lock.h"

namespace podcache::store {

class Epochs {
 public:
  // The epoch in which something was retired.
  using Stamp = std::uint64_t;

  // On a line of its own: nobody else writes it, and others read it only to reclaim.
  class alignas(128) Reader {
   public:
    explicit Reader(Epochs& epochs) : epochs_(epochs) { epochs_.Register(*this); }
    ~Reader() { epochs_.Unregister(*this); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

   private:
    friend class Epochs;
    friend class ReadSection;
    static constexpr Stamp kOutside = 0;

    Epochs& epochs_;
    std::atomic<Stamp> inside_since_{kOutside};
  };

  Epochs() = default;
  Epochs(const Epochs&) = delete;
  Epochs& operator=(const Epochs&) = delete;
  ~Epochs() { PODCACHE_DCHECK(readers_.empty()); }

  // Who enters from now on cannot find what was made unreachable before.
  Stamp Retire() noexcept { return now_.fetch_add(1); }
  // Whether nobody is inside any more who may have found it.
  bool HasPassed(Stamp stamp) noexcept {
    MutexLock lock(mutex_);
    return std::ranges::all_of(readers_, [stamp](const Reader* reader) {
      const Stamp since = reader->inside_since_.load();
      return since == Reader::kOutside || since > stamp;
    });
  }
  // Until all that was made unreachable before is out of use. Not inside a section.
  void WaitForReaders() noexcept {
    const Stamp stamp = Retire();
    for (Backoff backoff; !HasPassed(stamp);) backoff.Wait();
  }

 private:
  friend class ReadSection;

  void Register(Reader& reader) {
    MutexLock lock(mutex_);
    readers_.push_back(&reader);
  }
  void Unregister(Reader& reader) noexcept {
    MutexLock lock(mutex_);
    std::erase(readers_, &reader);
  }

  std::atomic<Stamp> now_{Reader::kOutside + 1};
  Mutex mutex_;
  std::vector<Reader*> readers_ GUARDED_BY(mutex_);
};

class ReadSection {
 public:
  explicit ReadSection(Epochs::Reader& reader) noexcept : reader_(reader) { Enter(); }
  ~ReadSection() { Leave(); }
  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

  // In between, whatever was found is lost.
  void Leave() noexcept {
    // Release: who sees this sees that everything inside has been read.
    reader_.inside_since_.store(Epochs::Reader::kOutside, std::memory_order_release);
  }
  void Enter() noexcept { reader_.inside_since_.store(reader_.epochs_.now_.load()); }

 private:
  Epochs::Reader& reader_;
};

}  // namespace podcache::store
