#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "candidates.h"
#include "cells/cells.h"
#include "effort.h"
#include "filter/filter_evaluation.h"
#include "filter/slot_test.h"
#include "graph/graph.h"
#include "rows/row_store.h"
#include "codes/sketches.h"
#include "stop_flag.h"

namespace quiver {

// What a search works on; taken at the call, and kept alive by the search.
struct Snapshot {
  std::shared_ptr<RowStore> rows;
  // Null while the rows are few.
  std::shared_ptr<const Graph> graph;
  Effort effort;
  // Null until they are made of the graph's rows, or a part of these.
  std::shared_ptr<const Cells> cells = nullptr;
  // Of rows that are not in the graph; null where there are none.
  std::shared_ptr<const Sketches> sketches = nullptr;
};

enum class EffortKind { kCalibrated, kGiven, kExact };

// The slots that may be answers. Owned by the request, so that the caller may reuse its arrays when the call returns.
struct Allowed {
  enum class Kind { kAll, kSlots, kBitmap, kTest };
  Kind kind = Kind::kAll;
  // kSlots: the slots. kBitmap: bit s & 31 of word s >> 5 for slot s.
  std::vector<uint32_t> words;
  // kBitmap: those of several searches, in place of `words`; null: they are this one's.
  std::shared_ptr<const FoundSlots> remembered;
  // kTest: what each slot is asked. Only for a search that `looks_through_cells`.
  std::optional<SlotTest> test;
  // Number of slots allowed; with kTest about.
  size_t count = 0;

  bool has(uint32_t slot) const {
    if (kind == Kind::kTest) return test->has(slot);
    return kind != Kind::kBitmap || in_bitmap(slot);
  }
  const std::vector<uint32_t>& bitmap() const { return remembered == nullptr ? words : remembered->words; }
  bool in_bitmap(uint32_t slot) const { return in(bitmap(), slot); }
  static bool in(const std::vector<uint32_t>& bits, uint32_t slot) {
    return slot / 32 < bits.size() && (bits[slot / 32] >> (slot % 32) & 1) != 0;
  }
};

/**
 * Of a store that is one of several of an index: `allowed.count` becomes about how many of its own rows are allowed, as
 * a sample shows, because filters may have to do with when rows were put.
 */
void count_allowed(const RowStore& rows, Allowed& allowed);

struct SearchRequest {
  std::vector<float> query;
  size_t k;
  EffortKind effort_kind;
  /// With kGiven.
  size_t ef;
  Allowed allowed;
  // Where rows go that were found by their codes, in the place of hits, for who scores them again with others. Null:
  // nowhere.
  BoundedRows* bounded = nullptr;
  // Whether pages are likely to be read from the disk: cells are asked for ahead.
  bool from_disk = false;
  // Whether all allowed rows are compared, by their codes at least: no row that ties with another is left out then.
  bool compares_all = false;
};

/**
 * Whether scanning `allowed_count` slots (without a filter: all live ones) is expected to be faster than anything else,
 * or is necessary because nothing else can reach the recall. In that case the caller gives slots as a list, otherwise
 * as a bitmap.
 */
bool prefers_scan(const Snapshot& snapshot, size_t k, EffortKind effort_kind, size_t ef, size_t allowed_count);

// Whether a search that is calibrated and filtered, over so many slots, looks through cells.
bool looks_through_cells(const Snapshot& snapshot, size_t k, EffortKind effort_kind, size_t allowed_count);

/// How a search went about it, numbered as in native-binding.ts. kWalkThenScan: the walk did not find enough.
/// kCells: cells were looked through. kCellsThenScan: a scan then took less than the rest of them. Either scan also
/// follows where many rows of one score were found (kLongTie).
enum class SearchPlan { kScan, kWalk, kExact, kWalkThenScan, kCells, kCellsThenScan };

/// What a search took.
struct SearchCost {
  // Rows scored by their codes.
  size_t scored = 0;
  // Rows that a walk did not score, because their signs told enough.
  size_t left_out = 0;
  // Rows scored by their originals.
  size_t rescored = 0;
  // Rows of the graph that the walk kept and expanded: its effort, as ef counts it.
  size_t expanded = 0;
  SearchPlan plan = SearchPlan::kScan;
};

// The answer as documented at VectorIndex.search; any thread. Throws ClosedError when `stop` is raised.
std::vector<Hit> search(const Snapshot& snapshot, const SearchRequest& request, const StopFlag& stop, SearchCost& cost);

// How a search goes about it on a thread that has to serve others; nothing if it is expected to take longer than
// kInlineNs.
std::optional<SearchPlan> inline_plan(const Snapshot& snapshot, const SearchRequest& request);
// Most rows that a walk may keep there.
size_t inline_pool_max(const Snapshot& snapshot);

/**
 * As `search`, for a thread that has to serve others at once. Nothing, soon, if the search is expected to take longer
 * than kInlineNs, or turns out to.
 */
std::optional<std::vector<Hit>> search_inline(const Snapshot& snapshot, const SearchRequest& request,
                                              const StopFlag& stop, SearchCost& cost);

}  // namespace quiver
