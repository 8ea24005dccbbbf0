#include "server/protocol/stat_form.h"

#include "server/protocol/binary_encoders.h"
#include "server/protocol/dump_lines.h"
#include "server/protocol/encoders.h"

namespace podcache::protocol {

void StatForm::Append(std::string_view name, std::uint64_t value, OutputBuffer& output) const {
  if (!request_) return AppendStat(name, value, output);
  AppendBinaryStat(*request_, name, NumberText(value).text(), output);
}

void StatForm::AppendItem(std::string_view key, std::uint64_t value_bytes, std::int64_t exptime,
                          OutputBuffer& output) const {
  if (!request_) return AppendCachedumpLine(key, value_bytes, exptime, output);
  AppendBinaryStat(*request_, key, CachedumpText(value_bytes, exptime), output);
}

void StatForm::AppendEnd(OutputBuffer& output) const {
  if (!request_) return AppendReply(Reply::kEnd, output);
  AppendBinaryOk(*request_, 0, output);
}

}  // namespace podcache::protocol
