// incr and decr.
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

#include "common/base/check.h"
#include "server/store/session.h"

namespace podcache::store {
namespace {

constexpr std::size_t kMaxDigits = std::numeric_limits<std::uint64_t>::digits10 + 1;

// Decimal digits and nothing else; false also when above 2^64 - 1.
bool ParseNumber(std::string_view text, std::uint64_t& number) noexcept {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

std::uint64_t Changed(std::uint64_t number, bool increment, std::uint64_t delta) noexcept {
  if (increment) return number + delta;
  return number > delta ? number - delta : 0;
}

// A number as its item holds it: at its true length, without padding.
class Digits {
 public:
  explicit Digits(std::uint64_t number) noexcept
      : size_(static_cast<std::size_t>(std::to_chars(bytes_, bytes_ + kMaxDigits, number).ptr -
                                       bytes_)) {}
  std::string_view text() const noexcept { return {bytes_, size_}; }

 private:
  char bytes_[kMaxDigits];
  std::size_t size_;
};

}  // namespace

Try StoreSession::Impl::TryArithmetic(Partition& partition, const Key& key,
                                      const ArithmeticOptions& options, Moment moment,
                                      ArithmeticResult& result) noexcept {
  Found found = FindLive(partition, key.bytes, key.hash, moment);
  if (found.missing()) {
    if (!options.create) return {StoreStatus::kNotFound};
    return CreateNumber(partition, key, options, moment, result);
  }
  if (!CasFits(found, options.compare_cas)) return {StoreStatus::kExists};
  const std::uint64_t value_bytes = found.record.ValueBytes(found.header);
  // A longer text may still be a number, with leading zeros; memcached refuses it too.
  if (value_bytes > kMaxDigits) return {StoreStatus::kNotNumeric};
  std::uint64_t number = 0;
  if (!ParseNumber({found.record.Value(found.header), static_cast<std::size_t>(value_bytes)},
                   number)) {
    return {StoreStatus::kNotNumeric};
  }
  result.value = Changed(number, options.increment, options.delta);
  result.exptime_before = found.record.Exptime(found.header);
  const Digits digits(result.value);
  found.slot->Touch();
  // An expiry needs its field, a chosen CAS id too.
  const bool same_shape =
      options.set_cas == 0 && (!options.set_exptime || (found.header & header::kHasExptime) != 0);
  if (same_shape && table.SetValueInPlace(found, digits.text(), AccessStamp(moment.now))) {
    if (options.set_exptime)
      SetExptime(partition, found, StoredExptime(options.new_exptime), moment);
  } else {
    const Try replaced = ReplaceNumber(partition, key, options, digits.text(), found, moment);
    if (replaced.status != StoreStatus::kOk) return replaced;
  }
  if (options.want_cas) result.cas = CasForClient(found);
  return {StoreStatus::kOk};
}

Try StoreSession::Impl::ReplaceNumber(Partition& partition, const Key& key,
                                      const ArithmeticOptions& options, std::string_view digits,
                                      Found& found, Moment moment) noexcept {
  ItemFields fields = found.record.Fields(found.header);
  fields.explicit_cas = ChosenCas(options.set_cas);
  fields.state_bits &= header::kStale | header::kLeased;
  fields.access = AccessStamp(moment.now);
  fields.value_bytes = digits.size();
  if (options.set_exptime) fields.exptime = StoredExptime(options.new_exptime);
  const Location fresh = NewRecord(fields, moment.epoch, found);
  if (fresh == kNowhere) return {StoreStatus::kOutOfMemory, RecordBytes(fields)};
  const Record record(table.log().At(fresh));
  std::memcpy(record.Value(record.Header()), digits.data(), digits.size());
  // Takes a slot that is there: there is always room.
  PODCACHE_CHECK(table.Publish(partition, key.hash, found, fresh));
  found.location = fresh;
  found.record = record;
  found.header = record.Header();
  return {StoreStatus::kOk};
}

Try StoreSession::Impl::CreateNumber(Partition& partition, const Key& key,
                                     const ArithmeticOptions& options, Moment moment,
                                     ArithmeticResult& result) noexcept {
  const Digits digits(options.initial);
  ItemFields fields;
  fields.key = key.bytes;
  fields.exptime = StoredExptime(options.exptime);
  fields.access = AccessStamp(moment.now);
  fields.value_bytes = digits.text().size();
  fields.explicit_cas = ChosenCas(options.set_cas);
  const Location fresh = NewRecord(fields, moment.epoch, Found());
  if (fresh == kNowhere) return {StoreStatus::kOutOfMemory, RecordBytes(fields)};
  const Record record(table.log().At(fresh));
  std::memcpy(record.Value(record.Header()), digits.text().data(), digits.text().size());
  const Try stored = Finish(partition, key.hash, Found(), fresh, options.want_cas);
  if (stored.status != StoreStatus::kStored) return stored;
  result.created = true;
  result.value = options.initial;
  result.cas = stored.value;
  return {StoreStatus::kOk};
}

}  // namespace podcache::store
