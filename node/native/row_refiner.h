#pragma once

#include <cstddef>
#include <cstdint>

#include "graph.h"
#include "link_lists.h"
#include "row_query.h"
#include "row_store.h"
#include "walk.h"

namespace quiver {

/**
 * Chooses the bottom links of rows anew, in place, while the graph is walked: it finds what is near a row in the whole
 * graph, where the row was linked when the graph was smaller and with less effort. As the second pass of Vamana
 * (DiskANN, NeurIPS 2019), with HNSW's heuristic. One per thread.
 */
class RowRefiner {
 public:
  // `effort`: how many near rows are found to choose links from.
  RowRefiner(const Codes& codes, Graph& graph, ListLocks& locks, size_t effort);

  void refine(uint32_t row);

 private:
  // To what was found.
  template <class Lists>
  void link(const Lists& lists, uint32_t row);

  Graph& graph_;
  const size_t effort_;
  RowQuery query_;
  Scorer<RowQuery> scorer_;
  LinkWriter writer_;
  Links found_;
};

}  // namespace quiver
