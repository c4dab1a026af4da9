#include "compaction.h"

#include <algorithm>
#include <utility>

#include "errors.h"
#include "graph/graph_builder.h"

namespace quiver {

namespace {

// Rows per append.
constexpr size_t kBatchRows = 1024;
// Rows that may be left for `finish`: some ten milliseconds of copying at worst.
constexpr size_t kLeftMax = 2000;

}  // namespace

Compaction::Compaction(std::shared_ptr<RowStore> from, const std::string& path)
    : from_(std::move(from)), to_(std::make_shared<RowStore>(from_->kind(), path, 0)), build_codes_(to_) {}

void Compaction::copy_rows(size_t end, const StopFlag& stop) {
  std::vector<uint32_t> slots;
  std::vector<float> vectors;
  while (next_ < end) {
    if (stop.load(std::memory_order_relaxed)) throw ClosedError();
    slots.clear();
    vectors.clear();
    for (; next_ < end && slots.size() < kBatchRows; next_++) {
      if (from_->dead(next_)) continue;
      slots.push_back(from_->slot(next_));
      vectors.insert(vectors.end(), from_->original(next_), from_->original(next_) + from_->dim);
      from_->originals().require_match(next_, &vectors[vectors.size() - from_->dim]);
      old_rows_.push_back(uint32_t(next_));
    }
    from_->require_sound();
    to_->append(slots.data(), vectors.data(), slots.size());
  }
}

void Compaction::copy(size_t graph_rows_min, unsigned threads, const StopFlag& stop) {
  copy_rows(from_->count(), stop);
  if (to_->count() >= graph_rows_min) {
    // To be refined later: until this graph is there, later rows are scanned.
    const Codes& codes = build_codes_.of(to_->count(), threads, stop);
    graph_ = GraphGrowth(nullptr, to_->kind().has_compact_links())
                 .extend(*to_, codes, to_->count(), Care::kQuick, threads, stop);
  }
  while (from_->count() - next_ > kLeftMax) copy_rows(from_->count(), stop);
}

Snapshot Compaction::finish() {
  const StopFlag never{false};
  copy_rows(from_->count(), never);
  for (size_t row = 0; row < old_rows_.size(); row++) {
    if (!from_->dead(old_rows_[row]) || to_->dead(row)) continue;
    const uint32_t slot = to_->slot(row);
    to_->remove(&slot, 1);
  }
  return {to_, graph_, Effort::guess(), nullptr};
}

}  // namespace quiver
