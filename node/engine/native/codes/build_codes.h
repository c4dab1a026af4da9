#pragma once

#include <cstddef>
#include <memory>

#include "codes.h"
#include "rows/row_store.h"
#include "stop_flag.h"

namespace quiver {

/**
 * The int8 codes by which a graph is built, refined and measured: links that were chosen by rougher codes would lead
 * nowhere. They are the store's own, or a copy beside them, made from the originals and kept as long as there is
 * something to build. Rows never change, so the copy only grows. One thread at a time.
 */
class BuildCodes {
 public:
  explicit BuildCodes(std::shared_ptr<const RowStore> store);

  bool is_of(const std::shared_ptr<RowStore>& store) const { return store_ == store; }
  // The codes of rows 0 … rows − 1, which are made first if they are missing. Throws ClosedError when `stop` is raised;
  // StorageError.
  const Codes& of(size_t rows, unsigned threads, const StopFlag& stop);
  // Of the copy.
  size_t memory_bytes() const { return copy_ == nullptr ? 0 : copy_->memory_bytes(rows_); }

 private:
  std::shared_ptr<const RowStore> store_;
  // Null: the store's own are int8 codes.
  std::unique_ptr<Codes> copy_;
  size_t rows_ = 0;
};

}  // namespace quiver
