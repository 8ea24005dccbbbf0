#include "tests/benchmark/load/batch.h"

#include <utility>

namespace podcache::bench {

BatchTemplate::BatchTemplate(const Items& items, std::vector<RequestShape> requests,
                             std::size_t value_bytes)
    : items_(items), requests_(std::move(requests)), value_bytes_(value_bytes) {
  for (const RequestShape& request : requests_) {
    if (request.verb == Verb::kGet) {
      AppendGet(request.keys);
    } else {
      AppendSet();
    }
  }
  item_numbers_.resize(slots_.size());
}

void BatchTemplate::AppendKey() {
  bytes_ += items_.FirstKey();
  slots_.push_back({bytes_.size() - Items::kDigits, 0});
}

void BatchTemplate::AppendGet(std::uint32_t keys) {
  bytes_ += "get";
  for (std::uint32_t i = 0; i < keys; ++i) {
    bytes_ += ' ';
    AppendKey();
  }
  bytes_ += "\r\n";
}

void BatchTemplate::AppendSet() {
  bytes_ += "set ";
  AppendKey();
  bytes_ += " 0 0 " + std::to_string(value_bytes_) + "\r\n";
  slots_.back().value = bytes_.size();
  bytes_.append(value_bytes_, 'v');
  bytes_ += "\r\n";
}

}  // namespace podcache::bench
