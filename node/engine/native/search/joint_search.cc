#include "joint_search.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "files/disk_waits.h"
#include "query.h"

namespace quiver {

namespace {

// Rows whose codes are read at once, about: those of a cell.
constexpr size_t kRowsTogether = 64;

// With fewer stores most searches wait for little, and asking the disk ahead takes longer than that.
constexpr size_t kAskingParts = 4;

// A row that may be among the best, with its bounds.
struct Bounded {
  float key, upper, lower;
  uint32_t part, row, slot;
};

// Keeps the best of what was found for each slot: two of one slot would count as two that are better than a third.
void keep_once(std::vector<Bounded>& found) {
  std::sort(found.begin(), found.end(),
            [](const Bounded& a, const Bounded& b) { return a.slot != b.slot ? a.slot < b.slot : a.key > b.key; });
  found.erase(
      std::unique(found.begin(), found.end(), [](const Bounded& a, const Bounded& b) { return a.slot == b.slot; }),
      found.end());
}

// Keeps those that reach the k-th best lower bound, best first.
void keep_best(std::vector<Bounded>& found, size_t k) {
  if (found.size() > k) {
    std::vector<float> bounds;
    for (const Bounded& one : found) bounds.push_back(one.lower);
    std::nth_element(bounds.begin(), bounds.begin() + ptrdiff_t(k - 1), bounds.end(), std::greater<float>());
    const float least = bounds[k - 1];
    found.erase(std::remove_if(found.begin(), found.end(), [least](const Bounded& one) { return one.upper < least; }),
                found.end());
  }
  std::sort(found.begin(), found.end(), [](const Bounded& a, const Bounded& b) { return a.key > b.key; });
}

// A bitmap has a bit for each row of all stores: one for all of them.
SearchRequest with_shared_bits(SearchRequest request) {
  Allowed& allowed = request.allowed;
  if (allowed.kind != Allowed::Kind::kBitmap || allowed.remembered != nullptr) return request;
  FoundSlots found;
  found.listed = false;
  found.words = std::move(allowed.words);
  found.count = allowed.count;
  allowed.words.clear();
  allowed.remembered = std::make_shared<const FoundSlots>(std::move(found));
  return request;
}

}  // namespace

JointSearch::JointSearch(std::vector<Snapshot> snapshots, SearchRequest request)
    : request_(with_shared_bits(std::move(request))),
      best_(std::max(request_.k, size_t(Effort::kDepths[0]))),
      left_(snapshots.size()) {
  parts_.reserve(snapshots.size());
  for (Snapshot& snapshot : snapshots) {
    const uint64_t changes = snapshot.rows->changes();
    live_ += snapshot.rows->live();
    Part part;
    part.snapshot = std::move(snapshot);
    part.changes = changes;
    parts_.push_back(std::move(part));
    turns_.push_back(&parts_.back());
  }
}

std::vector<SlotHit> JointSearch::run(const StopFlag& stop, SearchCost& cost, size_t& allowed) {
  DiskWaits waits;
  const bool asks = parts_.size() >= kAskingParts;
  while (Part* const part = next()) {
    const bool is_done = take_turn(*part, stop, cost, asks && waits.often(), allowed);
    waits.note(cost.scored / kRowsTogether);
    if (!is_done) {
      const std::lock_guard<std::mutex> lock(mutex_);
      turns_.push_back(part);
      continue;
    }
    if (left_.fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
    std::vector<SlotHit> hits = rescored(cost, asks && waits.expected());
    if (may_lack_ties(hits)) {
      for (Part& each : parts_) compare_all(each, stop, cost);
      hits = rescored(cost, asks && waits.expected());
    }
    for (const Part& each : parts_) each.snapshot.rows->require_sound();
    return hits;
  }
  return {};
}

JointSearch::Part* JointSearch::next() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (turns_.empty()) return nullptr;
  Part* const part = turns_.front();
  turns_.pop_front();
  return part;
}

bool JointSearch::take_turn(Part& part, const StopFlag& stop, SearchCost& cost, bool from_disk, size_t& allowed) {
  const RowStore& rows = *part.snapshot.rows;
  if (part.request == nullptr) {
    part.request = std::make_unique<SearchRequest>(request_);
    count_allowed(rows, part.request->allowed);
    allowed += part.request->allowed.count;
    // As if what is allowed were as often in all of them; where it is not, searches follow what turns up.
    const double expected = double(best_.wanted()) * double(rows.live()) / double(std::max<size_t>(1, live_));
    if (parts_.size() > 1 && SegmentSearch::suits(part.snapshot, *part.request, expected)) {
      part.search = std::make_unique<SegmentSearch>(part.snapshot, *part.request, expected, best_);
      if (part.search->needs_exact_scan()) part.search = nullptr;
    }
  }
  if (part.search != nullptr) {
    const SegmentSearch::Turn turn = part.search->take_turn(from_disk, stop, cost);
    if (turn == SegmentSearch::Turn::kOver) return false;
    if (turn == SegmentSearch::Turn::kDone) part.bounded = part.search->bounded();
    if (turn == SegmentSearch::Turn::kScan) search_whole(part, stop, cost, from_disk);
    part.search = nullptr;
  } else {
    search_whole(part, stop, cost, from_disk);
  }
  rows.require_sound();
  return true;
}

void JointSearch::search_whole(Part& part, const StopFlag& stop, SearchCost& cost, bool from_disk) {
  SearchRequest& request = *part.request;
  request.bounded = &part.bounded;
  request.from_disk = from_disk;
  part.hits = search(part.snapshot, request, stop, cost);
  if (parts_.size() == 1 || part.search != nullptr) return;
  std::vector<float> keys;
  for (const Candidate& row : part.bounded.list) keys.push_back(part.bounded.lower(row));
  best_.add(keys.data(), keys.size());
}

bool JointSearch::may_lack_ties(std::vector<SlotHit> hits) const {
  if (request_.effort_kind == EffortKind::kExact) return false;
  keep_tied(hits, request_.k);
  std::sort(hits.begin(), hits.end(), [](const SlotHit& a, const SlotHit& b) { return a.score > b.score; });
  return has_long_tie(hits);
}

void JointSearch::compare_all(Part& part, const StopFlag& stop, SearchCost& cost) {
  part.hits.clear();
  part.bounded = {};
  part.request->compares_all = true;
  part.request->bounded = &part.bounded;
  part.hits = search(part.snapshot, *part.request, stop, cost);
}

std::vector<SlotHit> JointSearch::rescored(SearchCost& cost, bool from_disk) {
  std::vector<SlotHit> hits;
  std::vector<Bounded> found;
  bool changed = false;
  for (uint32_t i = 0; i < parts_.size(); i++) {
    const Part& part = parts_[i];
    const RowStore& rows = *part.snapshot.rows;
    changed = changed || rows.changes() != part.changes;
    for (const Hit& hit : part.hits) hits.push_back({hit.score, rows.slot(hit.row)});
    for (const Candidate& row : part.bounded.list) {
      found.push_back({row.key, row.upper(), part.bounded.lower(row), i, row.row, rows.slot(row.row)});
    }
  }
  if (changed) keep_once(found);
  keep_best(found, request_.k);
  const auto original = [&](const Bounded& one) { return parts_[one.part].snapshot.rows->original(one.row); };
  const size_t dim = parts_[0].snapshot.rows->dim;
  std::vector<std::unique_ptr<Query>> queries(parts_.size());
  // The k best exact keys so far, the worst of them on top.
  std::vector<float> best;
  const auto ask = [&](size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
      if (best.size() < request_.k || found[i].upper >= best.front())
        ask_disk(original(found[i]), original(found[i]) + dim);
    }
  };
  // They are waited for together: the k best by codes, and then what may still be better than the k-th of them.
  if (from_disk) ask(0, std::min(request_.k, found.size()));
  for (size_t i = 0; i < found.size(); i++) {
    if (from_disk && i == request_.k) ask(i, found.size());
    if (best.size() == request_.k && found[i].upper < best.front()) continue;
    if (i + 1 < found.size()) {
      const char* next = reinterpret_cast<const char*>(original(found[i + 1]));
      for (size_t line = 0; line < 512 && line < dim * sizeof(float); line += 64) __builtin_prefetch(next + line);
    }
    std::unique_ptr<Query>& query = queries[found[i].part];
    if (query == nullptr) query = std::make_unique<Query>(*parts_[found[i].part].snapshot.rows, request_.query.data());
    const Query::Exact exact = query->exact(found[i].row);
    parts_[found[i].part].snapshot.rows->require_match(found[i].row);
    cost.rescored++;
    hits.push_back({exact.score, found[i].slot});
    best.push_back(exact.key);
    std::push_heap(best.begin(), best.end(), std::greater<float>());
    if (best.size() <= request_.k) continue;
    std::pop_heap(best.begin(), best.end(), std::greater<float>());
    best.pop_back();
  }
  return hits;
}

}  // namespace quiver
