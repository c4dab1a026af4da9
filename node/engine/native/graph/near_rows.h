#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "graph.h"
#include "link_lists.h"
#include "row_query.h"
#include "walk.h"

namespace quiver {

/// How far a builder looks for the rows near a row.
struct NearLimits {
  // How many near rows are found.
  size_t wanted;
  // How many of them are expanded, the nearest ones. The walk ends then.
  size_t expanded;
};

/**
 * Finds what is near a stored row, by a walk through the lists of one level. A search expands one row at a time,
 * because what it leads to may come next, and waits for its list and for the first codes. A builder wants many near
 * rows and expands most of them, in whatever order. So the best few are expanded together: what they lead to is scored
 * in one go, while the lists of the next few are on their way. One per thread.
 */
class NearRows {
 public:
  NearRows(const Codes& codes, const RowQuery& query) : codes_(codes), query_(query) {}

  // Leaves the rows near the query in `found`, nearest first, without `excluded`, which is the query itself: the first
  // of the `starts` may be there. `lists` as for walk_level, of `rows` rows.
  template <class Lists>
  void find(const Lists& lists, size_t rows, std::initializer_list<PoolEntry> starts, const NearLimits& limits,
            uint32_t excluded, Links& found) {
    // With room for the row that is excluded.
    const size_t wanted = limits.wanted + 1;
    WalkScratch& scratch = WalkScratch::of_this_thread();
    const uint8_t number = scratch.begin(rows, wanted + 1);
    uint8_t* visited = scratch.visited.data();
    entries_ = scratch.pool.data();
    visited[excluded] = number;
    size_ = 0;
    for (const PoolEntry& start : starts) {
      if (size_ > 0 && visited[start.row()] == number) continue;
      visited[start.row()] = number;
      insert(start);
    }
    // All before it are expanded.
    for (size_t first = 0;;) {
      const size_t end = std::min(size_, limits.expanded);
      size_t expanded = 0, count = 0;
      for (; first < end && expanded < kTogether; first++) {
        if (entries_[first].expanded()) continue;
        entries_[first].marked_row |= PoolEntry::kExpanded;
        expanded++;
        const int32_t* list = lists.of(entries_[first].row());
        for (size_t j = 0; j < lists.degree(); j++) {
          const int32_t link = load_link(list[j]);
          if (link < 0) break;
          // Without a branch: which rows were seen already can't be predicted.
          near_rows_[count] = uint32_t(link);
          count += visited[link] != number;
          visited[link] = number;
        }
      }
      if (expanded == 0) break;
      for (size_t next = first, ahead = 0; next < end && ahead < kTogether; next++) {
        if (entries_[next].expanded()) continue;
        lists.prefetch(entries_[next].row());
        ahead++;
      }
      score(count);
      for (size_t j = 0; j < count; j++) {
        if (size_ >= wanted && !(keys_[j] > entries_[size_ - 1].key)) continue;
        const size_t place = insert({keys_[j], near_rows_[j]});
        if (size_ > wanted) size_--;
        if (place < first + kTogether) lists.prefetch(near_rows_[j]);
        first = std::min(first, place);
      }
    }
    found.clear();
    for (size_t i = 0; i < size_ && found.size() < limits.wanted; i++) {
      if (entries_[i].row() != excluded) found.push_back({entries_[i].key, entries_[i].row()});
    }
  }

 private:
  // Rows expanded together.
  static constexpr size_t kTogether = 8;

  void score(size_t count) {
    for (size_t j = 0; j < count; j++) {
      code_of_[j] = codes_.code(near_rows_[j]);
      __builtin_prefetch(&codes_.meta(near_rows_[j]));
    }
    codes_.dot(code_of_, count, query_.code(), codes_.padded, products_);
    for (size_t j = 0; j < count; j++) keys_[j] = query_.key(products_[j], codes_.meta(near_rows_[j]));
  }

  // Behind those that are as near. Answers the place.
  size_t insert(PoolEntry entry) {
    size_t low = 0;
    // Without a branch, too.
    for (size_t left = size_; left > 0;) {
      const size_t half = left - left / 2;
      low += half & -size_t(entries_[low + half - 1].key >= entry.key);
      left -= half;
    }
    std::memmove(&entries_[low + 1], &entries_[low], (size_ - low) * sizeof(PoolEntry));
    entries_[low] = entry;
    size_++;
    return low;
  }

  const Codes& codes_;
  const RowQuery& query_;
  // Best first.
  PoolEntry* entries_ = nullptr;
  size_t size_ = 0;
  // What is scored.
  uint32_t near_rows_[kTogether * kDegreeMax];
  float keys_[kTogether * kDegreeMax];
  const uint8_t* code_of_[kTogether * kDegreeMax];
  int32_t products_[kTogether * kDegreeMax];
};

}  // namespace quiver
