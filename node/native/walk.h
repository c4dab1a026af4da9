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
 * Best-first search over the graph's links by approximate keys. It uses one sorted pool instead of HNSW's two heaps,
 * and prefetches links and codes. `eligible(row)` says whether a row may be an answer; the walk passes through the
 * others. The entries are left in `scratch.pool`.
 */
template <class Eligible>
WalkResult walk(const RowStore& rows, const Graph& graph, const Query& query, const Eligible& eligible,
                const WalkLimits& limits, WalkScratch& scratch) {
  WalkResult result{0, 0, 0};
  if (graph.entry_row < 0) return result;
  const uint8_t* codes[kDegreeMax];
  int32_t products[kDegreeMax];
  uint32_t near_rows[kDegreeMax];
  float keys[kDegreeMax];
  const auto score_rows = [&](size_t count) {
    for (size_t j = 0; j < count; j++) {
      codes[j] = rows.code(near_rows[j]);
      __builtin_prefetch(&rows.meta(near_rows[j]));
    }
    rows.kernels.dot_codes(codes, count, query.code(), rows.padded, products);
    for (size_t j = 0; j < count; j++) keys[j] = query.key(products[j], rows.meta(near_rows[j]));
    result.scored += count;
  };

  near_rows[0] = uint32_t(graph.entry_row);
  score_rows(1);
  uint32_t current = near_rows[0];
  float current_key = keys[0];
  int32_t node = graph.entry_node;
  for (int32_t level = graph.top_level; level > 0 && node >= 0;) {
    const int32_t* list = graph.upper_list(size_t(node), size_t(level));
    size_t count = 0;
    for (; count < graph.upper_degree() && list[count] >= 0; count++) {
      near_rows[count] = graph.upper[size_t(list[count])].row;
    }
    score_rows(count);
    int32_t better = -1;
    for (size_t j = 0; j < count; j++) {
      if (keys[j] > current_key) {
        current_key = keys[j];
        current = near_rows[j];
        better = list[j];
      }
    }
    if (better < 0) {
      level--;
    } else {
      node = better;
    }
  }

  const uint16_t number = scratch.begin(graph.rows(), limits.pool + 1);
  uint16_t* visited = scratch.visited.data();
  PoolEntry* pool = scratch.pool.data();
  if (limits.excluded != kNoRow) visited[limits.excluded] = number;
  size_t size = 0, passages = 0, first = 0;
  visited[current] = number;
  const bool starts_at_passage = current == limits.excluded || !eligible(current);
  pool[size++] = {current_key, current | (starts_at_passage ? PoolEntry::kPassage : 0)};
  passages += starts_at_passage;

  while (first < size) {
    if (pool[first].expanded()) {
      first++;
      continue;
    }
    const int32_t* list = graph.links(pool[first].row());
    pool[first].marked_row |= PoolEntry::kExpanded;
    size_t count = 0;
    for (size_t j = 0; j < graph.degree() && list[j] >= 0; j++) {
      const uint32_t row = uint32_t(list[j]);
      if (visited[row] == number) continue;
      visited[row] = number;
      near_rows[count++] = row;
    }
    score_rows(count);
    size_t lowest = size;
    for (size_t j = 0; j < count; j++) {
      const bool full = size - passages >= limits.wanted || size >= limits.pool;
      if (full && !(keys[j] > pool[size - 1].key)) continue;
      const bool is_passage = !eligible(near_rows[j]);
      size_t low = 0, high = size;
      while (low < high) {
        const size_t middle = (low + high) / 2;
        if (pool[middle].key >= keys[j]) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      std::memmove(&pool[low + 1], &pool[low], (size - low) * sizeof(PoolEntry));
      pool[low] = {keys[j], near_rows[j] | (is_passage ? PoolEntry::kPassage : 0)};
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
      const char* links = reinterpret_cast<const char*>(graph.links(pool[next].row()));
      for (size_t byte = 0; byte < graph.degree() * sizeof(int32_t); byte += 64) __builtin_prefetch(links + byte);
    }
  }
  result.entries = size;
  result.eligible = size - passages;
  return result;
}

}  // namespace quiver
