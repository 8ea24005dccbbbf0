#include "operator/webhook/base64.h"

#include <openssl/evp.h>

namespace podcache::control {

namespace {

const unsigned char* Bytes(std::string_view text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's bytes are unsigned.
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* Bytes(std::string& text) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): OpenSSL's bytes are unsigned.
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string encoded((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(Bytes(encoded), Bytes(bytes), static_cast<int>(bytes.size()));
  return encoded;
}

std::string DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  std::string decoded(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(Bytes(decoded), Bytes(text), static_cast<int>(text.size()));
  if (length < 0) return {};
  const std::size_t padding = text.ends_with("==") ? 2 : (text.ends_with('=') ? 1 : 0);
  decoded.resize(static_cast<std::size_t>(length) - padding);
  return decoded;
}

}  // namespace podcache::control
