#pragma once

#include <cstddef>
#include <memory>

#include "graph.h"
#include "row_linker.h"
#include "rows/row_store.h"
#include "stop_flag.h"

namespace quiver {

/// How rows are linked: quickly, to be refined later (`refine_graph`), or with care.
enum class Care { kQuick, kThorough };

/**
 * A graph that grows step by step, in the tables of faiss::HNSW over the int8 codes, which are kept from one step to
 * the next. One thread at a time.
 */
class GraphGrowth {
 public:
  // Begins with the links of `base` (may be null), unless it has another shape than graphs built now.
  // `compact`: the graphs that it makes have narrow links.
  GraphGrowth(std::shared_ptr<const Graph> base, bool compact);

  // Whether the graph is as this one, and the next step may start here.
  bool continues(const std::shared_ptr<const Graph>& graph) const { return graph == newest_; }
  /**
   * Adds the rows that are missing below `rows`, if any, with `threads` threads of low priority, and answers a copy of
   * the graph. `codes` are int8 codes of the rows. Rows that are dead by then get no links. Throws ClosedError when
   * `stop` is raised, within a few milliseconds; after an error the growth is of no more use.
   */
  std::shared_ptr<const Graph> extend(const RowStore& store, const Codes& codes, size_t rows, Care care,
                                      unsigned threads, const StopFlag& stop);
  size_t memory_bytes() const;

 private:
  const bool compact_;
  GrowingGraph growing_;
  // What the tables were copied from or to last.
  std::shared_ptr<const Graph> newest_;
};

/**
 * By int8 codes, refines rows `first` … `end` − 1 of the graph in place, while it is walked, with `threads` threads of
 * low priority. Throws ClosedError when `stop` is raised; the graph is then as good as before.
 */
void refine_graph(const RowStore& store, const Codes& codes, Graph& graph, size_t first, size_t end, unsigned threads,
                  const StopFlag& stop);

}  // namespace quiver
