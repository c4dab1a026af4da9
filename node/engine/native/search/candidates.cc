#include "candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace quiver {

Candidates::Candidates(const Query& query, size_t k, float deviations)
    : query_(query), k_(k), deviations_(deviations), capacity_(std::max<size_t>(4 * k, 256)) {}

void Candidates::prune() {
  bounds_.clear();
  for (const Candidate& candidate : list_) bounds_.push_back(candidate.key - lower_share() * candidate.slack);
  std::nth_element(bounds_.begin(), bounds_.begin() + ptrdiff_t(k_ - 1), bounds_.end(), std::greater<float>());
  threshold_ = std::max(threshold_, bounds_[k_ - 1]);
  const auto below = [&](const Candidate& candidate) { return candidate.upper() < threshold_; };
  list_.erase(std::remove_if(list_.begin(), list_.end(), below), list_.end());
  if (list_.size() > capacity_ / 2) capacity_ *= 2;
}

std::vector<Hit> Candidates::rescore(const RowStore& rows) {
  std::sort(list_.begin(), list_.end(), [](const Candidate& a, const Candidate& b) { return a.key > b.key; });
  std::vector<Hit> hits;
  // The k best exact keys so far, the worst of them on top.
  std::vector<float> best;
  for (size_t i = 0; i < list_.size(); i++) {
    if (best.size() == k_ && list_[i].upper() < best.front()) continue;
    if (i + 1 < list_.size()) {
      const char* next = reinterpret_cast<const char*>(rows.original(list_[i + 1].row));
      for (size_t line = 0; line < 512 && line < rows.dim * sizeof(float); line += 64) __builtin_prefetch(next + line);
    }
    const Query::Exact exact = query_.exact(list_[i].row);
    // Farther off than rounding takes it: its original may be another one than its code was made of.
    if (!(std::abs(exact.key - list_[i].key) <= lower_share() * list_[i].slack)) rows.require_match(list_[i].row);
    hits.push_back({exact.score, list_[i].row});
    if (best.size() < k_) {
      best.push_back(exact.key);
      std::push_heap(best.begin(), best.end(), std::greater<float>());
    } else if (exact.key > best.front()) {
      std::pop_heap(best.begin(), best.end(), std::greater<float>());
      best.back() = exact.key;
      std::push_heap(best.begin(), best.end(), std::greater<float>());
    }
  }
  return hits;
}

void cut_hits(const RowStore& rows, std::vector<Hit>& hits, size_t k) {
  keep_tied(hits, k);
  std::sort(hits.begin(), hits.end(), [&](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : rows.slot(a.row) < rows.slot(b.row);
  });
}

void keep_newest_rows(const RowStore& rows, std::vector<Hit>& hits) {
  std::sort(hits.begin(), hits.end(), [&](const Hit& a, const Hit& b) {
    const uint32_t slot_a = rows.slot(a.row), slot_b = rows.slot(b.row);
    return slot_a != slot_b ? slot_a < slot_b : a.row > b.row;
  });
  const auto same_slot = [&](const Hit& a, const Hit& b) { return rows.slot(a.row) == rows.slot(b.row); };
  hits.erase(std::unique(hits.begin(), hits.end(), same_slot), hits.end());
}

}  // namespace quiver
