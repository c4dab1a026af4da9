#include "row_linker.h"

#include <algorithm>

namespace quiver {

namespace {

// The lists of one level of a graph that is being built.
class GrowingLists {
 public:
  GrowingLists(faiss::HNSW& hnsw, int level)
      : hnsw_(hnsw), first_(size_t(hnsw.cum_nb_neighbors(level))), degree_(size_t(hnsw.nb_neighbors(level))) {}
  size_t degree() const { return degree_; }
  int32_t* of(uint32_t row) const { return &hnsw_.neighbors[hnsw_.offsets[row] + first_]; }
  void prefetch(uint32_t row) const { prefetch_list(of(row), degree_ * sizeof(int32_t)); }
  int32_t* edit(uint32_t row, int32_t*) const { return of(row); }
  void commit(uint32_t, const int32_t*) const {}

 private:
  faiss::HNSW& hnsw_;
  size_t first_;
  size_t degree_;
};

}  // namespace

RowLinker::RowLinker(const Codes& codes, GrowingGraph& graph, const NearLimits& limits)
    : graph_(graph),
      limits_(limits),
      query_(codes),
      scorer_(codes, query_),
      near_rows_(codes, query_),
      writer_(codes, graph.list_locks) {}

void RowLinker::link(uint32_t row) {
  faiss::HNSW& hnsw = graph_.hnsw;
  const int row_level = hnsw.levels[row] - 1;
  int entry, level;
  {
    std::lock_guard<std::mutex> guard(graph_.entry_lock);
    entry = hnsw.entry_point;
    level = hnsw.max_level;
    if (entry < 0) {
      hnsw.max_level = row_level;
      hnsw.entry_point = int32_t(row);
      return;
    }
  }
  query_.set(row);
  scorer_.near_rows[0] = uint32_t(entry);
  scorer_.score(1);
  PoolEntry nearest{scorer_.keys[0], uint32_t(entry)};
  for (; level > row_level; level--) nearest = descend(nearest, level);
  for (; level >= 0; level--) link_at(row, nearest, level);
  // Only now, so that nobody starts at a row without links.
  std::lock_guard<std::mutex> guard(graph_.entry_lock);
  if (row_level > hnsw.max_level) {
    hnsw.max_level = row_level;
    hnsw.entry_point = int32_t(row);
  }
}

PoolEntry RowLinker::descend(PoolEntry from, int level) {
  const GrowingLists lists(graph_.hnsw, level);
  for (;;) {
    const int32_t* list = lists.of(from.row());
    size_t count = 0;
    for (int32_t link; count < lists.degree() && (link = load_link(list[count])) >= 0; count++) {
      scorer_.near_rows[count] = uint32_t(link);
    }
    scorer_.score(count);
    const PoolEntry before = from;
    for (size_t j = 0; j < count; j++) {
      if (scorer_.keys[j] > from.key) from = {scorer_.keys[j], scorer_.near_rows[j]};
    }
    if (from.marked_row == before.marked_row) return from;
  }
}

void RowLinker::link_at(uint32_t row, PoolEntry start, int level) {
  const GrowingLists lists(graph_.hnsw, level);
  near_rows_.find(lists, graph_.hnsw.levels.size(), {start}, limits_, row, found_);
  writer_.choose(found_, lists.degree());
  // Farthest first, as FAISS does. The row may have links already, from rows that found it on a level above.
  std::reverse(found_.begin(), found_.end());
  for (const PoolEntry& entry : found_) writer_.add(lists, row, entry.row());
  for (const PoolEntry& entry : found_) writer_.add(lists, entry.row(), row);
}

}  // namespace quiver
