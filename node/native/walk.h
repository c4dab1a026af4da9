#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "graph.h"
#include "query.h"
#include "row_store.h"

namespace quiver {

// A pool entry of a walk: an approximate key, and a row with two marks.
struct PoolEntry {
  static constexpr uint32_t kExpanded = uint32_t(1) << 31;
  // A row that only leads to others, because it is dead or not allowed.
  static constexpr uint32_t kPassage = uint32_t(1) << 30;

  float key;
  uint32_t marked_row;

  uint32_t row() const { return marked_row & (kPassage - 1); }
  bool expanded() const { return (marked_row & kExpanded) != 0; }
  bool passage() const { return (marked_row & kPassage) != 0; }
};

/**
 * What a walk needs per thread, kept between walks. `visited` holds the number of the last walk that saw each row, so
 * that it need not be cleared; it is as long as the largest graph that the thread has walked.
 */
struct WalkScratch {
  std::vector<uint16_t> visited;
  uint16_t walk_number = 0;
  std::vector<PoolEntry> pool;

  // That of the calling thread.
  static WalkScratch& of_this_thread();
  // Begins a walk over `rows` rows with a pool of `entries`; returns the walk's number.
  uint16_t begin(size_t rows, size_t entries);
};

struct WalkLimits {
  // The walk ends when the best `wanted` eligible rows that it has seen are expanded (HNSW's ef, counted in eligible
  // rows).
  size_t wanted;
  // Most rows that the pool may hold, including rows that only lead to others: bounds the walk when eligible rows are
  // rare.
  size_t pool;
  // A row that the walk treats as if it were not in the graph; kNoRow for none.
  uint32_t excluded;
};

struct WalkResult {
  /// Entries in scratch.pool, best first.
  size_t entries;
  size_t eligible;
  /// Rows scored.
  size_t scored;
};

// Most links per list that the walk has room for.
constexpr size_t kDegreeMax = 64;

/**
 * Scores rows by their codes against a query. `Query`: `code()`, and `key(product, meta)`, which is larger for nearer
 * rows.
 */
template <class Query>
class Scorer {
 public:
  Scorer(const RowStore& rows, const Query& query) : rows_(rows), query_(query) {}

  // The rows to score, and their keys.
  uint32_t near_rows[kDegreeMax];
  float keys[kDegreeMax];
  size_t scored = 0;

  void score(size_t count) {
    for (size_t j = 0; j < count; j++) {
      codes_[j] = rows_.code(near_rows[j]);
      __builtin_prefetch(&rows_.meta(near_rows[j]));
    }
    rows_.kernels.dot_codes(codes_, count, query_.code(), rows_.padded, products_);
    for (size_t j = 0; j < count; j++) keys[j] = query_.key(products_[j], rows_.meta(near_rows[j]));
    scored += count;
  }

 private:
  const RowStore& rows_;
  const Query& query_;
  const uint8_t* codes_[kDegreeMax];
  int32_t products_[kDegreeMax];
};

/**
 * Best-first search from one row over the links of one level, by approximate keys. It uses one sorted pool instead of
 * HNSW's two heaps, and prefetches links and codes. `lists.of(row)` are the row's links, at most `lists.degree()`; the
 * first −1 ends them. They may be written meanwhile, a link at a time. `eligible(row)` says whether a row may be an
 * answer; the walk passes through the others. The entries are left in `scratch.pool`.
 */
template <class Lists, class Query, class Eligible>
WalkResult walk_level(const Lists& lists, size_t rows, PoolEntry start, Scorer<Query>& scorer, const Eligible& eligible,
                      const WalkLimits& limits, WalkScratch& scratch) {
  const size_t degree = lists.degree();
  const uint16_t number = scratch.begin(rows, limits.pool + 1);
  uint16_t* visited = scratch.visited.data();
  PoolEntry* pool = scratch.pool.data();
  if (limits.excluded != kNoRow) visited[limits.excluded] = number;
  size_t size = 0, passages = 0, first = 0;
  const uint32_t start_row = start.row();
  visited[start_row] = number;
  const bool starts_at_passage = start_row == limits.excluded || !eligible(start_row);
  pool[size++] = {start.key, start_row | (starts_at_passage ? PoolEntry::kPassage : 0)};
  passages += starts_at_passage;

  while (first < size) {
    if (pool[first].expanded()) {
      first++;
      continue;
    }
    const int32_t* list = lists.of(pool[first].row());
    pool[first].marked_row |= PoolEntry::kExpanded;
    size_t count = 0;
    for (size_t j = 0; j < degree; j++) {
      const int32_t link = __atomic_load_n(&list[j], __ATOMIC_RELAXED);
      if (link < 0) break;
      // Without a branch: which rows were seen already can't be predicted.
      scorer.near_rows[count] = uint32_t(link);
      count += visited[link] != number;
      visited[link] = number;
    }
    scorer.score(count);
    size_t lowest = size;
    for (size_t j = 0; j < count; j++) {
      const float key = scorer.keys[j];
      const bool full = size - passages >= limits.wanted || size >= limits.pool;
      if (full && !(key > pool[size - 1].key)) continue;
      const bool is_passage = !eligible(scorer.near_rows[j]);
      size_t low = 0, high = size;
      while (low < high) {
        const size_t middle = (low + high) / 2;
        if (pool[middle].key >= key) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      std::memmove(&pool[low + 1], &pool[low], (size - low) * sizeof(PoolEntry));
      pool[low] = {key, scorer.near_rows[j] | (is_passage ? PoolEntry::kPassage : 0)};
      size++;
      passages += is_passage;
      if (low < lowest) lowest = low;
      while (size > limits.pool || size - passages > limits.wanted ||
             (size - passages == limits.wanted && pool[size - 1].passage())) {
        size--;
        passages -= pool[size].passage();
      }
    }
    if (lowest <= first) first = lowest;
    size_t next = first;
    while (next < size && pool[next].expanded()) next++;
    if (next < size) {
      const char* links = reinterpret_cast<const char*>(lists.of(pool[next].row()));
      for (size_t byte = 0; byte < degree * sizeof(int32_t); byte += 64) __builtin_prefetch(links + byte);
    }
  }
  return {size, size - passages, scorer.scored};
}

// The bottom lists of a graph.
struct BottomLists {
  const Graph& graph;
  size_t degree() const { return graph.degree(); }
  const int32_t* of(uint32_t row) const { return graph.links(row); }
};

/// Greedy descent through the graph's upper levels, then `walk_level` at the bottom.
template <class Eligible>
WalkResult walk(const RowStore& rows, const Graph& graph, const Query& query, const Eligible& eligible,
                const WalkLimits& limits, WalkScratch& scratch) {
  if (graph.entry_row < 0) return {0, 0, 0};
  Scorer<Query> scorer(rows, query);
  scorer.near_rows[0] = uint32_t(graph.entry_row);
  scorer.score(1);
  PoolEntry current{scorer.keys[0], scorer.near_rows[0]};
  int32_t node = graph.entry_node;
  for (int32_t level = graph.top_level; level > 0 && node >= 0;) {
    const int32_t* list = graph.upper_list(size_t(node), size_t(level));
    size_t count = 0;
    for (; count < graph.upper_degree() && list[count] >= 0; count++) {
      scorer.near_rows[count] = graph.upper[size_t(list[count])].row;
    }
    scorer.score(count);
    int32_t better = -1;
    for (size_t j = 0; j < count; j++) {
      if (scorer.keys[j] > current.key) {
        current = {scorer.keys[j], scorer.near_rows[j]};
        better = list[j];
      }
    }
    if (better < 0) {
      level--;
    } else {
      node = better;
    }
  }
  return walk_level(BottomLists{graph}, graph.rows(), current, scorer, eligible, limits, scratch);
}

}  // namespace quiver
