#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "row_query.h"
#include "rows/row_store.h"
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
 * HNSW's heuristic: of a row's candidates, nearest first and with keys to the row, keeps those that are nearer to the
 * row than to any that was kept before, at most `links_max`. As in FAISS, it only chooses if there are as many as the
 * list holds.
 */
void choose_links(const Codes& codes, Links& candidates, size_t links_max);

/**
 * Writes lists of links, with choose_links for which are kept, by int8 codes. One per thread. `Lists`: `degree()`,
 * `edit(row, buffer)`, which answers the row's list, or a copy of it in the buffer, to be written; and
 * `commit(row, list)`.
 */
class LinkWriter {
 public:
  LinkWriter(const Codes& codes, ListLocks& locks)
      : codes_(codes), locks_(locks), query_(codes), scorer_(codes, query_) {}

  void choose(Links& candidates, size_t links_max) const { choose_links(codes_, candidates, links_max); }
  // Chooses the list of `row` anew, among the candidates (nearest first) and the links that it has. Leaves in
  // `candidates` what was chosen.
  template <class Lists>
  void renew(const Lists& lists, uint32_t row, Links& candidates) {
    std::lock_guard<std::mutex> guard(locks_.of(row));
    int32_t buffer[kDegreeMax];
    int32_t* list = lists.edit(row, buffer);
    renew_list(list, lists.degree(), row, candidates);
    lists.commit(row, list);
  }
  // Adds a link to the list of `from`; chooses anew when the list is full.
  template <class Lists>
  void add(const Lists& lists, uint32_t from, uint32_t to) {
    std::lock_guard<std::mutex> guard(locks_.of(from));
    int32_t buffer[kDegreeMax];
    int32_t* list = lists.edit(from, buffer);
    add_to_list(list, lists.degree(), from, to);
    lists.commit(from, list);
  }

 private:
  void renew_list(int32_t* list, size_t degree, uint32_t row, Links& candidates);
  void add_to_list(int32_t* list, size_t degree, uint32_t from, uint32_t to);
  // Scores the links of `row`, with its lock held; answers how many there are.
  size_t score(const int32_t* list, size_t degree, uint32_t row);

  const Codes& codes_;
  ListLocks& locks_;
  RowQuery query_;
  Scorer<RowQuery> scorer_;
  Links links_;
};

}  // namespace quiver
