#include "segment_sealing.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "codes/build_codes.h"
#include "errors.h"

namespace quiver {

namespace {

// Rows per append, and rows that are read at a time.
constexpr size_t kSealedRows = 1024;
// Bytes of vectors that are gathered in memory. For each such part of the new file the old one is read from front to
// back: where memory is scarce, reading row by row would wait for the disk at each.
constexpr size_t kGatheredBytes = size_t(32) << 20;

}  // namespace

SegmentSealing::SegmentSealing(std::shared_ptr<RowStore> from, const std::string& path)
    : from_(std::move(from)), to_(std::make_shared<RowStore>(from_->kind(), path, 0)) {}

void SegmentSealing::run(double recall_target, unsigned threads, const StopFlag& stop) {
  {
    BuildCodes build_codes(from_);
    cells_ = Cells::of_rows(*from_, build_codes.of(from_->count(), threads, stop), threads, stop, order_);
  }
  const size_t gathered = std::max<size_t>(1, kGatheredBytes / (from_->dim * sizeof(float)));
  for (size_t first = 0; first < order_.size(); first += gathered)
    copy(first, std::min(first + gathered, order_.size()), stop);
  to_->spill_all();
  BuildCodes build_codes(to_);
  cells_->begin_sorted(*to_, build_codes.of(to_->count(), threads, stop), recall_target, threads, stop);
  to_->require_sound();
}

void SegmentSealing::copy(size_t first, size_t end, const StopFlag& stop) {
  const size_t dim = from_->dim, count = end - first,
               read_rows = std::max<size_t>(1, std::min(kSealedRows, kGatheredBytes / (dim * sizeof(float))));
  std::vector<uint32_t> places(count);
  std::iota(places.begin(), places.end(), uint32_t(0));
  std::sort(places.begin(), places.end(),
            [&](uint32_t a, uint32_t b) { return order_[first + a] < order_[first + b]; });
  std::vector<float> vectors(count * dim), read(read_rows * dim);
  for (size_t i = 0; i < count;) {
    if (stop.load(std::memory_order_relaxed)) throw ClosedError();
    const size_t row = order_[first + places[i]], last = std::min(row + read_rows, from_->count());
    from_->originals().read(row, last - row, read.data());
    for (; i < count && order_[first + places[i]] < last; i++) {
      float* const vector = &vectors[places[i] * dim];
      std::memcpy(vector, &read[(order_[first + places[i]] - row) * dim], dim * sizeof(float));
      from_->originals().require_match(order_[first + places[i]], vector);
    }
  }
  std::vector<uint32_t> slots;
  for (size_t done = 0; done < count; done += kSealedRows) {
    const size_t rows = std::min(kSealedRows, count - done);
    slots.clear();
    for (size_t i = 0; i < rows; i++) slots.push_back(from_->slot(order_[first + done + i]));
    to_->append(slots.data(), &vectors[done * dim], rows);
  }
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
