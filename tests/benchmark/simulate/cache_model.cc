#include "tests/benchmark/simulate/cache_model.h"

#include "tests/benchmark/load/client_socket.h"
#include "tests/benchmark/simulate/reference_models.h"
#include "tests/benchmark/simulate/segment_model.h"

namespace podcache::bench {
namespace {

struct Model {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<CacheModel> (*make)(const ModelPlan&);
};

std::unique_ptr<CacheModel> NewFifoSegments(const ModelPlan& plan) {
  ModelPlan fifo = plan;
  fifo.small_share = 0;
  fifo.kept_percent = 0;
  fifo.ghost_ways = 0;
  return NewSegmentModel(fifo);
}

std::unique_ptr<CacheModel> NewSecondChanceSegments(const ModelPlan& plan) {
  ModelPlan second = plan;
  second.small_share = 0;
  second.ghost_ways = 0;
  second.reset = true;
  return NewSegmentModel(second);
}

constexpr Model kModels[] = {
    {"lru", "least recently used, item by item", NewLruModel},
    {"fifo", "in the order they came, item by item", NewFifoModel},
    {"s3fifo", "S3-FIFO, item by item, with exact ghosts", NewS3FifoModel},
    {"segments", "S3-FIFO over the store's segments", NewSegmentModel},
    {"segments-fifo", "one queue of segments, nothing is kept", NewFifoSegments},
    {"segments-second", "one queue of segments, used items go round again",
     NewSecondChanceSegments},
};

}  // namespace

void CacheModel::Get(std::span<const TraceRequest> requests, std::vector<bool>& found) {
  found.assign(requests.size(), false);
  for (std::size_t i = 0; i < requests.size(); ++i) found[i] = Use(requests[i]);
}

void CacheModel::Change(std::span<const TraceRequest> requests) {
  for (const TraceRequest& request : requests) {
    if (request.verb == TraceVerb::kDelete) {
      Remove(request.key);
    } else {
      Store(request);
    }
  }
}

std::string ModelHelp() {
  std::string text = "Models:\n";
  for (const Model& model : kModels) {
    std::string name(model.name);
    name.resize(16, ' ');
    text += "  " + name + std::string(model.help) + "\n";
  }
  return text;
}

std::unique_ptr<CacheModel> NewModel(std::string_view name, const ModelPlan& plan) {
  for (const Model& model : kModels) {
    if (model.name == name) return model.make(plan);
  }
  throw Failure("no model is called " + std::string(name));
}

}  // namespace podcache::bench
