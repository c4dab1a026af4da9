#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "search/candidates.h"
#include "search/effort.h"
#include "graph.h"
#include "search/query.h"
#include "rows/row_store.h"

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
 * that it need not be cleared but for once in 255 walks: in bytes, of which more stay in the cache. It is as long as
 * the largest graph that the thread has walked.
 */
struct WalkScratch {
  std::vector<uint8_t> visited;
  uint8_t walk_number = 0;
  std::vector<PoolEntry> pool;

  // That of the calling thread.
  static WalkScratch& of_this_thread();
  // Begins a walk over `rows` rows with a pool of `entries`; returns the walk's number.
  uint8_t begin(size_t rows, size_t entries);
};

/// A walk with a given effort.
struct WalkLimits {
  // The walk ends when the best `wanted` eligible rows that it has seen are expanded (HNSW's ef, counted in eligible
  // rows).
  size_t wanted;
  // Most rows that the pool may hold, including rows that only lead to others: bounds the walk when eligible rows are
  // rare.
  size_t pool;
};

/**
 * A walk that ends by distance ("adaptive beam search", arXiv:2505.15636): when no row is left to expand that is nearer
 * than (1 + γ) times the distance of the anchor-th best eligible row.
 */
struct WalkReach {
  const RowStore& rows;
  const Query& query;
  const Effort& effort;
  // Rows of the graph.
  size_t graph_rows;
  size_t anchor;
  // γ if every row is eligible; else it depends on how many rows lie before the anchor (Effort::passing_gamma), so that
  // it fits whether eligible rows are common or rare near the query.
  float gamma;
  bool filtered;
  // Most rows that the pool may hold: bounds the walk where many rows are about as near as the anchor.
  size_t pool;
};

struct WalkResult {
  /// Entries in scratch.pool, best first.
  size_t entries;
  size_t eligible;
  /// Rows scored by their codes, and rows that their signs left out.
  size_t scored, left_out;
  // Whether the pool was ever as large as it may be.
  bool full;
};

// Most rows that a walk expands together: enough to hide the waits for lists and for the first codes.
constexpr size_t kTogetherMax = 4;
// The front of a pool: what comes there may lead nearer.
constexpr size_t kFront = 4;

/**
 * Scores rows by their codes against a query. `Query`: `code()`, and `key(product, meta)`, which is larger for nearer
 * rows.
 */
template <class Query>
class Scorer {
 public:
  Scorer(const Codes& codes, const Query& query) : codes_(codes), query_(query) {}

  static constexpr size_t kRowsMax = kTogetherMax * kDegreeMax;

  // The rows to score, and their keys.
  uint32_t near_rows[kRowsMax];
  float keys[kRowsMax];
  size_t scored = 0, left_out = 0;

  // Leaves those of the first `count` rows whose signs do not tell that their keys are below `floor`. Answers how many.
  size_t sift(size_t count, float floor) {
    const SignQuery* by_signs = query_.by_signs();
    if (by_signs == nullptr || !(floor > -std::numeric_limits<float>::infinity())) return count;
    const Signs& signs = *codes_.signs();
    for (size_t j = 0; j < count; j++) code_of_[j] = signs.of(near_rows[j]);
    codes_.kernels.dot_bits(code_of_, count, by_signs->code(), codes_.padded, products_);
    size_t left = 0;
    for (size_t j = 0; j < count; j++) {
      const uint32_t row = near_rows[j];
      near_rows[left] = row;
      // Without a branch: which rows are left can't be predicted.
      left += size_t(by_signs->highest(products_[j], signs.bound(row)) >= floor);
    }
    left_out += count - left;
    return left;
  }

  void score(size_t count) {
    for (size_t j = 0; j < count; j++) {
      code_of_[j] = codes_.code(near_rows[j]);
      __builtin_prefetch(&codes_.meta(near_rows[j]));
    }
    codes_.dot(code_of_, count, query_.code(), codes_.padded, products_);
    for (size_t j = 0; j < count; j++) keys[j] = query_.key(products_[j], codes_.meta(near_rows[j]));
    scored += count;
  }

 private:
  const Codes& codes_;
  const Query& query_;
  const uint8_t* code_of_[kRowsMax];
  int32_t products_[kRowsMax];
};

// The entries of a walk, best first. Which ones are kept is the matter of those that derive from it.
class SortedPool {
 public:
  size_t size() const { return size_; }
  size_t eligible() const { return size_ - passages_; }
  // The entry at that place is expanded now. Those behind it may be dropped.
  void expands(size_t) {}

 protected:
  explicit SortedPool(PoolEntry* entries) : entries_(entries) {}

  // Adds an entry, behind those that are as near. Answers its place.
  size_t insert(PoolEntry entry) {
    size_t low = 0, high = size_;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (entries_[middle].key >= entry.key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    std::memmove(&entries_[low + 1], &entries_[low], (size_ - low) * sizeof(PoolEntry));
    entries_[low] = entry;
    size_++;
    passages_ += entry.passage();
    return low;
  }
  void drop_last() {
    size_--;
    passages_ -= entries_[size_].passage();
  }

  PoolEntry* entries_;
  size_t size_ = 0, passages_ = 0;
};

// Those of a walk with a given effort.
class FixedPool : public SortedPool {
 public:
  using Limits = WalkLimits;

  FixedPool(const WalkLimits& limits, PoolEntry* entries) : SortedPool(entries), limits_(limits) {}

  bool full() const { return size_ >= limits_.pool; }
  // The least key that can find a place, as far as is known.
  float floor() const {
    const bool full = size_ - passages_ >= limits_.wanted || size_ >= limits_.pool;
    return full ? entries_[size_ - 1].key : -std::numeric_limits<float>::infinity();
  }
  // Whether a row with this key can find a place.
  bool takes(float key) const { return key > floor(); }
  // Adds an entry that the pool takes. Answers its place.
  size_t add(PoolEntry entry) {
    const size_t place = insert(entry);
    while (size_ > limits_.pool || size_ - passages_ > limits_.wanted ||
           (size_ - passages_ == limits_.wanted && entries_[size_ - 1].passage())) {
      drop_last();
    }
    return place;
  }

 private:
  const WalkLimits limits_;
};

// Those of a walk that ends by distance: what is near enough to be expanded.
class ReachPool : public SortedPool {
 public:
  using Limits = WalkReach;

  ReachPool(const WalkReach& reach, PoolEntry* entries)
      : SortedPool(entries), reach_(reach), zero_key_(reach.query.zero_distance_key(reach.effort.largest_norm)) {}

  bool full() const { return full_; }
  float floor() const { return size_ < reach_.pool ? threshold_ : std::max(threshold_, entries_[size_ - 1].key); }
  bool takes(float key) const { return key >= threshold_ && (size_ < reach_.pool || key > entries_[size_ - 1].key); }
  size_t add(PoolEntry entry) {
    const size_t place = insert(entry);
    if (anchor_ != kNone) {
      if (place <= anchor_) {
        anchor_++;
        if (!entry.passage()) move_anchor(anchor_ - 1);
      }
    } else if (!entry.passage() && eligible() >= reach_.anchor) {
      size_t surplus = eligible() - reach_.anchor;
      size_t last = size_ - 1;
      while (entries_[last].passage() || surplus > 0) surplus -= !entries_[last--].passage();
      move_anchor(last);
    }
    full_ = full_ || size_ >= reach_.pool;
    if (size_ > reach_.pool) forget_last();
    while (entries_[size_ - 1].key < threshold_) forget_last();
    return place;
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  // To the last eligible entry up to `place`.
  void move_anchor(size_t place) {
    while (entries_[place].passage()) place--;
    anchor_ = place;
    const float gamma =
        reach_.filtered ? reach_.effort.passing_gamma(double(place + 1), reach_.graph_rows) : reach_.gamma;
    const float key = entries_[place].key, distance = zero_key_ - key;
    // ip: rows that are longer than all that were measured. Then only the pool bounds the walk.
    if (distance < 0 && reach_.rows.metric == Metric::kIp) {
      threshold_ = -std::numeric_limits<float>::infinity();
      return;
    }
    const float slack = reach_.query.deviation(reach_.rows.meta(entries_[place].row()));
    threshold_ = key - gamma * (2 + gamma) * std::max(0.0f, distance) - slack;
  }
  void forget_last() {
    drop_last();
    if (anchor_ == size_) anchor_ = kNone;
  }

  const WalkReach reach_;
  const float zero_key_;
  // Place of the entry that is the anchor; kNone until there are enough.
  size_t anchor_ = kNone;
  bool full_ = false;
  // The least key that is near enough. It leaves room for the error of keys, which may exceed distances.
  float threshold_ = -std::numeric_limits<float>::infinity();
};

/**
 * Best-first search from one row over the links of one level, by approximate keys. It uses one sorted pool instead of
 * HNSW's two heaps, and prefetches links and codes. While rows still come to the front, it expands the best one alone,
 * as it may lead to a better one. Later what is in the pool will be expanded anyway, so the best few are expanded
 * together: the lists of the next few and the codes are on their way meanwhile. `Pool` says which rows are kept and
 * expanded: FixedPool or ReachPool. `lists.of(row)` are the row's links, at most `lists.degree()`, until it is called
 * again; the first −1 ends them. They may be written meanwhile, a link at a time. `eligible(row)` says whether a row
 * may be an answer; the walk passes through the others. `excluded` is a row that is treated as if it were not in the
 * graph; kNoRow for none. The entries are left in `scratch.pool`.
 */
template <class Pool, class Lists, class Query, class Eligible>
WalkResult walk_level(const Lists& lists, size_t rows, PoolEntry start, Scorer<Query>& scorer, const Eligible& eligible,
                      const typename Pool::Limits& limits, uint32_t excluded, WalkScratch& scratch) {
  const size_t degree = lists.degree();
  const uint8_t number = scratch.begin(rows, limits.pool + 1);
  uint8_t* visited = scratch.visited.data();
  PoolEntry* entries = scratch.pool.data();
  Pool pool(limits, entries);
  if (excluded != kNoRow) visited[excluded] = number;
  const uint32_t start_row = start.row();
  visited[start_row] = number;
  const bool starts_at_passage = start_row == excluded || !eligible(start_row);
  pool.add({start.key, start_row | (starts_at_passage ? PoolEntry::kPassage : 0)});
  size_t first = 0;

  // How many of the best are expanded next, together.
  size_t together = 1;
  while (true) {
    size_t expanded = 0, count = 0, end = first;
    for (; end < pool.size() && expanded < together; end++) {
      if (entries[end].expanded()) continue;
      const int32_t* list = lists.of(entries[end].row());
      entries[end].marked_row |= PoolEntry::kExpanded;
      pool.expands(end);
      expanded++;
      for (size_t j = 0; j < degree; j++) {
        const int32_t link = __atomic_load_n(&list[j], __ATOMIC_RELAXED);
        if (link < 0) break;
        // Without a branch: which rows were seen already can't be predicted.
        scorer.near_rows[count] = uint32_t(link);
        count += visited[link] != number;
        visited[link] = number;
      }
    }
    if (expanded == 0) break;
    for (size_t next = end, ahead = 0; next < pool.size() && ahead < kTogetherMax; next++) {
      if (entries[next].expanded()) continue;
      lists.prefetch(entries[next].row());
      ahead++;
    }
    count = scorer.sift(count, pool.floor());
    scorer.score(count);
    // All before it are expanded.
    first = end;
    for (size_t j = 0; j < count; j++) {
      const float key = scorer.keys[j];
      if (!pool.takes(key)) continue;
      const uint32_t row = scorer.near_rows[j];
      const size_t place = pool.add({key, row | (eligible(row) ? 0 : PoolEntry::kPassage)});
      if (place < end + kTogetherMax / 2) lists.prefetch(row);
      first = std::min(first, place);
    }
    together = first < kFront ? 1 : std::min(2 * together, kTogetherMax);
  }
  return {pool.size(), pool.eligible(), scorer.scored, scorer.left_out, pool.full()};
}

// Greedy descent through the upper levels of a graph that has rows: where a walk over the bottom begins.
template <class Query>
PoolEntry descend(const Graph& graph, Scorer<Query>& scorer) {
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
  return current;
}

// `descend`, then `walk_level` over the lists `bottom`.
template <class Pool, class Lists, class Eligible>
WalkResult walk(const RowStore& rows, const Graph& graph, const Lists& bottom, const Query& query,
                const Eligible& eligible, const typename Pool::Limits& limits, uint32_t excluded,
                WalkScratch& scratch) {
  if (graph.entry_row < 0) return {};
  Scorer<Query> scorer(rows.codes(), query);
  const PoolEntry current = descend(graph, scorer);
  return walk_level<Pool>(bottom, graph.rows(), current, scorer, eligible, limits, excluded, scratch);
}

// The eligible rows that a walk has left in `scratch` become candidates.
template <class AnyCandidates>
void add_pool(const RowStore& rows, const WalkScratch& scratch, const WalkResult& result, AnyCandidates& candidates) {
  for (size_t i = 0; i < result.entries; i++) {
    const PoolEntry& entry = scratch.pool[i];
    if (!entry.passage()) candidates.add(entry.row(), entry.key, rows.meta(entry.row()));
  }
}

}  // namespace quiver
