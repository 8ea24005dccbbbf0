// The reading half of certificate.h.
#include <arpa/inet.h>
#include <openssl/err.h>

#include <array>

#include "common/tls/certificate.h"
#include "common/tls/identity.h"
#include "common/tls/openssl_util.h"

namespace podcache::tls {

using internal::Owned;
using internal::ParseCertificate;
using internal::ParsePrivateKey;
using internal::Report;

namespace {

std::optional<std::int64_t> UnixSeconds(const ASN1_TIME* time) {
  const Owned<ASN1_TIME> epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0;
  int seconds = 0;
  if (!epoch || ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1) return std::nullopt;
  return std::int64_t{days} * 86400 + seconds;
}

std::string CommonName(const X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

void ReadSubjectNames(const X509* certificate, CertificateInfo& info) {
  const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const auto* text = static_cast<const ASN1_STRING*>(
        GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type));
    if (type != GEN_DNS && type != GEN_IPADD) continue;
    const auto* data = ASN1_STRING_get0_data(text);
    const auto size = static_cast<std::size_t>(ASN1_STRING_length(text));
    if (type == GEN_DNS) {
      info.dns_names.emplace_back(reinterpret_cast<const char*>(data), size);
      continue;
    }
    std::array<char, INET6_ADDRSTRLEN> printed{};
    const int family = size == sizeof(in_addr) ? AF_INET : AF_INET6;
    if (size != sizeof(in_addr) && size != sizeof(in6_addr)) continue;
    if (inet_ntop(family, data, printed.data(), printed.size()) != nullptr) {
      info.ip_addresses.emplace_back(printed.data());
    }
  }
}

std::string Fingerprint(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return {};
  return HexEncode({reinterpret_cast<const char*>(digest.data()), size});
}

}  // namespace

std::optional<CertificateInfo> ReadCertificate(std::string_view pem, std::string* error) {
  const Owned<X509> certificate = ParseCertificate(pem);
  if (!certificate) {
    Report(error, "read certificate");
    return std::nullopt;
  }
  const auto before = UnixSeconds(X509_get0_notBefore(certificate.get()));
  const auto after = UnixSeconds(X509_get0_notAfter(certificate.get()));
  EVP_PKEY* key = X509_get0_pubkey(certificate.get());
  if (!before || !after || key == nullptr) {
    Report(error, "read certificate's validity and key");
    return std::nullopt;
  }
  CertificateInfo info;
  info.common_name = CommonName(certificate.get());
  ReadSubjectNames(certificate.get(), info);
  info.is_ca = X509_check_ca(certificate.get()) == 1;
  info.validity = {*before, *after};
  info.public_key_der = internal::PublicKeyDerOf(key);
  info.sha256_hex = Fingerprint(certificate.get());
  ERR_clear_error();
  return info;
}

bool KeyMatchesCertificate(const KeyPair& pair) {
  const Owned<X509> certificate = ParseCertificate(pair.certificate_pem);
  const Owned<EVP_PKEY> key = ParsePrivateKey(pair.private_key_pem);
  const bool matches =
      certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return matches;
}

bool SignedBy(std::string_view certificate_pem, std::string_view ca_bundle_pem) {
  const Owned<X509> certificate = ParseCertificate(certificate_pem);
  const Owned<BIO> bundle = internal::ReadOnlyBio(ca_bundle_pem);
  bool found = false;
  while (certificate && !found) {
    const Owned<X509> ca = internal::NextCertificate(bundle.get());
    if (!ca) break;
    found = X509_check_issued(ca.get(), certificate.get()) == X509_V_OK &&
            X509_verify(certificate.get(), X509_get0_pubkey(ca.get())) == 1;
  }
  ERR_clear_error();
  return found;
}

}  // namespace podcache::tls
