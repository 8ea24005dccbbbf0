#include "common/tls/certificate.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <array>

#include "common/tls/openssl_util.h"

namespace podcache::tls {

using internal::Owned;
using internal::ParseCertificate;
using internal::ParsePrivateKey;
using internal::Report;

namespace {

constexpr std::size_t kSerialBytes = 16;
constexpr std::int64_t kClockSkewSeconds = 3600;

std::optional<std::string> ToPem(X509* certificate, std::string* error) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) {
    Report(error, "write certificate");
    return std::nullopt;
  }
  return internal::TakeText(bio.get());
}

bool SetSerial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // Positive and never short.
  ASN1_INTEGER* serial = X509_get_serialNumber(certificate);
  return ASN1_STRING_set(serial, bytes.data(), static_cast<int>(bytes.size())) == 1;
}

bool SetValidity(X509* certificate, const Validity& validity) {
  const Owned<ASN1_TIME> before(ASN1_TIME_set(nullptr, validity.not_before_unix_seconds));
  const Owned<ASN1_TIME> after(ASN1_TIME_set(nullptr, validity.not_after_unix_seconds));
  return before && after && X509_set1_notBefore(certificate, before.get()) == 1 &&
         X509_set1_notAfter(certificate, after.get()) == 1;
}

bool SetCommonName(X509* certificate, std::string_view name) {
  return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                    MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Names are put in as values, never through OpenSSL's configuration syntax, which would read commas
// in them.
bool AddSubjectNames(X509* certificate, const LeafRequest& request) {
  if (request.dns_names.empty() && request.ip_addresses.empty()) return true;
  const Owned<GENERAL_NAMES> names(GENERAL_NAMES_new());
  const auto add = [&](int type, const void* data, std::size_t size) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    ASN1_STRING* text = type == GEN_DNS ? ASN1_IA5STRING_new() : ASN1_OCTET_STRING_new();
    ASN1_STRING_set(text, data, static_cast<int>(size));
    GENERAL_NAME_set0_value(name, type, text);
    return sk_GENERAL_NAME_push(names.get(), name) > 0;
  };
  for (const std::string& dns : request.dns_names) {
    if (dns.empty() || !add(GEN_DNS, dns.data(), dns.size())) return false;
  }
  for (const std::string& ip : request.ip_addresses) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    const bool v4 = inet_pton(AF_INET, ip.c_str(), bytes.data()) == 1;
    if (!v4 && inet_pton(AF_INET6, ip.c_str(), bytes.data()) != 1) return false;
    if (!add(GEN_IPADD, bytes.data(), v4 ? sizeof(in_addr) : sizeof(in6_addr))) return false;
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

Owned<X509> NewCertificate(EVP_PKEY* key, std::string_view common_name, const Validity& validity,
                           X509* issuer) {
  Owned<X509> certificate(X509_new());
  X509* raw = certificate.get();
  const bool ok = raw != nullptr && X509_set_version(raw, X509_VERSION_3) == 1 && SetSerial(raw) &&
                  SetValidity(raw, validity) && SetCommonName(raw, common_name) &&
                  X509_set_issuer_name(raw, X509_get_subject_name(issuer ? issuer : raw)) == 1 &&
                  X509_set_pubkey(raw, key) == 1;
  if (!ok) return nullptr;
  return certificate;
}

// A leaf for `key`, signed by `issuer_key` under the name of `issuer`, or by itself if `issuer` is
// null.
std::optional<std::string> SignLeaf(EVP_PKEY* key, const LeafRequest& request, X509* issuer,
                                    EVP_PKEY* issuer_key, std::string* error) {
  const Owned<X509> leaf = NewCertificate(key, request.common_name, request.validity, issuer);
  const char* usage = request.usage == Usage::kServer ? "serverAuth" : "clientAuth";
  const bool ok =
      leaf && AddExtension(leaf.get(), issuer, NID_basic_constraints, "critical,CA:FALSE") &&
      AddExtension(leaf.get(), issuer, NID_key_usage, "critical,digitalSignature") &&
      AddExtension(leaf.get(), issuer, NID_ext_key_usage, usage) &&
      AddExtension(leaf.get(), issuer, NID_subject_key_identifier, "hash") &&
      (issuer == nullptr ||
       AddExtension(leaf.get(), issuer, NID_authority_key_identifier, "keyid:always")) &&
      AddSubjectNames(leaf.get(), request) && X509_sign(leaf.get(), issuer_key, EVP_sha256()) > 0;
  if (!ok) {
    Report(error, "make certificate for '" + request.common_name + "'");
    return std::nullopt;
  }
  return ToPem(leaf.get(), error);
}

}  // namespace

Validity ValidFrom(std::int64_t now_unix_seconds, std::chrono::seconds lifetime) {
  return {now_unix_seconds - kClockSkewSeconds, now_unix_seconds + lifetime.count()};
}

std::optional<std::string> MakePrivateKey(std::string* error) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  if (!key || !bio ||
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    Report(error, "make private key");
    return std::nullopt;
  }
  return internal::TakeText(bio.get());
}

std::optional<KeyPair> MakeCa(std::string_view common_name, const Validity& validity,
                              std::string* error) {
  const auto key_pem = MakePrivateKey(error);
  if (!key_pem) return std::nullopt;
  const Owned<EVP_PKEY> key = ParsePrivateKey(*key_pem);
  const Owned<X509> ca = NewCertificate(key.get(), common_name, validity, nullptr);
  const bool ok =
      ca && AddExtension(ca.get(), ca.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      AddExtension(ca.get(), ca.get(), NID_key_usage, "critical,keyCertSign,cRLSign") &&
      AddExtension(ca.get(), ca.get(), NID_subject_key_identifier, "hash") &&
      X509_sign(ca.get(), key.get(), EVP_sha256()) > 0;
  if (!ok) {
    Report(error, "make CA");
    return std::nullopt;
  }
  auto pem = ToPem(ca.get(), error);
  if (!pem) return std::nullopt;
  return KeyPair{*std::move(pem), *key_pem};
}

std::optional<KeyPair> IssueLeaf(const KeyPair& ca, const LeafRequest& request,
                                 std::string* error) {
  const Owned<X509> issuer = ParseCertificate(ca.certificate_pem);
  const Owned<EVP_PKEY> issuer_key = ParsePrivateKey(ca.private_key_pem);
  if (!issuer || !issuer_key) {
    Report(error, "read CA");
    return std::nullopt;
  }
  const auto key_pem = MakePrivateKey(error);
  if (!key_pem) return std::nullopt;
  const Owned<EVP_PKEY> key = ParsePrivateKey(*key_pem);
  auto pem = SignLeaf(key.get(), request, issuer.get(), issuer_key.get(), error);
  if (!pem) return std::nullopt;
  return KeyPair{*std::move(pem), *key_pem};
}

std::optional<std::string> SelfSign(std::string_view private_key_pem, const LeafRequest& request,
                                    std::string* error) {
  const Owned<EVP_PKEY> key = ParsePrivateKey(private_key_pem);
  if (!key) {
    Report(error, "read private key");
    return std::nullopt;
  }
  return SignLeaf(key.get(), request, nullptr, key.get(), error);
}

std::optional<std::string> PublicKeyDer(std::string_view private_key_pem, std::string* error) {
  const Owned<EVP_PKEY> key = ParsePrivateKey(private_key_pem);
  std::string der = key ? internal::PublicKeyDerOf(key.get()) : std::string();
  if (der.empty()) {
    Report(error, "read private key");
    return std::nullopt;
  }
  return der;
}

}  // namespace podcache::tls
