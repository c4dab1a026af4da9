#include "search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "best_keys.h"
#include "cells/cell_order.h"
#include "errors.h"
#include "row_scans.h"
#include "scan_cost.h"
#include "graph/walk.h"

namespace quiver {

namespace {

// Rows that a scan scores in the time in which a walk of a given effort scores one: the walk waits for memory at every
// step.
constexpr double kScanAdvantage = 4;
// Most rows that a filtered walk keeps, as a multiple of those that it was measured with.
constexpr double kBeyondMeasured = 2;
// Slots of a cell that are asked whether they are allowed at a time.
constexpr size_t kAsked = 256;

// Longest expected time of an inline search. Handing a search to another thread and back costs about a tenth of this
// (100,000 × 128), so beyond it there is little to gain. Whoever waits behind a search on the serving thread waits this
// long at most.
constexpr double kInlineNs = 1e6;
// A filtered search on the serving thread gives up when it has taken so many times as long.
constexpr double kInlineSlack = 3;
constexpr double kPoolAny = 1e18, kAnyTime = 1e18;
// A walk waits for memory at every row, and costs so much where a scan costs what scan_cost.h says.
constexpr double kWalkRowNs = 50, kWalkByteNs = 1.0 / 10;
// The share of rows whose codes a walk reads where there are signs.
constexpr double kLeftBySigns = 0.3;

// What a sketch costs: a part per row, and a part per byte.
constexpr double kSketchRowNs = 0.5, kSketchByteNs = 1.0 / 28;

// What it takes to scan the rows from `first` on of which the share `allowed` is allowed.
double later_ns(const Snapshot& snapshot, size_t first, double allowed) {
  const size_t count = snapshot.rows->count();
  double scanned = double(count - std::min(count, first)), ns = 0;
  if (const Sketches* sketches = snapshot.sketches.get()) {
    const size_t begin = std::max(first, sketches->begin());
    const double sketched = double(std::max(begin, sketches->end()) - begin);
    scanned -= sketched;
    ns = sketched * (kSketchRowNs + kSketchByteNs * double(sketches->bytes()));
  }
  return ns + scan_ns(*snapshot.rows, scanned * allowed);
}

double walk_ns(const RowStore& rows, double scored) {
  const double share = rows.codes().signs() != nullptr ? kLeftBySigns : 1;
  return scored * (kWalkRowNs + share * kWalkByteNs * double(rows.codes().bytes));
}

struct Plan {
  // Eligible rows to find: all of these are expanded with a given effort, and the last is the anchor of a calibrated
  // one.
  double wanted;
  // Expected number of rows in the pool by then (given effort), or the most that it may hold (calibrated).
  double pool;
  // Expected number of rows scored.
  double scored;
  float gamma;
};

// The share of live rows, and that of allowed ones among these.
struct Shares {
  double live, allowed;
};

Shares shares_of(const Snapshot& snapshot, size_t allowed_count) {
  const size_t live = snapshot.rows->live();
  const double in_graph = double(snapshot.graph->rows());
  return {std::max(1 - double(snapshot.rows->watched_dead()) / in_graph, 1 / in_graph),
          live == 0 ? 1 : std::clamp(double(allowed_count) / double(live), 1 / in_graph, 1.0)};
}

Plan plan_given(const Snapshot& snapshot, size_t k, size_t ef, size_t allowed_count) {
  const Shares shares = shares_of(snapshot, allowed_count);
  const double wanted = std::max(double(ef) * shares.allowed, double(k));
  const double pool = wanted / (shares.allowed * shares.live);
  return {wanted, pool, pool * snapshot.effort.scored_per_expanded(), 0};
}

Plan plan_calibrated(const Snapshot& snapshot, size_t k, size_t allowed_count) {
  const Shares shares = shares_of(snapshot, allowed_count);
  const double wanted = double(std::max(k, size_t(Effort::kDepths[0])));
  const size_t graph_rows = snapshot.graph->rows();
  if (shares.allowed == 1 || !snapshot.effort.reaches_target_filtered()) {
    const Reach reach = snapshot.effort.at(wanted, graph_rows);
    const double pool = std::max(double(reach.pool), 2 * wanted) / shares.live;
    return {wanted, std::min(pool, double(graph_rows)), reach.scored / shares.live, reach.gamma};
  }
  // If one row in s is allowed, the best k allowed rows are about the best k · s of all rows. So the walk has to go as
  // far as for those. It goes on until a scan of the allowed rows would have been as quick, for they may be far from
  // the query, and not farther than anything that was measured.
  const Reach reach = snapshot.effort.passing(wanted / shares.allowed, graph_rows);
  const double scored_per_row = reach.scored / reach.expanded;
  const double as_scan = scan_ns(*snapshot.rows, double(allowed_count)) / walk_ns(*snapshot.rows, scored_per_row);
  const double deepest = kBeyondMeasured * snapshot.effort.passing_400.pool * wanted / Effort::kDepths[0];
  const double pool = std::min(as_scan, deepest) / shares.live;
  return {wanted, std::min(pool, double(graph_rows)), reach.scored / shares.live, reach.gamma};
}

Plan plan_walk(const Snapshot& snapshot, size_t k, EffortKind kind, size_t ef, size_t allowed_count) {
  return kind == EffortKind::kGiven ? plan_given(snapshot, k, ef, allowed_count)
                                    : plan_calibrated(snapshot, k, allowed_count);
}

// What a search of cells is expected to take: infinite where they can't reach the recall.
double cells_ns(const Snapshot& snapshot, size_t k, size_t allowed_count) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const RowStore& rows = *snapshot.rows;
  const size_t live = rows.live();
  if (snapshot.cells == nullptr || live == 0 || !snapshot.effort.reaches_target()) return kNever;
  if (allowed_count >= live && !snapshot.cells->sorted()) return kNever;
  const double share = std::min(1.0, double(allowed_count) / double(live));
  const double visited = snapshot.cells->visited(double(std::max(k, size_t(Effort::kDepths[0]))) / share);
  if (visited == 0) return kNever;
  const double later = double(rows.count() - std::min(rows.count(), snapshot.cells->rows()));
  return scan_ns(rows, double(snapshot.cells->count()) + visited * share) + (visited + later) * kCellRowNs +
         later_ns(snapshot, snapshot.cells->rows(), share);
}

std::vector<Hit> scan_exactly(const RowStore& rows, const Query& query, const SearchRequest& request,
                              const StopFlag& stop, SearchCost& cost) {
  std::vector<Hit> hits;
  // Rows that slots were put to meanwhile may be found beside their earlier ones.
  const size_t keep = 2 * request.k;
  size_t capacity = 2 * keep + 1024;
  double least = -std::numeric_limits<double>::infinity();
  const auto visit = [&](const uint32_t* batch, size_t count) {
    cost.rescored += count;
    for (size_t j = 0; j < count; j++) {
      const double score = query.exact(batch[j]).score;
      if (score >= least) hits.push_back({score, batch[j]});
    }
    if (hits.size() < capacity) return;
    keep_tied(hits, keep);
    least = hits[keep - 1].score;
    // All that tie are kept, however many there are.
    capacity = std::max(capacity, 2 * hits.size());
  };
  for_each_batch(rows, 0, request.allowed, stop, visit);
  return hits;
}

// Scores again what was found, or gives it to who does.
std::vector<Hit> finished(Candidates& candidates, const RowStore& rows, const SearchRequest& request,
                          SearchCost& cost) {
  if (request.bounded != nullptr) {
    *request.bounded = candidates.bounded();
    return {};
  }
  std::vector<Hit> hits = candidates.rescore(rows);
  cost.rescored += hits.size();
  return hits;
}

// By how many deviations a scan trusts codes.
float scan_deviations(const Snapshot& snapshot, const SearchRequest& request) {
  return snapshot.effort.deviations_for(request.allowed.count < snapshot.rows->live());
}

std::vector<Hit> scan_codes(const Snapshot& snapshot, const Query& query, const SearchRequest& request,
                            float deviations, const StopFlag& stop, SearchCost& cost) {
  const RowStore& rows = *snapshot.rows;
  Candidates candidates(query, request.k, deviations);
  if (snapshot.sketches != nullptr && request.allowed.kind != Allowed::Kind::kSlots) {
    scan_later(snapshot, query, request, request.allowed, 0, stop, candidates, cost);
    return finished(candidates, rows, request, cost);
  }
  for_each_batch(rows, 0, request.allowed, stop, [&](const uint32_t* batch, size_t count) {
    cost.scored += count;
    add_batch(rows, query, batch, count, candidates);
  });
  return finished(candidates, rows, request, cost);
}

// Looks through cells and scans the rows that came after them. Answers false if a scan is expected to take less than
// what is left, or if it takes longer than `ns_max`.
bool scan_cells(const Snapshot& snapshot, const Query& query, const SearchRequest& request, const StopFlag& stop,
                double ns_max, std::vector<Hit>& hits, SearchCost& cost) {
  const RowStore& rows = *snapshot.rows;
  const Cells& cells = *snapshot.cells;
  const double share = std::min(1.0, double(request.allowed.count) / double(std::max<size_t>(1, rows.live())));
  const size_t wanted =
      std::max({request.k, request.effort_kind == EffortKind::kGiven ? request.ef : 0, size_t(Effort::kDepths[0])});
  // As many as make the time of a scan.
  const double scan_visits = scan_ns(rows, double(request.allowed.count)) / (kCellRowNs + share * scan_ns(rows, 1));
  float reach = cells.reach(query, double(wanted) / share);
  const float reach_by_place = std::max(reach, cells.reach_by_place(query));
  Candidates candidates(query, request.k, snapshot.effort.deviations_for(true));
  BestKeys best(wanted);
  const size_t prefetched = std::min(rows.codes().bytes, kPrefetchBytes);
  uint32_t batch[2 * kBatch];
  size_t waiting = 0, visited = 0, found = 0;
  const auto score = [&](size_t count) {
    stop_if_closed(stop);
    score_batch(rows, query, batch, count, [&](uint32_t row, float key, const RowMeta& meta) {
      best.add(key);
      candidates.add(row, key, meta);
    });
    cost.scored += count;
    waiting -= count;
    std::copy(batch + count, batch + count + waiting, batch);
  };
  // Which of the slots are allowed: their places.
  uint32_t passed[kAsked];
  const Allowed& allowed = request.allowed;
  const bool all = allowed.kind != Allowed::Kind::kBitmap;
  const std::vector<uint32_t>& bits = allowed.bitmap();
  const auto keep = [&](const uint32_t* slots, size_t count) {
    if (allowed.kind == Allowed::Kind::kTest) return allowed.test->keep(slots, count, passed);
    size_t kept = 0;
    for (size_t j = 0; j < count; j++) {
      passed[kept] = uint32_t(j);
      kept += size_t(all || Allowed::in(bits, slots[j]));
    }
    return kept;
  };
  // The memory is asked for the slots of a cell three cells before, and for what they are tested by one before.
  const auto prefetch_ahead = [&](const CellOrder& order) {
    const RankedCell* third = order.ahead(2);
    if (third != nullptr) cells.prefetch(third->number);
    const RankedCell* following = order.ahead(0);
    if (following == nullptr || cells.sorted() || allowed.kind != Allowed::Kind::kTest) return;
    allowed.test->prefetch(cells.slots(following->number), std::min(kAsked, cells.size(following->number)));
  };
  const auto add = [&](uint32_t row) {
    // Cells hold rows from all over.
    __builtin_prefetch(&rows.meta(row));
    for (size_t at = 0; at < prefetched; at += 64) __builtin_prefetch(rows.code(row) + at);
    batch[waiting++] = row;
    if (waiting == 2 * kBatch) score(kBatch);
  };
  const double mean_size = double(cells.rows()) / double(std::max<size_t>(1, cells.count()));
  thread_local CellScratch scratch;
  // Centres are coded as bytes, whatever the rows are.
  std::optional<Query> by_bytes;
  if (rows.codes().quantization != Quantization::kInt8) by_bytes.emplace(rows, cells.centres(), request.query.data());
  CellOrder order(cells, by_bytes.has_value() ? *by_bytes : query, scratch);
  cost.scored += cells.count();
  const auto least = [&] { return best.full() ? best.last() - reach : -std::numeric_limits<float>::infinity(); };
  double ask_at = kScanPart * scan_visits;
  while (true) {
    if (double(visited) >= ask_at) {
      if (double(order.left(least())) * mean_size > scan_visits) return false;
      ask_at = kAskAgain * double(visited);
    }
    if (double(visited) * kCellRowNs + scan_ns(rows, double(found)) > ns_max) return false;
    const RankedCell* next = order.next(least());
    if (next == nullptr) break;
    prefetch_ahead(order);
    const size_t size = cells.size(next->number);
    for (size_t i = order.is_first() ? 0 : kCellsAhead - 1; request.from_disk && i < kCellsAhead; i++) {
      const RankedCell* later = order.ahead(i);
      if (later != nullptr && later->key >= least()) ask_ahead(rows, cells, later);
    }
    visited += size;
    for (size_t j = 0; cells.sorted() && j < size; j++) {
      const uint32_t row = cells.first_row(next->number) + uint32_t(j);
      if (rows.dead(row) || !request.allowed.has(rows.slot(row))) continue;
      found++;
      add(row);
    }
    for (size_t first = 0; !cells.sorted() && first < size; first += kAsked) {
      const uint32_t* numbers = cells.row_numbers(next->number) + first;
      const size_t count = keep(cells.slots(next->number) + first, std::min(kAsked, size - first));
      found += count;
      for (size_t j = 0; j < count; j++) {
        if (!rows.dead(numbers[passed[j]])) add(numbers[passed[j]]);
      }
    }
    while (waiting >= kBatch || (waiting > 0 && !best.full())) score(std::min(waiting, kBatch));
    const double expected = double(visited) * share;
    if (std::abs(double(found) - expected) > kChance * std::sqrt(expected) + kChance) reach = reach_by_place;
  }
  cost.expanded += visited;
  while (waiting > 0) score(std::min(waiting, kBatch));
  scan_later(snapshot, query, request, request.allowed, cells.rows(), stop, candidates, cost);
  hits = finished(candidates, rows, request, cost);
  return true;
}

// Walks the graph and scans the rows that are not in it. Answers false if the walk found fewer rows than it should.
// A filtered walk that keeps more than `pool_max` rows gives up.
bool walk_and_scan(const Snapshot& snapshot, const Query& query, const SearchRequest& request, const StopFlag& stop,
                   double pool_max, std::vector<Hit>& hits, SearchCost& cost) {
  const RowStore& rows = *snapshot.rows;
  const Graph& graph = *snapshot.graph;
  const Plan plan = plan_walk(snapshot, request.k, request.effort_kind, request.ef, request.allowed.count);
  const size_t wanted = size_t(std::ceil(plan.wanted));
  const bool filtered = request.allowed.kind == Allowed::Kind::kBitmap;
  // Not so where a filter allows all.
  const bool some = filtered && request.allowed.count < rows.live() && snapshot.effort.reaches_target_filtered();
  WalkScratch& scratch = WalkScratch::of_this_thread();
  const auto walk_over = [&](const auto& lists, const auto& eligible) {
    if (request.effort_kind == EffortKind::kGiven) {
      // Three times the expected number. Beyond that the eligible rows are far from the query, and a scan is safer.
      return walk<FixedPool>(rows, graph, lists, query, eligible, {wanted, size_t(3 * plan.pool) + 64}, kNoRow,
                             scratch);
    }
    const WalkReach reach{rows, query, snapshot.effort, graph.rows(), wanted, plan.gamma, some,
                          size_t(some ? std::min(plan.pool, pool_max) : plan.pool) + 1};
    return walk<ReachPool>(rows, graph, lists, query, eligible, reach, kNoRow, scratch);
  };
  const auto walk_among = [&](const auto& eligible) {
    return with_lists(graph, [&](const auto& lists) { return walk_over(lists, eligible); });
  };
  const bool all_live = rows.live() == rows.count();
  const WalkResult found =
      filtered ? walk_among([&](uint32_t row) { return !rows.dead(row) && request.allowed.has(rows.slot(row)); })
      : all_live ? walk_among([](uint32_t) { return true; })
                 : walk_among([&](uint32_t row) { return !rows.dead(row); });
  cost.scored += found.scored;
  cost.left_out += found.left_out;
  cost.expanded += found.entries;
  if (found.eligible < std::min(wanted, request.allowed.count)) return false;
  if (some && found.full && request.effort_kind == EffortKind::kCalibrated) return false;
  Candidates candidates(query, request.k, snapshot.effort.deviations_for(request.allowed.count < rows.live()));
  add_pool(rows, scratch, found, candidates);
  Allowed rest;
  const Allowed& allowed = request.allowed.kind == Allowed::Kind::kBitmap ? request.allowed : rest;
  scan_later(snapshot, query, request, allowed, graph.rows(), stop, candidates, cost);
  hits = finished(candidates, rows, request, cost);
  return true;
}

// Of a search that walks.
double search_ns(const Snapshot& snapshot, size_t k, EffortKind effort_kind, size_t ef, size_t allowed_count) {
  const RowStore& rows = *snapshot.rows;
  const Plan plan = plan_walk(snapshot, k, effort_kind, ef, allowed_count);
  const double in_graph = double(snapshot.graph->rows());
  const double share = std::min(1.0, double(allowed_count) / double(std::max<size_t>(1, rows.live())));
  return walk_ns(rows, std::min(plan.scored, in_graph)) + later_ns(snapshot, snapshot.graph->rows(), share);
}

// Whether cells take less than a walk, for a search that does not scan.
bool prefers_cells(const Snapshot& snapshot, size_t k, EffortKind effort_kind, size_t allowed_count) {
  if (snapshot.graph == nullptr) return true;
  if (effort_kind != EffortKind::kCalibrated) return false;
  const double expected = cells_ns(snapshot, k, allowed_count);
  if (!std::isfinite(expected)) return false;
  return !snapshot.effort.reaches_target_filtered() || expected < search_ns(snapshot, k, effort_kind, 0, allowed_count);
}

bool prefers_cells(const Snapshot& snapshot, const SearchRequest& request) {
  if (request.allowed.kind == Allowed::Kind::kTest) return true;
  if (snapshot.graph != nullptr && request.allowed.kind != Allowed::Kind::kBitmap) return false;
  return prefers_cells(snapshot, request.k, request.effort_kind, request.allowed.count);
}

// Makes an answer of the hits of a search that began at `changes`. No score of it is one of another vector than was
// put.
void finish_hits(const RowStore& rows, uint64_t changes, size_t k, std::vector<Hit>& hits) {
  if (rows.changes() != changes) keep_newest_rows(rows, hits);
  cut_hits(rows, hits, k);
  for (const Hit& hit : hits) rows.require_match(hit.row);
}

}  // namespace

void count_allowed(const RowStore& rows, Allowed& allowed) {
  constexpr size_t kSampledRows = 4096;
  const size_t count = rows.count(), live = rows.live();
  if (allowed.kind == Allowed::Kind::kAll) allowed.count = live;
  if (allowed.kind != Allowed::Kind::kBitmap || count == 0) return;
  const size_t step = std::max<size_t>(1, count / kSampledRows);
  size_t seen = 0, found = 0;
  for (size_t row = 0; row < count; row += step) {
    if (rows.dead(row)) continue;
    seen++;
    found += allowed.has(rows.slot(row));
  }
  // One more than were seen where a sample may miss some: what is wanted may be the one that it did not meet.
  const double share = seen == 0 ? 1 : (double(found) + (step > 1 ? 1 : 0)) / double(seen);
  allowed.count = std::min(live, size_t(std::ceil(share * double(live))));
}

bool prefers_scan(const Snapshot& snapshot, size_t k, EffortKind effort_kind, size_t ef, size_t allowed_count) {
  if (effort_kind == EffortKind::kExact) return true;
  if (snapshot.graph == nullptr) {
    if (snapshot.cells == nullptr) return true;
    const size_t wanted = effort_kind == EffortKind::kGiven ? std::max(k, ef) : k;
    return !(cells_ns(snapshot, wanted, allowed_count) <
             scan_ns(*snapshot.rows, double(std::min(allowed_count, snapshot.rows->live()))));
  }
  if (effort_kind == EffortKind::kCalibrated && !snapshot.effort.reaches_target()) return true;
  const Plan plan = plan_walk(snapshot, k, effort_kind, ef, allowed_count);
  const double scored = std::min(plan.scored, double(snapshot.graph->rows()));
  if (effort_kind == EffortKind::kGiven) return double(allowed_count) <= kScanAdvantage * scored;
  const double scan = scan_ns(*snapshot.rows, double(allowed_count));
  if (cells_ns(snapshot, k, allowed_count) < scan) return false;
  if (allowed_count < snapshot.rows->live() && !snapshot.effort.reaches_target_filtered()) return true;
  return scan <= walk_ns(*snapshot.rows, scored);
}

bool looks_through_cells(const Snapshot& snapshot, size_t k, EffortKind effort_kind, size_t allowed_count) {
  return snapshot.graph != nullptr && !prefers_scan(snapshot, k, effort_kind, 0, allowed_count) &&
         prefers_cells(snapshot, k, effort_kind, allowed_count);
}

std::vector<Hit> search(const Snapshot& snapshot, const SearchRequest& request, const StopFlag& stop,
                        SearchCost& cost) {
  const RowStore& rows = *snapshot.rows;
  const uint64_t changes = rows.changes();
  const Query query(rows, request.query.data());
  std::vector<Hit> hits;
  const float deviations = request.compares_all ? kDeviations : scan_deviations(snapshot, request);
  const auto scan = [&](float by) { hits = scan_codes(snapshot, query, request, by, stop, cost); };
  // Whether hits have all that tie.
  bool is_sure = false;
  if (request.effort_kind == EffortKind::kExact || query.needs_exact_scan()) {
    cost.plan = SearchPlan::kExact;
    hits = scan_exactly(rows, query, request, stop, cost);
    is_sure = true;
  } else if (request.compares_all || request.allowed.kind == Allowed::Kind::kSlots ||
             prefers_scan(snapshot, request.k, request.effort_kind, request.ef, request.allowed.count)) {
    scan(deviations);
    is_sure = deviations >= kDeviations;
  } else if (prefers_cells(snapshot, request)) {
    cost.plan = SearchPlan::kCells;
    if (!scan_cells(snapshot, query, request, stop, kAnyTime, hits, cost)) {
      cost.plan = SearchPlan::kCellsThenScan;
      scan(deviations);
    }
  } else if (walk_and_scan(snapshot, query, request, stop, kPoolAny, hits, cost)) {
    cost.plan = SearchPlan::kWalk;
  } else {
    cost.plan = SearchPlan::kWalkThenScan;
    scan(deviations);
  }
  finish_hits(rows, changes, request.k, hits);
  if (is_sure || !has_long_tie(hits)) return hits;
  if (cost.plan == SearchPlan::kCells) cost.plan = SearchPlan::kCellsThenScan;
  if (cost.plan == SearchPlan::kWalk) cost.plan = SearchPlan::kWalkThenScan;
  scan(kDeviations);
  finish_hits(rows, changes, request.k, hits);
  return hits;
}

std::optional<SearchPlan> inline_plan(const Snapshot& snapshot, const SearchRequest& request) {
  const Allowed& allowed = request.allowed;
  const bool listed = allowed.kind == Allowed::Kind::kSlots;
  const bool scan = listed || (allowed.kind != Allowed::Kind::kTest &&
                               prefers_scan(snapshot, request.k, request.effort_kind, request.ef, allowed.count));
  const bool cells = !scan && prefers_cells(snapshot, request);
  const double expected = scan ? listed ? scan_ns(*snapshot.rows, double(allowed.count)) : later_ns(snapshot, 0, 1)
                          : cells
                              ? cells_ns(snapshot, request.k, allowed.count)
                              : search_ns(snapshot, request.k, request.effort_kind, request.ef, allowed.count);
  if (expected > kInlineNs) return std::nullopt;
  return scan ? SearchPlan::kScan : cells ? SearchPlan::kCells : SearchPlan::kWalk;
}

size_t inline_pool_max(const Snapshot& snapshot) {
  // It may have to go much farther than expected, where allowed rows are far from the query.
  const double scored_max = kInlineSlack * kInlineNs / walk_ns(*snapshot.rows, 1);
  return size_t(scored_max / std::max(1.0f, snapshot.effort.scored_per_expanded()));
}

std::optional<std::vector<Hit>> search_inline(const Snapshot& snapshot, const SearchRequest& request,
                                              const StopFlag& stop, SearchCost& cost) {
  const RowStore& rows = *snapshot.rows;
  const uint64_t changes = rows.changes();
  if (request.effort_kind == EffortKind::kExact) return std::nullopt;
  const std::optional<SearchPlan> plan = inline_plan(snapshot, request);
  if (!plan.has_value()) return std::nullopt;
  const bool scan = plan == SearchPlan::kScan, cells = plan == SearchPlan::kCells;
  const Query query(rows, request.query.data());
  if (query.needs_exact_scan()) return std::nullopt;
  std::vector<Hit> hits;
  cost.plan = *plan;
  const float deviations = scan_deviations(snapshot, request);
  if (scan) {
    hits = scan_codes(snapshot, query, request, deviations, stop, cost);
  } else if (cells) {
    if (!scan_cells(snapshot, query, request, stop, kInlineSlack * kInlineNs, hits, cost)) return std::nullopt;
  } else {
    if (!walk_and_scan(snapshot, query, request, stop, inline_pool_max(snapshot), hits, cost)) return std::nullopt;
  }
  finish_hits(rows, changes, request.k, hits);
  if (!(scan && deviations >= kDeviations) && has_long_tie(hits)) return std::nullopt;
  return hits;
}

}  // namespace quiver
