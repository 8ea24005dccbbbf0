// incr and decr.
#include <charconv>
#include <cstring>
#include <limits>

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

}  // namespace

Try StoreSession::Impl::TryArithmetic(Partition& partition, const Key& key, bool increment,
                                      std::uint64_t delta, Moment moment) noexcept {
  Found found = FindLive(partition, key.bytes, key.hash, moment);
  if (found.missing()) return {StoreStatus::kNotFound};
  const std::uint64_t value_bytes = found.record.ValueBytes(found.header);
  // A longer text may still be a number, with leading zeros; memcached refuses it too.
  if (value_bytes > kMaxDigits) return {StoreStatus::kNotNumeric};
  std::uint64_t number = 0;
  if (!ParseNumber({found.record.Value(found.header), static_cast<std::size_t>(value_bytes)},
                   number)) {
    return {StoreStatus::kNotNumeric};
  }
  const std::uint64_t changed = Changed(number, increment, delta);
  char digits[kMaxDigits];
  const auto written =
      static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, changed).ptr - digits);
  found.slot->Touch();
  if (table.SetValueInPlace(found, {digits, written})) return {StoreStatus::kOk, 0, changed};
  ItemFields fields = table.FieldsForCopy(found);
  fields.explicit_cas = 0;
  fields.state_bits &= header::kFetched;
  fields.access = AccessStamp(moment.now);
  fields.value_bytes = written;
  const Location fresh = NewRecord(fields, moment.epoch);
  if (fresh == kNowhere) return {StoreStatus::kOutOfMemory, RecordBytes(fields)};
  const Record record(table.log().At(fresh));
  std::memcpy(record.Value(record.Header()), digits, written);
  if (!table.Publish(partition, key.hash, found, fresh)) return {StoreStatus::kOutOfMemory};
  return {StoreStatus::kOk, 0, changed};
}

}  // namespace podcache::store
