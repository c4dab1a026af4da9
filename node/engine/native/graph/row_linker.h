#pragma once

#include <faiss/impl/HNSW.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "link_lists.h"
#include "near_rows.h"
#include "row_query.h"
#include "rows/row_store.h"
#include "walk.h"

namespace quiver {

/// The graph that RowLinkers fill together, one a thread, and the locks that they share.
struct GrowingGraph {
  // FAISS's tables; levels are drawn and lists are there, empty.
  faiss::HNSW hnsw;
  ListLocks list_locks;
  // Guards the entry point and the top level.
  std::mutex entry_lock;

  explicit GrowingGraph(int links) : hnsw(links) {}
};

/**
 * Adds rows to a graph as faiss::HNSW::add_with_locks does, but finds what is near a row with NearRows: FAISS asks for
 * one distance after the other, through a virtual call. Distances are those of int8 codes. One per thread; rows of a
 * level must be added before those of lower levels.
 */
class RowLinker {
 public:
  // `limits`: of the near rows to choose links from; HNSW's efConstruction.
  RowLinker(const Codes& codes, GrowingGraph& graph, const NearLimits& limits);

  void link(uint32_t row);

 private:
  PoolEntry descend(PoolEntry from, int level);
  void link_at(uint32_t row, PoolEntry start, int level);

  GrowingGraph& graph_;
  const NearLimits limits_;
  RowQuery query_;
  Scorer<RowQuery> scorer_;
  NearRows near_rows_;
  LinkWriter writer_;
  Links found_;
};

}  // namespace quiver
