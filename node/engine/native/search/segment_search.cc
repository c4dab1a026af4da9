#include "segment_search.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "errors.h"
#include "scan_cost.h"

namespace quiver {

namespace {

// Rows that the first turn looks through, about; each further one twice as many. What the nearest few cells of all
// stores hold tells well how good the joint answer will be.
constexpr size_t kFirstTurnRows = 256;
// A row of a cell takes about so many times as long as one of a scan: turns end, and bounds are asked and told.
constexpr double kTurnsCost = 1.5;
// Rows that are scored together.
constexpr size_t kScoredTogether = 64;
// So much of a code is asked for as soon as its row is known to be scored.
constexpr size_t kAskedBytes = 256;

}  // namespace

double SegmentSearch::share_of(const Snapshot& snapshot, const SearchRequest& request) {
  return std::min(1.0, double(request.allowed.count) / double(std::max<size_t>(1, snapshot.rows->live())));
}

bool SegmentSearch::suits(const Snapshot& snapshot, const SearchRequest& request, double expected) {
  const RowStore& rows = *snapshot.rows;
  if (snapshot.cells == nullptr || request.effort_kind != EffortKind::kCalibrated) return false;
  if (request.allowed.kind == Allowed::Kind::kSlots || request.allowed.count == 0 || rows.live() == 0) return false;
  const double share = share_of(snapshot, request);
  // Some stores have more of the answer by chance, and follow that where all rows are allowed (`reach`).
  const double own = share == 1 ? expected + std::sqrt(expected) : expected;
  const double visited = snapshot.cells->visited_of_part(own / share);
  if (visited == 0) return false;
  const double ns = scan_ns(rows, double(snapshot.cells->count()) + visited * share) + visited * kCellRowNs;
  return kTurnsCost * ns < scan_ns(rows, double(request.allowed.count));
}

SegmentSearch::SegmentSearch(const Snapshot& snapshot, const SearchRequest& request, double expected, SharedBest& best)
    : snapshot_(snapshot),
      request_(request),
      best_(best),
      query_(*snapshot.rows, request.query.data()),
      by_bytes_(snapshot.rows->codes().quantization == Quantization::kInt8
                    ? std::nullopt
                    : std::make_optional<Query>(*snapshot.rows, snapshot.cells->centres(), request.query.data())),
      order_(*snapshot.cells, by_bytes_.has_value() ? *by_bytes_ : query_, scratch_),
      candidates_(query_, request.k, snapshot.effort.deviations_for(true)),
      expected_(expected),
      share_(share_of(snapshot, request)),
      scan_visits_(scan_ns(*snapshot.rows, double(request.allowed.count)) /
                   (kCellRowNs + share_ * scan_ns(*snapshot.rows, 1))),
      reach_(reach()),
      turn_rows_(kFirstTurnRows),
      ask_at_(kScanPart * scan_visits_) {}

float SegmentSearch::reach() const {
  const Cells& cells = *snapshot_.cells;
  const double own = double(in_answer_);
  // Where all rows are allowed, it is known how deep the last row of the answer would be. Otherwise as deep as is
  // expected, unless more turned up than by chance: if few rows are allowed, one more or less would say that it is
  // twice as deep or not at all.
  const double likely = share_ == 1 ? own : std::max(expected_, own - std::sqrt(own * (1 - share_)));
  const float reach = cells.reach_of_part(query_, std::max(likely / share_, least_depth_));
  return by_place_ ? std::max(reach, cells.reach_of_part_by_place(query_, std::max(expected_, own))) : reach;
}

float SegmentSearch::least() {
  const float last = best_.last();
  if (std::isinf(last)) return last;
  const auto end = std::partition_point(own_.begin(), own_.end(), [last](float key) { return key >= last; });
  const size_t own = size_t(end - own_.begin());
  if (own != in_answer_ || last != last_) {
    in_answer_ = own;
    last_ = last;
    least_depth_ = snapshot_.cells->depth_of_key(query_, last);
    reach_ = reach();
  }
  return last - reach_;
}

void SegmentSearch::score(size_t count, SearchCost& cost) {
  const RowStore& rows = *snapshot_.rows;
  const uint8_t* codes[kScoredTogether] = {};
  int32_t products[kScoredTogether];
  for (size_t j = 0; j < count; j++) codes[j] = rows.code(waiting_[j]);
  rows.codes().dot(codes, count, query_.code(), rows.codes().padded, products);
  const float last = best_.last();
  better_.clear();
  for (size_t j = 0; j < count; j++) {
    const RowMeta& meta = rows.meta(waiting_[j]);
    const float key = query_.key(products[j], meta);
    candidates_.add(waiting_[j], key, meta);
    if (!(key > last)) continue;
    // Of many rough estimates the best are too good: what all are measured by shall not be.
    const float careful = key - query_.deviation(meta);
    if (careful > last) better_.push_back(careful);
  }
  cost.scored += count;
  waiting_.erase(waiting_.begin(), waiting_.begin() + ptrdiff_t(count));
  if (better_.empty()) return;
  best_.add(better_.data(), better_.size());
  for (float key : better_) own_.insert(std::upper_bound(own_.begin(), own_.end(), key, std::greater<float>()), key);
  if (own_.size() > best_.wanted()) own_.resize(best_.wanted());
}

void SegmentSearch::read_cell(uint32_t cell) {
  const RowStore& rows = *snapshot_.rows;
  const size_t first = snapshot_.cells->first_row(cell), end = first + snapshot_.cells->size(cell);
  const size_t asked = std::min(rows.codes().bytes, kAskedBytes);
  for (size_t row = first; row < end; row++) {
    if (rows.dead(row) || !request_.allowed.has(rows.slot(row))) continue;
    __builtin_prefetch(&rows.meta(row));
    for (size_t at = 0; at < asked; at += 64) __builtin_prefetch(rows.code(row) + at);
    waiting_.push_back(uint32_t(row));
    found_++;
  }
  visited_ += end - first;
}

SegmentSearch::Turn SegmentSearch::take_turn(bool from_disk, const StopFlag& stop, SearchCost& cost) {
  const RowStore& rows = *snapshot_.rows;
  const Cells& cells = *snapshot_.cells;
  if (visited_ == 0) cost.scored += cells.count();
  const double mean_size = double(cells.rows()) / double(cells.count());
  const size_t end = visited_ + turn_rows_;
  turn_rows_ *= 2;
  const size_t before = visited_;
  const RankedCell* next = nullptr;
  while (visited_ < end) {
    if (stop.load(std::memory_order_relaxed)) throw ClosedError();
    if (double(visited_) >= ask_at_) {
      if (double(order_.left(least())) * mean_size > scan_visits_) return Turn::kScan;
      ask_at_ = kAskAgain * double(visited_);
    }
    const float down_to = least();
    if (std::isinf(reach_)) return Turn::kScan;
    next = order_.next(down_to);
    if (next == nullptr) break;
    for (size_t i = order_.is_first() ? 0 : kCellsAhead - 1; from_disk && i < kCellsAhead; i++) {
      const RankedCell* later = order_.ahead(i);
      if (later != nullptr && later->key >= least()) ask_ahead(rows, cells, later);
    }
    read_cell(next->number);
    while (waiting_.size() >= kScoredTogether || (!waiting_.empty() && std::isinf(best_.last())))
      score(std::min(waiting_.size(), kScoredTogether), cost);
    const double expected = double(visited_) * share_;
    if (std::abs(double(found_) - expected) > kChance * std::sqrt(expected) + kChance && !by_place_) {
      by_place_ = true;
      reach_ = reach();
    }
  }
  while (!waiting_.empty()) score(std::min(waiting_.size(), kScoredTogether), cost);
  cost.expanded += visited_ - before;
  return next == nullptr ? Turn::kDone : Turn::kOver;
}

}  // namespace quiver
