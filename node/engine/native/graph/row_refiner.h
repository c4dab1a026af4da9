#pragma once

#include <cstddef>
#include <cstdint>

#include "graph.h"
#include "link_lists.h"
#include "near_rows.h"
#include "row_query.h"
#include "rows/row_store.h"
#include "walk.h"

namespace quiver {

/**
 * Chooses the bottom links of rows anew, in place, while the graph is walked: it finds what is near a row in the whole
 * graph, where the row was linked when the graph was smaller and with less effort. As the second pass of Vamana
 * (DiskANN, NeurIPS 2019), with HNSW's heuristic. One per thread.
 */
class RowRefiner {
 public:
  // `limits`: of the near rows to choose links from.
  RowRefiner(const Codes& codes, Graph& graph, ListLocks& locks, const NearLimits& limits);

  void refine(uint32_t row);

 private:
  // To what was found.
  template <class Lists>
  void link(const Lists& lists, uint32_t row);

  Graph& graph_;
  const NearLimits limits_;
  RowQuery query_;
  Scorer<RowQuery> scorer_;
  NearRows near_rows_;
  LinkWriter writer_;
  Links found_;
};

}  // namespace quiver
