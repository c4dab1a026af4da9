#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "search/search.h"
#include "stop_flag.h"

namespace quiver {

/**
 * Makes of a store on the disk one whose rows lie in the order of their cells (cells.h), in the background, while the
 * old one is searched and rows are removed from it; none may be put. First `run` on a thread of its own, then `finish`
 * on JavaScript's thread. Rows that are near each other are then on the same pages of both files, so a search reads
 * few. Rows are compared as they are copied (compaction.h).
 */
class SegmentSealing {
 public:
  /// `path`: the new originals file.
  SegmentSealing(std::shared_ptr<RowStore> from, const std::string& path);

  void run(double recall_target, unsigned threads, const StopFlag& stop);
  // Rows that were removed meanwhile die here, too.
  Snapshot finish();

 private:
  // Rows `first` … `end` − 1 of the new store.
  void copy(size_t first, size_t end, const StopFlag& stop);

  std::shared_ptr<RowStore> from_;
  std::shared_ptr<RowStore> to_;
  std::shared_ptr<Cells> cells_;
  // By new row: the old row.
  std::vector<uint32_t> order_;
};

}  // namespace quiver
