#pragma once

#include <faiss/impl/HNSW.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "row_store.h"
#include "walk.h"

namespace quiver {

/// A stored row as the query of a walk.
class RowQuery {
 public:
  explicit RowQuery(const RowStore& rows) : rows_(rows), code_(rows.padded) {}

  void set(uint32_t row);
  const int8_t* code() const { return code_.data(); }
  // The negative distance: of cosines or products the product itself, of l2 half the square distance.
  float key(int32_t product, const RowMeta& meta) const {
    const float dot = meta_.scale * meta.scale * float(product - offset_);
    return rows_.metric == Metric::kL2 ? dot - meta.norm - meta_.norm : dot;
  }

 private:
  const RowStore& rows_;
  std::vector<int8_t> code_;
  int32_t offset_ = 0;
  RowMeta meta_{};
};

/**
 * HNSW's heuristic: keeps those of a row's candidates, nearest first and with keys to the row, that are nearer to the row
 * than to any that was chosen. As in FAISS, it only chooses if there are as many as the list holds.
 */
void choose_links(const RowStore& rows, std::vector<PoolEntry>& candidates, size_t links_max);

// Locks for the lists of all rows: many more than threads, so that these hardly ever wait for each other.
constexpr size_t kListLocks = 1024;

/// The graph that RowLinkers fill together, one a thread, and the locks that they share.
struct GrowingGraph {
  // FAISS's tables; levels are drawn and lists are there, empty.
  faiss::HNSW hnsw;
  // A list is written under the lock of its row, and read without one. A lock serves many rows; nobody holds two.
  std::mutex list_locks[kListLocks];
  // Guards the entry point and the top level.
  std::mutex entry_lock;

  explicit GrowingGraph(int links) : hnsw(links) {}
  std::mutex& lock_of(int32_t row) { return list_locks[size_t(row) % kListLocks]; }
};

/**
 * Adds rows to a graph as faiss::HNSW::add_with_locks does: with one thread, the links are the same, but for ties. It
 * takes half to seven tenths of the time, because it scores the links of a row together, and prefetches; FAISS asks for
 * one distance after the other. Distances are those of the int8 codes. One per thread; rows of a level must be added
 * before those of lower levels.
 */
class RowLinker {
 public:
  // `effort`: HNSW's efConstruction, how many near rows are found to choose links from.
  RowLinker(const RowStore& rows, GrowingGraph& graph, size_t effort);

  void link(uint32_t row);

 private:
  using Links = std::vector<PoolEntry>;

  PoolEntry descend(PoolEntry from, int level);
  void link_at(uint32_t row, PoolEntry start, int level);
  void add_link(int32_t from, int32_t to, int level);

  const RowStore& rows_;
  GrowingGraph& graph_;
  const size_t effort_;
  RowQuery query_;
  Scorer<RowQuery> scorer_;
  // For the rows whose lists overflow.
  RowQuery other_query_;
  Scorer<RowQuery> other_scorer_;
  Links found_;
  Links others_;
};

}  // namespace quiver
