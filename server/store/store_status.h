// The answers of the store. Protocol texts and codes are made from them elsewhere, in one place per
// protocol.
#pragma once

#include <cstdint>

namespace podcache::store {

enum class StoreStatus : std::uint8_t {
  kOk,  // Found, deleted, touched.
  kStored,
  kNotStored,  // Precondition of add, replace, append, prepend failed.
  kExists,     // CAS mismatch.
  kNotFound,
  kTooLarge,     // Above the item size limit.
  kOutOfMemory,  // Nothing may or can be evicted.
  kNotNumeric,   // The stored value is no decimal unsigned 64-bit number.
};

}  // namespace podcache::store
