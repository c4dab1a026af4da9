#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "effort.h"
#include "query.h"
#include "rows/row_store.h"

namespace quiver {

// A row with an upper bound on its exact key.
struct Candidate {
  float key;
  float slack;
  uint32_t row;

  float upper() const { return key + slack; }
};

// Rows of a store that may be among the best k.
struct BoundedRows {
  std::vector<Candidate> list;
  // A row's exact key is at least its approximate one less so much of its slack.
  float lower_share = 1;

  float lower(const Candidate& candidate) const { return candidate.key - lower_share * candidate.slack; }
};

/// A row with its exact score.
struct Hit {
  double score;
  uint32_t row;
};

/**
 * Rows that may be among the best k, by their approximate keys. Keeps every row whose upper bound reaches the k-th best
 * lower bound. So rescoring recovers what rounding would lose, and rows that codes can't distinguish are all kept,
 * however many there are.
 */
class Candidates {
 public:
  // `deviations`: how far above its approximate key a row's exact one may be, kDeviations at most. Fewer are measured
  // where codes are rough (Effort::deviations): then fewer rows are scored again.
  Candidates(const Query& query, size_t k, float deviations = kDeviations);

  void add(uint32_t row, float key, const RowMeta& meta) {
    const float slack = deviations_ * query_.deviation(meta);
    if (!(key + slack >= threshold_)) return;
    list_.push_back({key, slack, row});
    if (list_.size() >= capacity_) prune();
  }
  size_t size() const { return list_.size(); }
  // No row is kept whose exact key is below this, for sure. It rises with the rows that are added, not with each.
  float floor() const { return threshold_; }
  // Makes it as high as it can be.
  void raise_floor() {
    if (list_.size() >= k_) prune();
  }

  // All rows that may be among the best, for who scores them again with those of other stores.
  BoundedRows bounded() { return {std::move(list_), lower_share()}; }

  // Exact scores of all rows that can be among the best k or tie with them, in no order. Throws StorageError if the
  // original of one is far from its code, and not what was put.
  std::vector<Hit> rescore(const RowStore& rows);

 private:
  void prune();
  // Lower bounds are as careful as ever: the best approximate keys are rather too high.
  float lower_share() const { return kDeviations / deviations_; }

  const Query& query_;
  size_t k_;
  const float deviations_;
  size_t capacity_;
  float threshold_ = -std::numeric_limits<float>::infinity();
  std::vector<Candidate> list_;
  std::vector<float> bounds_;
};

// Keeps the k best and all that tie with the last of them, in no order.
template <class AnyHit>
void keep_tied(std::vector<AnyHit>& hits, size_t k) {
  if (hits.size() <= k) return;
  const auto kth = hits.begin() + ptrdiff_t(k - 1);
  std::nth_element(hits.begin(), kth, hits.end(), [](const AnyHit& a, const AnyHit& b) { return a.score > b.score; });
  const double least = kth->score;
  hits.erase(std::remove_if(kth + 1, hits.end(), [least](const AnyHit& hit) { return hit.score < least; }), hits.end());
}

// Sorts hits by (score descending, slot) and keeps the k best and all that tie with the last of them.
void cut_hits(const RowStore& rows, std::vector<Hit>& hits, size_t k);

// So many rows of one score are more than a walk or cells can be trusted to have all of: rows that are equal have most
// of their links to each other, so that some of them may have none from elsewhere.
constexpr size_t kLongTie = 16;

// Whether so many of them have one score; they are sorted.
template <class AnyHit>
bool has_long_tie(const std::vector<AnyHit>& hits) {
  for (size_t last = kLongTie - 1; last < hits.size(); last++) {
    if (hits[last].score == hits[last + 1 - kLongTie].score) return true;
  }
  return false;
}

// Keeps the newest row of each slot: a search that ran while slots were put again may have found two.
void keep_newest_rows(const RowStore& rows, std::vector<Hit>& hits);

}  // namespace quiver
