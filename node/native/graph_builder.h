#pragma once

#include <cstddef>
#include <memory>

#include "graph.h"
#include "row_store.h"
#include "stop_flag.h"

namespace quiver {

/**
 * A graph over rows 0 … `rows` − 1, made in the tables of faiss::HNSW over the int8 codes. Copies the links of `base`
 * (may be null) unless it has another shape than graphs built now, and adds the missing rows with `threads` threads of
 * low priority. Rows that are dead by then get no links. Throws ClosedError when `stop` is raised, within a few
 * milliseconds.
 */
std::shared_ptr<const Graph> extend_graph(const RowStore& store, const Graph* base, size_t rows, unsigned threads,
                                          const StopFlag& stop);

}  // namespace quiver
