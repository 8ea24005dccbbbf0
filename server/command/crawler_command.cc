#include "server/command/crawler_command.h"

#include <cstdint>

#include "server/command/key_dump.h"
#include "server/protocol/numbers.h"
#include "server/protocol/scan.h"

namespace podcache::command {

using protocol::Reply;
using protocol::StandsFor;

namespace {

// memcached's classes; all items here are in the first.
constexpr std::uint32_t kMaxClass = 63;
constexpr std::uint32_t kOurClass = 1;
constexpr std::uint32_t kMaxSleepUs = 1'000'000;

struct Classes {
  Reply verdict = Reply::kOk;
  bool ours = false;
};

// "all" or numbers joined by commas; "hash" too where a dump may go by the index.
Classes ParseClasses(std::string_view list, bool hash_too) {
  if (list == "all" || (hash_too && list == "hash")) return {Reply::kOk, true};
  Classes classes{Reply::kCrawlerNotStarted, false};
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view token = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    if (token.empty()) continue;
    std::uint32_t id = 0;
    if (!protocol::ParseUnsigned32(token, id) || id == 0 || id > kMaxClass)
      return {Reply::kBadClass, false};
    classes.verdict = Reply::kOk;
    classes.ours = classes.ours || id == kOurClass;
  }
  return classes;
}

CommandResult Dump(KeyDumpForm form, std::string_view list, bool replies_pending,
                   store::Store& store, const SettingsReport& settings) {
  const bool metadump = form == KeyDumpForm::kMetadump;
  if (!settings.lru_crawler) return Reply::kCrawlerDisabled;
  if (!settings.dump_enabled)
    return metadump ? Reply::kMetadumpNotAllowed : Reply::kMgdumpNotAllowed;
  if (replies_pending) return metadump ? Reply::kMetadumpPipelined : Reply::kMgdumpPipelined;
  const Classes classes = ParseClasses(list, true);
  if (classes.verdict != Reply::kOk) return classes.verdict;
  return CommandResult(NewKeyDump(store, form, classes.ours));
}

CommandResult Crawl(std::string_view list, store::Store& store, const SettingsReport& settings) {
  if (!settings.lru_crawler) return Reply::kCrawlerDisabled;
  const Classes classes = ParseClasses(list, false);
  if (classes.verdict == Reply::kOk && classes.ours) store.RequestSweep();
  return classes.verdict;
}

Reply Sleep(std::string_view argument, ServerContext& context) {
  std::uint32_t us = 0;
  if (!protocol::ParseUnsigned32(argument, us)) return Reply::kBadFormat;
  if (us > kMaxSleepUs) return Reply::kCrawlerSleepTooLong;
  context.UpdateSettings([us](SettingsReport& settings) { settings.lru_crawler_sleep = us; });
  return Reply::kOk;
}

Reply ToCrawl(std::string_view argument, ServerContext& context) {
  std::uint32_t items = 0;
  if (!protocol::ParseUnsigned32(argument, items)) return Reply::kBadFormat;
  context.UpdateSettings(
      [items](SettingsReport& settings) { settings.lru_crawler_tocrawl = items; });
  return Reply::kOk;
}

}  // namespace

CommandResult LruCrawler(std::string_view arguments, bool replies_pending, store::Store& store,
                         ServerContext& context) {
  const std::string_view what = protocol::TakeToken(arguments);
  const std::string_view argument = protocol::TakeToken(arguments);
  // memcached counts: one more token, as noreply would be, is one too many.
  if (!protocol::TakeToken(arguments).empty()) return Reply::kError;
  if (argument.empty()) {
    const bool enable = StandsFor(what, "enable");
    if (!enable && !StandsFor(what, "disable")) return Reply::kError;
    context.UpdateSettings([enable](SettingsReport& settings) { settings.lru_crawler = enable; });
    return Reply::kOk;
  }
  if (StandsFor(what, "crawl")) return Crawl(argument, store, context.Settings());
  const bool metadump = StandsFor(what, "metadump");
  if (metadump || StandsFor(what, "mgdump")) {
    return Dump(metadump ? KeyDumpForm::kMetadump : KeyDumpForm::kMgdump, argument, replies_pending,
                store, context.Settings());
  }
  if (StandsFor(what, "tocrawl")) return ToCrawl(argument, context);
  if (StandsFor(what, "sleep")) return Sleep(argument, context);
  return Reply::kError;
}

}  // namespace podcache::command
