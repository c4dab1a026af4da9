#include "build_codes.h"

#include <algorithm>
#include <atomic>

#include "errors.h"
#include "threads.h"

namespace quiver {

namespace {

// Rows that a thread encodes at a time.
constexpr size_t kEncodedRows = 1024;

}  // namespace

BuildCodes::BuildCodes(std::shared_ptr<const RowStore> store) : store_(std::move(store)) {
  if (store_->codes().quantization == Quantization::kInt8) return;
  copy_ = std::make_unique<Codes>(store_->metric, Quantization::kInt8, store_->dim, store_->kernels);
}

const Codes& BuildCodes::of(size_t rows, unsigned threads, const StopFlag& stop) {
  if (copy_ == nullptr) return store_->codes();
  if (rows <= rows_) return *copy_;
  copy_->reserve(rows);
  std::atomic<size_t> next{rows_};
  run_in_background_threads(threads, [&](unsigned) {
    for (size_t first = next.fetch_add(kEncodedRows); first < rows; first = next.fetch_add(kEncodedRows)) {
      if (stop.load(std::memory_order_relaxed)) throw ClosedError();
      const size_t end = std::min(first + kEncodedRows, rows);
      for (size_t row = first; row < end; row++) copy_->encode(row, store_->original(row));
    }
  });
  store_->require_sound();
  rows_ = rows;
  return *copy_;
}

}  // namespace quiver
