// What a StoreSession does, one thread's view of the store. One source file per kind of operation.
//
// Threads: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "server/metrics/worker_counters.h"
#include "server/store/epoch.h"
#include "server/store/log_writer.h"
#include "server/store/store.h"
#include "server/store/store_impl.h"
#include "server/store/write_handle.h"

namespace podcache::store {

// What one try of an operation, made under the partition's lock, came to.
struct Try {
  StoreStatus status = StoreStatus::kNotFound;
  std::size_t needed_bytes = 0;  // Not 0: nothing was done, room for such a record is missing.
  std::uint64_t value = 0;       // The new CAS id.
};

struct StoreSession::Impl {
  Impl(StoreImpl& owner, metrics::WorkerCounters& worker_counters)
      : store(owner),
        table(owner.table()),
        counters(worker_counters),
        writer(owner.log(), Stream::kHead),
        reader(owner.table().index().epochs()) {}

  // Runs attempt(partition, moment) under the partition's lock until it does not ask for room.
  template <class Attempt>
  Try Run(std::uint64_t hash, Attempt&& attempt) {
    return RunAt(store.Now(), hash, attempt);
  }
  // The same at a time that was read before, for several operations in a row.
  template <class Attempt>
  Try RunAt(std::uint32_t now, std::uint64_t hash, Attempt&& attempt) {
    Partition& partition = table.PartitionOf(hash);
    for (;;) {
      Moment moment{now, 0};
      Try result;
      {
        SpinLockHolder lock(partition.lock);
        moment.epoch = table.flush().epoch();
        result = attempt(partition, moment);
      }
      if (result.needed_bytes == 0) return result;
      writer.Acquire();
      if (!store.Refill(writer, result.needed_bytes, moment.epoch)) {
        return {StoreStatus::kOutOfMemory, 0, 0};
      }
    }
  }

  // Live or missing; an expired or flushed item is removed.
  Found FindLive(Partition& partition, std::string_view key, std::uint64_t hash,
                 Moment moment) noexcept REQUIRES(partition.lock);

  // The same for readers, who count what they come upon.
  Found FindForRead(Partition& partition, const Key& key, Moment moment) noexcept
      REQUIRES(partition.lock);
  // The item is used: that counts for its eviction and can be asked for.
  void MarkUsed(Found& found, Moment moment) noexcept;

  // session_lookup.cc: without locks, as far as that goes.
  // For a batch that is about to be looked up under locks: its cache misses overlap.
  void Fetch(std::span<const std::uint64_t> hashes) noexcept;
  void ReadBatch(std::span<const Key> keys, const ReadOptions& options, std::uint32_t now,
                 ValueSink& sink, std::span<StoreStatus> statuses);
  void ReadDetailedBatch(std::span<const DetailedRead> reads, std::uint32_t now, ValueSink& sink,
                         std::span<StoreStatus> statuses);

  // session_read.cc
  StoreStatus GetLocked(const Key& key, std::size_t index, const ReadOptions& options,
                        std::uint32_t now, ValueSink& sink);
  Try GetOne(Partition& partition, const Key& key, std::size_t index, Moment moment,
             const ReadOptions& options, ValueSink& sink) REQUIRES(partition.lock);
  Try SetExptime(Partition& partition, Found& found, std::uint32_t exptime, Moment moment) noexcept
      REQUIRES(partition.lock);
  bool Deliver(Found& found, std::size_t index, const ItemMeta& meta, ValueSink& sink);

  // session_detail.cc
  StoreStatus GetDetailLocked(const DetailedRead& read, std::size_t index, std::uint32_t now,
                              ValueSink& sink);
  Try GetDetail(Partition& partition, const DetailedRead& read, std::size_t index, Moment moment,
                ValueSink& sink) REQUIRES(partition.lock);
  Try CreateLeased(Partition& partition, const DetailedRead& read, Moment moment,
                   Found& found) noexcept REQUIRES(partition.lock);

  // session_invalidate.cc
  Try TryInvalidate(Partition& partition, const Key& key, const InvalidateOptions& options,
                    Moment moment) noexcept REQUIRES(partition.lock);

  // session_write.cc
  WriteResult Commit(WriteHandle::Impl& handle, const WriteOptions& options);
  WriteResult StorePlain(WriteHandle::Impl& handle, const WriteOptions& options);
  WriteResult StoreFields(WriteHandle::Impl& handle, const ItemFields& fields, LargeUpload* upload,
                          const WriteOptions& options);
  // Of an item that fits into one record.
  StoreStatus SetWhole(const WholeItem& item, ItemFields& fields, std::uint32_t now) noexcept;
  Try TryStore(Partition& partition, WriteHandle::Impl& handle, const ItemFields& fields,
               const LargeUpload* upload, const WriteOptions& options, Moment moment) noexcept
      REQUIRES(partition.lock);
  // Stores the value, or what was uploaded, in the place of what was found.
  Try Put(Partition& partition, std::uint64_t hash, Found& found, ItemFields& fields,
          std::string_view value, const LargeUpload* upload, std::uint32_t epoch,
          bool want_cas) noexcept REQUIRES(partition.lock);
  StoreStatus Precondition(const Found& found, const WriteOptions& options) const noexcept;
  // Room for a record that takes the place of `old`, or kNowhere: then its RecordBytes are what to
  // refill with. Where a client knows the CAS id of `old`, the new one is higher: it is made
  // explicit if its place in the log does not give that.
  Location Allocate(ItemFields& fields, std::uint32_t epoch, const Found& old) noexcept;
  // There, everything but the value or the piece entries is written.
  Location NewRecord(ItemFields& fields, std::uint32_t epoch, const Found& old) noexcept;
  // Makes it the key's and counts it.
  Try Finish(Partition& partition, std::uint64_t hash, const Found& old, Location fresh,
             bool want_cas) noexcept REQUIRES(partition.lock);
  void CountStored(Partition& partition, std::size_t bytes) noexcept REQUIRES(partition.lock);
  std::uint64_t CasForClient(Found& found) noexcept;
  ItemMeta MetaOf(Found& found) noexcept;

  // session_append.cc
  WriteResult Concatenate(WriteHandle::Impl& handle, const WriteOptions& options);
  Try ConcatenateSmall(Partition& partition, const WriteHandle::Impl& handle,
                       const WriteOptions& options, const Found& found, ItemFields& fields,
                       Moment moment) noexcept REQUIRES(partition.lock);
  Try ReplaceUnchanged(const WriteHandle::Impl& handle, const WriteOptions& options,
                       LargeUpload& upload, std::uint64_t cas);

  // session_arithmetic.cc
  Try TryArithmetic(Partition& partition, const Key& key, const ArithmeticOptions& options,
                    Moment moment, ArithmeticResult& result) noexcept REQUIRES(partition.lock);
  Try ReplaceNumber(Partition& partition, const Key& key, const ArithmeticOptions& options,
                    std::string_view digits, Found& found, Moment moment) noexcept
      REQUIRES(partition.lock);
  Try CreateNumber(Partition& partition, const Key& key, const ArithmeticOptions& options,
                   Moment moment, ArithmeticResult& result) noexcept REQUIRES(partition.lock);
  // Whether an item with this id may be changed; `compare` 0 fits every item.
  bool CasFits(const Found& found, std::uint64_t compare) const noexcept {
    return compare == 0 || (store.options().cas && table.CasOf(found) == compare);
  }

  // A CAS id that a client chose; 0 if there is none, or no CAS ids at all.
  std::uint64_t ChosenCas(std::uint64_t set_cas) const noexcept {
    return store.options().cas ? set_cas : 0;
  }

  std::uint32_t AccessStamp(std::uint32_t now) const noexcept {
    return now & static_cast<std::uint32_t>(header::kAccessMask);
  }

  StoreImpl& store;
  ItemTable& table;
  metrics::WorkerCounters& counters;
  LogWriter writer;
  Epochs::Reader reader;
  std::unique_ptr<WriteHandle::Impl> spare;  // Of the last commit, for the next Prepare.
};

// Absolute seconds of the interface to what an item stores: 0 never, 1 long past.
std::uint32_t StoredExptime(std::int64_t exptime) noexcept;

}  // namespace podcache::store
