#include "common/tls/openssl_util.h"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace podcache::tls::internal {

namespace {
// A key in a Secret is never encrypted: an encrypted one is an error, not a prompt on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }
}  // namespace

std::string TakeOpenSslError(std::string_view doing) {
  std::string text(doing);
  const unsigned long code = ERR_get_error();
  char reason[256];
  if (code != 0) {
    ERR_error_string_n(code, reason, sizeof(reason));
    text.append(": ").append(reason);
  }
  ERR_clear_error();
  return text;
}

void Report(std::string* error, std::string_view doing) {
  std::string text = TakeOpenSslError(doing);
  if (error != nullptr) *error = std::move(text);
}

Owned<BIO> ReadOnlyBio(std::string_view text) {
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string TakeText(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

Owned<EVP_PKEY> ParsePrivateKey(std::string_view pem) {
  const Owned<BIO> bio = ReadOnlyBio(pem);
  return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
}

Owned<X509> ParseCertificate(std::string_view pem) {
  const Owned<BIO> bio = ReadOnlyBio(pem);
  return NextCertificate(bio.get());
}

Owned<X509> NextCertificate(BIO* bundle) {
  return Owned<X509>(PEM_read_bio_X509(bundle, nullptr, NoPassword, nullptr));
}

std::string PublicKeyDerOf(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return {};
  std::string result(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return result;
}

}  // namespace podcache::tls::internal
