#include "boosted_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

#include "graph/walk.h"
#include "row_scans.h"

namespace quiver {

namespace {

// A walk that has to keep more than this part of the rows that one may keep here gives up: what has great numbers is
// found sooner by filters then.
constexpr size_t kPoolShare = 4;
// More than the rounding of a key, as a part of it.
constexpr float kRounding = 1e-6f;

// The k-th best of the boosted scores that were added.
class BestBoosted {
 public:
  explicit BestBoosted(size_t k) : k_(k) {}

  // Answers whether the k-th is another one now.
  bool add(double boosted) {
    if (heap_.size() == k_) {
      if (boosted <= heap_.front()) return false;
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<double>());
      heap_.pop_back();
    }
    heap_.push_back(boosted);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<double>());
    return heap_.size() == k_;
  }
  // −Infinity: there are not so many.
  double last() const { return heap_.size() == k_ ? heap_.front() : -std::numeric_limits<double>::infinity(); }

 private:
  const size_t k_;
  std::vector<double> heap_;
};

// The least key of a row that may have so high a boosted score.
float least_key(const Query& query, const BoostValues& values, double boosted) {
  if (!(boosted > -std::numeric_limits<double>::infinity())) return -std::numeric_limits<float>::infinity();
  const float key = query.key_of(values.least_score(boosted));
  return key - kRounding * std::abs(key);
}

// A row that may be among the best, as a walk met it.
struct NotedRow {
  uint32_t row;
  float key;
  BoostValues::Number number;
};

struct BoostedReach {
  WalkReach reach;
  const BoostValues& values;
  size_t k;
  // Most rows that the pool may hold.
  size_t pool;
  // By how many deviations an exact key may exceed its approximate one.
  float deviations;
  // Gets the rows that may be among the best, and others.
  std::vector<NotedRow>& noted;
};

/**
 * The entries of a walk by boosted scores, in the order of unboosted keys. Any row may be among the best whose key
 * reaches `least_key_`, where the greatest number would make of it what the k-th best has so far. These are expanded,
 * and what a walk to the `anchor`-th eligible row expands. It goes no farther beyond `least_key_`: what lies near that
 * needs the greatest numbers of all, so few of the best are there, and fewer where only what is behind leads to them.
 */
class BoostedPool : public SortedPool {
 public:
  using Limits = BoostedReach;

  BoostedPool(const BoostedReach& limits, PoolEntry* entries)
      : SortedPool(entries),
        limits_(limits),
        best_(limits.k),
        zero_key_(limits.reach.query.zero_distance_key(limits.reach.effort.largest_norm)) {}

  // Whether a row that found no place is one that a larger pool would have expanded.
  bool full() const { return dropped_ > -std::numeric_limits<float>::infinity() && dropped_ >= floor(); }
  float floor() const { return std::min(threshold_, least_key_); }
  bool takes(float key) const { return key >= floor(); }
  size_t add(PoolEntry entry) {
    const size_t place = insert(entry);
    if (!entry.passage())
      slack_ = std::max(slack_, limits_.deviations * limits_.reach.query.deviation(meta_of(entry)));
    if (nearest_ != kNone) {
      if (place <= nearest_) {
        nearest_++;
        if (!entry.passage()) move_anchor(nearest_ - 1);
      }
    } else if (!entry.passage() && eligible() >= limits_.reach.anchor) {
      size_t surplus = eligible() - limits_.reach.anchor, last = size_ - 1;
      while (entries_[last].passage() || surplus > 0) surplus -= !entries_[last--].passage();
      move_anchor(last);
    }
    // What comes on the way to the nearest is dropped here, and most often it is too far in the end.
    if (size_ > limits_.pool) {
      dropped_ = std::max(dropped_, entries_[size_ - 1].key);
      forget_last();
    }
    forget_far(0);
    return place;
  }
  // Each row that may be among the best is expanded at some time: those that only come by are not looked at.
  void expands(size_t place) {
    if (entries_[place].passage()) return;
    note(entries_[place]);
    forget_far(place + 1);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  void note(const PoolEntry& entry) {
    if (entry.key < least_key_) return;
    const WalkReach& reach = limits_.reach;
    const uint32_t slot = reach.rows.slot(entry.row());
    if (!limits_.values.knows(slot)) return;
    const BoostValues::Number number = limits_.values.number(slot);
    limits_.noted.push_back({entry.row(), entry.key, number});
    if (!best_.add(limits_.values.boosted(reach.query.score_of(entry.key), number.low))) return;
    least_key_ = least_key(reach.query, limits_.values, best_.last()) - slack_;
  }
  const RowMeta& meta_of(const PoolEntry& entry) const { return limits_.reach.rows.meta(entry.row()); }

  // The first `kept` stay.
  void forget_far(size_t kept) {
    while (size_ > kept && entries_[size_ - 1].key < floor()) forget_last();
  }
  void forget_last() {
    drop_last();
    if (nearest_ == size_) nearest_ = kNone;
  }

  // To the last eligible entry up to `place`.
  void move_anchor(size_t place) {
    while (entries_[place].passage()) place--;
    nearest_ = place;
    const WalkReach& reach = limits_.reach;
    const float key = entries_[place].key, distance = zero_key_ - key;
    // As of ReachPool.
    if (distance < 0 && reach.rows.metric == Metric::kIp) {
      threshold_ = -std::numeric_limits<float>::infinity();
      return;
    }
    const float gamma =
        reach.filtered ? reach.effort.passing_gamma(double(place + 1), reach.graph_rows) : reach.gamma;
    const float slack = reach.query.deviation(reach.rows.meta(entries_[place].row()));
    threshold_ = key - gamma * (2 + gamma) * std::max(0.0f, distance) - slack;
  }

  const BoostedReach limits_;
  BestBoosted best_;
  const float zero_key_;
  // Place of the anchor.
  size_t nearest_ = kNone;
  // By how much the exact key of any of the rows so far may exceed its approximate one.
  float slack_ = 0;
  // The greatest key of a row that found no place.
  float dropped_ = -std::numeric_limits<float>::infinity();
  // The least key that is near enough to it, and the least that may be of one of the best.
  float threshold_ = -std::numeric_limits<float>::infinity(), least_key_ = threshold_;
};

// As Candidates, of rows that may be among the best k by boosted scores.
class BoostedCandidates {
 public:
  BoostedCandidates(const RowStore& rows, const Query& query, const BoostValues& values, size_t k, float deviations)
      : rows_(rows),
        query_(query),
        values_(values),
        k_(k),
        deviations_(deviations),
        capacity_(std::max<size_t>(4 * k, 256)) {}

  void add(uint32_t row, float key, const RowMeta& meta) {
    const float slack = deviations_ * query_.deviation(meta);
    if (!(key + slack >= floor_)) return;
    const uint32_t slot = rows_.slot(row);
    if (values_.knows(slot)) add(row, key, slack, values_.number(slot));
  }
  void add(const NotedRow& noted) {
    const float slack = deviations_ * query_.deviation(rows_.meta(noted.row));
    if (noted.key + slack >= floor_) add(noted.row, noted.key, slack, noted.number);
  }
  size_t size() const { return list_.size(); }
  // No row is kept whose exact key is below this.
  float floor() const { return floor_; }
  void raise_floor() {
    if (list_.size() >= k_) prune();
  }

  std::vector<Hit> rescore(SearchCost& cost) {
    raise_floor();
    std::sort(list_.begin(), list_.end(), [](const Bounds& a, const Bounds& b) { return a.high > b.high; });
    BestBoosted best(k_);
    std::vector<Hit> hits;
    std::vector<double> highest;
    for (size_t i = 0; i < list_.size() && list_[i].high >= best.last(); i++) {
      if (i + 1 < list_.size()) {
        const char* next = reinterpret_cast<const char*>(rows_.original(list_[i + 1].row));
        const size_t end = std::min<size_t>(512, rows_.dim * sizeof(float));
        for (size_t line = 0; line < end; line += 64) __builtin_prefetch(next + line);
      }
      const Bounds& own = list_[i];
      const Query::Exact exact = query_.exact(own.row);
      // As of Candidates.
      if (!(std::abs(exact.key - own.key) <= lower_share() * own.slack)) rows_.require_match(own.row);
      hits.push_back({exact.score, own.row});
      highest.push_back(values_.boosted(exact.score, own.number.high));
      best.add(values_.boosted(exact.score, own.number.low));
    }
    cost.rescored += hits.size();
    size_t kept = 0;
    for (size_t i = 0; i < hits.size(); i++) {
      if (!(highest[i] >= best.last())) continue;
      rows_.require_match(hits[i].row);
      hits[kept++] = hits[i];
    }
    hits.resize(kept);
    return hits;
  }

 private:
  // Between what the boosted score of a row is.
  struct Bounds {
    uint32_t row;
    float key, slack;
    double high, low;
    BoostValues::Number number;
  };

  float lower_share() const { return kDeviations / deviations_; }

  void add(uint32_t row, float key, float slack, const BoostValues::Number& number) {
    const double high = values_.boosted(query_.score_of(key + slack), number.high);
    if (!(high >= least_)) return;
    const double low = values_.boosted(query_.score_of(key - lower_share() * slack), number.low);
    list_.push_back({row, key, slack, high, low, number});
    if (list_.size() >= capacity_) prune();
  }

  void prune() {
    lows_.clear();
    for (const Bounds& one : list_) lows_.push_back(one.low);
    std::nth_element(lows_.begin(), lows_.begin() + ptrdiff_t(k_ - 1), lows_.end(), std::greater<double>());
    least_ = std::max(least_, lows_[k_ - 1]);
    floor_ = std::max(floor_, least_key(query_, values_, least_));
    list_.erase(std::remove_if(list_.begin(), list_.end(), [&](const Bounds& one) { return one.high < least_; }),
                list_.end());
    if (list_.size() > capacity_ / 2) capacity_ *= 2;
  }

  const RowStore& rows_;
  const Query& query_;
  const BoostValues& values_;
  const size_t k_;
  const float deviations_;
  size_t capacity_;
  // No row is kept whose boosted score is below `least_`.
  double least_ = -std::numeric_limits<double>::infinity();
  float floor_ = -std::numeric_limits<float>::infinity();
  std::vector<Bounds> list_;
  std::vector<double> lows_;
};

// Answers false if what may be among the best lies too far apart.
bool walk_boosted(const Snapshot& snapshot, const Query& query, const SearchRequest& request, SearchPlan plan,
                  const BoostValues& values, BoostedCandidates& candidates, SearchCost& cost) {
  const RowStore& rows = *snapshot.rows;
  const Graph& graph = *snapshot.graph;
  const Effort& effort = snapshot.effort;
  if (!effort.reaches_target_filtered()) return false;
  const bool filtered = request.allowed.kind == Allowed::Kind::kBitmap;
  const size_t wanted = std::max(request.k, size_t(Effort::kDepths[0]));
  const size_t pool = inline_pool_max(snapshot) / kPoolShare + 1;
  // A pool in which not even the wanted ones find room, or only with luck where cells find them sooner.
  const double share = double(request.allowed.count) / double(std::max<size_t>(1, rows.live()));
  const double room = plan == SearchPlan::kCells ? std::min(1.0, share) * double(pool) : double(pool);
  if (double(std::min(wanted, request.allowed.count)) > room) return false;
  const float gamma = effort.at(double(wanted), graph.rows()).gamma;
  thread_local std::vector<NotedRow> noted;
  noted.clear();
  const WalkReach near{rows, query, effort, graph.rows(), wanted, gamma, filtered, pool};
  const BoostedReach reach{near, values, request.k, pool, effort.deviations_for(true), noted};
  WalkScratch& scratch = WalkScratch::of_this_thread();
  const WalkResult found = with_lists(graph, [&](const auto& lists) {
    const auto eligible = [&](uint32_t row) {
      return !rows.dead(row) && (!filtered || request.allowed.in_bitmap(rows.slot(row)));
    };
    return walk<BoostedPool>(rows, graph, lists, query, eligible, reach, kNoRow, scratch);
  });
  cost.scored += found.scored;
  cost.left_out += found.left_out;
  cost.expanded += found.entries;
  if (found.full || found.eligible < std::min(wanted, request.allowed.count)) return false;
  // The best come last, and those before them need not be looked at then.
  for (size_t i = noted.size(); i > 0; i--) candidates.add(noted[i - 1]);
  return true;
}

}  // namespace

std::optional<std::vector<Hit>> search_boosted(const Snapshot& snapshot, const SearchRequest& request,
                                               const BoostValues& values, const StopFlag& stop, SearchCost& cost) {
  const RowStore& rows = *snapshot.rows;
  const uint64_t changes = rows.changes();
  const std::optional<SearchPlan> plan = inline_plan(snapshot, request);
  if (!plan.has_value()) return std::nullopt;
  // Cells do not tell how far the best of them may lie.
  const bool walks = plan != SearchPlan::kScan;
  if (walks && (snapshot.graph == nullptr || request.effort_kind != EffortKind::kCalibrated)) return std::nullopt;
  const Query query(rows, request.query.data());
  if (query.needs_exact_scan()) return std::nullopt;
  cost.plan = walks ? SearchPlan::kWalk : SearchPlan::kScan;
  const float deviations = snapshot.effort.deviations_for(true);
  BoostedCandidates candidates(rows, query, values, request.k, deviations);
  const Allowed& allowed = request.allowed;
  if (walks) {
    if (!walk_boosted(snapshot, query, request, *plan, values, candidates, cost)) return std::nullopt;
    scan_later(snapshot, query, request, allowed, snapshot.graph->rows(), stop, candidates, cost);
  } else if (snapshot.sketches != nullptr && allowed.kind != Allowed::Kind::kSlots) {
    scan_later(snapshot, query, request, allowed, 0, stop, candidates, cost);
  } else {
    for_each_batch(rows, 0, allowed, stop, [&](const uint32_t* batch, size_t count) {
      cost.scored += count;
      add_batch(rows, query, batch, count, candidates);
    });
  }
  std::vector<Hit> hits = candidates.rescore(cost);
  if (rows.changes() != changes) keep_newest_rows(rows, hits);
  // As `search_inline`.
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.score > b.score; });
  if ((walks || deviations < kDeviations) && has_long_tie(hits)) return std::nullopt;
  return hits;
}

}  // namespace quiver
