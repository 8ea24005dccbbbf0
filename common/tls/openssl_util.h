// Ownership of OpenSSL objects and its error queue; private to this module.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

namespace podcache::tls::internal {

struct Deleter {
  void operator()(BIO* p) const { BIO_free_all(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
  void operator()(GENERAL_NAMES* p) const { GENERAL_NAMES_free(p); }
  void operator()(BASIC_CONSTRAINTS* p) const { BASIC_CONSTRAINTS_free(p); }
  void operator()(ASN1_TIME* p) const { ASN1_TIME_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Deleter>;

// What OpenSSL says about its last failure on this thread, and empties its queue.
std::string TakeOpenSslError(std::string_view doing);
// Stores that in `error`, if there is one.
void Report(std::string* error, std::string_view doing);

Owned<BIO> ReadOnlyBio(std::string_view text);
std::string TakeText(BIO* memory);

Owned<EVP_PKEY> ParsePrivateKey(std::string_view pem);
Owned<X509> ParseCertificate(std::string_view pem);
// The next one of a bundle; null at its end.
Owned<X509> NextCertificate(BIO* bundle);
// SubjectPublicKeyInfo in DER; empty on failure.
std::string PublicKeyDerOf(EVP_PKEY* key);

}  // namespace podcache::tls::internal
