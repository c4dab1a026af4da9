#include "segment_sealing.h"

#include <algorithm>

#include "build_codes.h"
#include "errors.h"

namespace quiver {

namespace {

// Rows per append.
constexpr size_t kSealedRows = 1024;

}  // namespace

SegmentSealing::SegmentSealing(std::shared_ptr<RowStore> from, const std::string& path)
    : from_(std::move(from)), to_(std::make_shared<RowStore>(from_->kind(), path, 0)) {}

void SegmentSealing::run(double recall_target, unsigned threads, const StopFlag& stop) {
  {
    BuildCodes build_codes(from_);
    cells_ = Cells::of_rows(*from_, build_codes.of(from_->count(), threads, stop), threads, stop, order_);
  }
  from_->originals().expect_reads();
  std::vector<uint32_t> slots;
  std::vector<float> vectors;
  for (size_t first = 0; first < order_.size(); first += kSealedRows) {
    if (stop.load(std::memory_order_relaxed)) throw ClosedError();
    const size_t end = std::min(first + kSealedRows, order_.size());
    slots.clear();
    vectors.clear();
    for (size_t i = first; i < end; i++) {
      slots.push_back(from_->slot(order_[i]));
      vectors.insert(vectors.end(), from_->original(order_[i]), from_->original(order_[i]) + from_->dim);
    }
    from_->require_sound();
    to_->append(slots.data(), vectors.data(), slots.size());
  }
  to_->spill_all();
  BuildCodes build_codes(to_);
  cells_->begin_sorted(*to_, build_codes.of(to_->count(), threads, stop), recall_target, threads, stop);
  to_->require_sound();
}

Snapshot SegmentSealing::finish() {
  for (size_t row = 0; row < order_.size(); row++) {
    if (!from_->dead(order_[row])) continue;
    const uint32_t slot = to_->slot(row);
    to_->remove(&slot, 1);
  }
  return {to_, nullptr, Effort::guess(), cells_->count() == 0 ? nullptr : cells_};
}

}  // namespace quiver
