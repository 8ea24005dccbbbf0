#include "server/protocol/meta_encoder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "server/protocol/meta_parser.h"

namespace podcache::protocol {
namespace {

std::string LineFor(const std::string& request_line, MetaStatus status, const MetaItem& item) {
  MetaRequest request;
  KeyBuffer key_buffer;
  const std::string line = request_line + "\r\n";
  EXPECT_EQ(MetaParser::Parse(line, request, key_buffer).status, ParseStatus::kRequest);
  std::string out(kMaxMetaLineBytes, '\0');
  char* const end = WriteMetaLine(out.data(), status, request, item);
  out.resize(static_cast<std::size_t>(end - out.data()));
  EXPECT_TRUE(out.ends_with("\r\n"));
  return out.substr(0, out.size() - 2);
}

TEST(MetaEncoderTest, TheLongestLineFits) {
  MetaItem item;
  item.value_bytes = item.cas = UINT64_MAX;
  item.ttl = item.new_ttl = INT64_MIN;
  item.client_flags = item.idle_seconds = UINT32_MAX;
  item.has_value = item.fetched = item.stale = item.won = item.held = true;
  std::string key;
  for (int i = 0; i < 62; ++i) key += "AAAA";
  const std::string opaque(kMaxOpaqueBytes, 'x');
  EXPECT_EQ(LineFor("mg " + key + " b k c f h l s t v O" + opaque, MetaStatus::kOk, item),
            "VA 18446744073709551615 k" + key +
                " b c18446744073709551615 f4294967295 h1 l4294967295 s18446744073709551615"
                " t-9223372036854775808 O" +
                opaque + " Z X W");
}

TEST(MetaEncoderTest, StatusWords) {
  EXPECT_EQ(LineFor("mg k", MetaStatus::kOk, {}), "HD");
  EXPECT_EQ(LineFor("mg k", MetaStatus::kMiss, {}), "EN");
  EXPECT_EQ(LineFor("md k", MetaStatus::kNotFound, {}), "NF");
  EXPECT_EQ(LineFor("ms k 1", MetaStatus::kNotStored, {}), "NS");
  EXPECT_EQ(LineFor("ma k", MetaStatus::kExists, {}), "EX");
}

TEST(MetaEncoderTest, WhatIsReturnedDependsOnCommandAndStatus) {
  MetaItem item;
  item.cas = 5;
  item.value_bytes = 3;
  const std::string flags = " c f h l s t k O1";
  EXPECT_EQ(LineFor("mg k" + flags, MetaStatus::kOk, item), "HD c5 f0 h0 l0 s3 t-1 kk O1");
  EXPECT_EQ(LineFor("mg k" + flags, MetaStatus::kMiss, {}), "EN kk O1");
  EXPECT_EQ(LineFor("ms k 3" + flags, MetaStatus::kOk, item), "HD c5 s3 kk O1");
  EXPECT_EQ(LineFor("ms k 3" + flags, MetaStatus::kExists, item), "EX c5 s3 kk O1");
  EXPECT_EQ(LineFor("md k" + flags, MetaStatus::kOk, item), "HD kk O1");
  EXPECT_EQ(LineFor("ma k" + flags, MetaStatus::kOk, item), "HD c5 t-1 kk O1");
  EXPECT_EQ(LineFor("ma k" + flags, MetaStatus::kNotFound, item), "NF kk O1");
}

TEST(MetaEncoderTest, TimesChangeWhereTheFlagStands) {
  MetaItem item;
  item.ttl = 10;
  item.new_ttl = 20;
  item.vivify_ttl = 30;
  EXPECT_EQ(LineFor("mg k t T20 N30", MetaStatus::kOk, item), "HD t10");
  EXPECT_EQ(LineFor("mg k T20 t N30", MetaStatus::kOk, item), "HD t20");
  EXPECT_EQ(LineFor("mg k T20 N30 t", MetaStatus::kOk, item), "HD t20");
  item.created = true;
  EXPECT_EQ(LineFor("mg k t T20 N30", MetaStatus::kOk, item), "HD t-1");
  EXPECT_EQ(LineFor("mg k T20 N30 t", MetaStatus::kOk, item), "HD t30");
  EXPECT_EQ(LineFor("mg k N30 T20 t", MetaStatus::kOk, item), "HD t20");
}

TEST(MetaEncoderTest, DebugLine) {
  MetaRequest request;
  KeyBuffer key_buffer;
  MetaParser::Parse("me aGk= b\r\n", request, key_buffer);
  MetaItem item;
  item.ttl = 7;
  item.idle_seconds = 3;
  item.cas = 9;
  item.item_bytes = 64;
  item.fetched = true;
  OutputBuffer output;
  AppendMetaDebugLine(request, item, output);
  iovec piece;
  ASSERT_EQ(output.FillIovec(&piece, 1), 1);
  EXPECT_EQ(std::string(static_cast<const char*>(piece.iov_base), piece.iov_len),
            "ME aGk= exp=7 la=3 cas=9 fetch=yes cls=1 size=64\r\n");
}

}  // namespace
}  // namespace podcache::protocol
