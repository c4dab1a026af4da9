#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "candidates.h"
#include "cells/cell_order.h"
#include "query.h"
#include "search.h"
#include "shared_best.h"
#include "stop_flag.h"

namespace quiver {

/**
 * A calibrated search of one of several stores whose rows lie in cells. It is after its part of the joint answer, not
 * after as many rows of its own: it reads the cells whose centres are near enough to the last row of the joint answer
 * so far. How near is measured for each depth that this row may have in the store (Cells::reach_of_part), and that
 * follows from what turns up. It is done in turns, so that all searches soon know what the others have found.
 *
 * One thread at a time.
 */
class SegmentSearch {
 public:
  /// Whether a store is searched so: not where a scan is expected to take less, or where what that needs was not
  /// measured. `expected`: how many rows of the answer this store has, about.
  static bool suits(const Snapshot& snapshot, const SearchRequest& request, double expected);

  // `request`: its `allowed` counts the rows of this store. All of them live longer.
  SegmentSearch(const Snapshot& snapshot, const SearchRequest& request, double expected, SharedBest& best);

  // Whether codes can't rank rows for this query.
  bool needs_exact_scan() const { return query_.needs_exact_scan(); }

  enum class Turn { kOver, kDone, kScan };
  /// Looks through cells until none is near enough (kDone), or until a turn is over. kScan: a scan is expected to take
  /// less than what is left, or all that was measured is not enough. Throws ClosedError when `stop` is raised.
  Turn take_turn(bool from_disk, const StopFlag& stop, SearchCost& cost);
  // What was found, when it is done.
  BoundedRows bounded() { return candidates_.bounded(); }

 private:
  static double share_of(const Snapshot& snapshot, const SearchRequest& request);
  // The least key of a centre whose cell is read. Minus infinity while too few rows are known.
  float least();
  float reach() const;
  void read_cell(uint32_t cell);
  void score(size_t count, SearchCost& cost);

  const Snapshot& snapshot_;
  const SearchRequest& request_;
  SharedBest& best_;
  const Query query_;
  // Centres are coded as bytes, whatever the rows are.
  std::optional<Query> by_bytes_;
  CellScratch scratch_;
  CellOrder order_;
  Candidates candidates_;
  const double expected_, share_;
  // Rows whose cells take as long as a scan.
  const double scan_visits_;
  // Whether allowed rows turned up as if they were allowed by where they lie.
  bool by_place_ = false;
  // Its best keys, best first, and how many of them are in the joint answer so far.
  std::vector<float> own_;
  size_t in_answer_ = 0;
  // The last key of the answer so far, and the depth that it says.
  float last_ = 0;
  double least_depth_ = 1;
  // By these.
  float reach_;
  // Rows that wait for their turn to be scored.
  std::vector<uint32_t> waiting_;
  std::vector<float> better_;
  size_t visited_ = 0, found_ = 0, turn_rows_;
  double ask_at_;
};

}  // namespace quiver
