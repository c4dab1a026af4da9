#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codes/build_codes.h"
#include "search/search.h"
#include "stop_flag.h"

namespace quiver {

/**
 * Makes a new row store and graph from the live rows of an old one, in the background, while the old one is searched
 * and changed. First `copy` on a thread of its own, then `finish` on JavaScript's thread, which transfers the last
 * changes and returns the result. The new originals are in a file of their own. Rows are compared as they are copied:
 * the copy gets checksums of its own, so what has changed on the disk would pass for sound from then on, also at a
 * start.
 */
class Compaction {
 public:
  /// `path`: the new originals file.
  Compaction(std::shared_ptr<RowStore> from, const std::string& path);

  // Copies the live rows, builds a graph quickly if there are at least `graph_rows_min`, and catches up with later
  // puts.
  void copy(size_t graph_rows_min, unsigned threads, const StopFlag& stop);
  // Transfers later changes: few rows, so that the event loop hardly waits.
  Snapshot finish();

 private:
  void copy_rows(size_t end, const StopFlag& stop);

  std::shared_ptr<RowStore> from_;
  std::shared_ptr<RowStore> to_;
  BuildCodes build_codes_;
  std::shared_ptr<const Graph> graph_;
  // By new row: the old row.
  std::vector<uint32_t> old_rows_;
  // Old rows below this were copied if they were live.
  size_t next_ = 0;
};

}  // namespace quiver
