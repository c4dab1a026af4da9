#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "row_query.h"
#include "row_store.h"
#include "walk.h"

namespace quiver {

// Locks for the lists of all rows: many more than threads, so that these hardly ever wait for each other.
constexpr size_t kListLocks = 1024;

/// A list is written under the lock of its row, and read without one. A lock serves many rows; nobody holds two.
class ListLocks {
 public:
  std::mutex& of(uint32_t row) { return locks_[row % kListLocks]; }

 private:
  std::mutex locks_[kListLocks];
};

// Rows with their keys, of one row.
using Links = std::vector<PoolEntry>;

inline int32_t load_link(const int32_t& link) { return __atomic_load_n(&link, __ATOMIC_RELAXED); }

// Others may read the list meanwhile, and need no particular order.
inline void store_link(int32_t& link, int32_t row) { __atomic_store_n(&link, row, __ATOMIC_RELAXED); }

inline bool nearer(const PoolEntry& a, const PoolEntry& b) { return a.key > b.key; }

/**
 * HNSW's heuristic: of a row's candidates, nearest first and with keys to the row, keeps those that are nearer to the row
 * than to any that was kept before, at most `links_max`. As in FAISS, it only chooses if there are as many as the list
 * holds.
 */
void choose_links(const RowStore& rows, Links& candidates, size_t links_max);

/// Writes lists of links, with choose_links for which are kept. One per thread.
class LinkWriter {
 public:
  LinkWriter(const RowStore& rows, ListLocks& locks) : rows_(rows), locks_(locks), query_(rows), scorer_(rows, query_) {}

  void choose(Links& candidates, size_t links_max) const { choose_links(rows_, candidates, links_max); }
  // Chooses the list of `row` anew, among the candidates (nearest first) and the links that it has. Leaves in
  // `candidates` what was chosen.
  void renew(int32_t* list, size_t degree, uint32_t row, Links& candidates);
  // Adds a link to the list of `from`; chooses anew when the list is full.
  void add(int32_t* list, size_t degree, uint32_t from, uint32_t to);

 private:
  // Scores the links of `row`, with its lock held; answers how many there are.
  size_t score(const int32_t* list, size_t degree, uint32_t row);

  const RowStore& rows_;
  ListLocks& locks_;
  RowQuery query_;
  Scorer<RowQuery> scorer_;
  Links links_;
};

}  // namespace quiver
