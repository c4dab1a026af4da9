#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "codes/codes.h"
#include "graph/graph.h"
#include "search/query.h"
#include "rows/row_store.h"
#include "stop_flag.h"

namespace quiver {

/**
 * The rows of a graph in cells: rows that are near each other, and their centre ("inverted file"). A filtered search
 * whose walk would have to pass through many rows looks through the cells with the nearest centres, and scores only the
 * rows that are allowed. Immutable; rows that come later are scanned.
 *
 * A store on the disk has no graph. Its cells are made of codes alone, its rows lie in the order of their cells, and
 * every search goes by them (segment_sealing.h).
 *
 * How far such a search goes is measured on rows of its own, as for walks (calibration.h): it goes on to a cell if its
 * centre's key is at most so many `units` below that of the last row that is wanted.
 */
class Cells {
 public:
  /// Depths that are measured: ranks of the last row wanted among all rows, by k and a filter that allows one row in
  /// `scarcity`.
  struct Depth {
    size_t k;
    uint32_t scarcity;
    double rows() const { return double(k) * scarcity; }
  };
  static constexpr size_t kDepths = 4;
  static constexpr Depth kDepthOf[kDepths] = {{10, 1}, {10, 10}, {40, 10}, {10, 100}};

  /// Up to so deep each depth is measured: fewer are wanted of a store that is one of several.
  static constexpr size_t kFew = 10;

  /// What was measured, for a save.
  struct Measured {
    float beyond[kDepths];
    float beyond_by_place;
    double visited[kDepths];
  };
  /// The same for the best 1, 2, … kFew rows: of all, and of those that are allowed by where they lie. visited 0: not
  /// measured.
  struct MeasuredFew {
    float beyond[kFew], beyond_by_place[kFew];
    // How far the last of the rows of each depth is from nearly all queries, in units (cells.cc).
    float farthest[kDepths];
    double visited[kFew];
  };

  /**
   * `codes`: int8 codes of the rows. Uses `threads` threads of low priority. Throws ClosedError when `stop` is raised;
   * std::bad_alloc.
   */
  Cells(const RowStore& rows, const Codes& codes, const Graph& graph, double recall_target, unsigned threads,
        const StopFlag& stop);

  /**
   * Divides the live rows of a store without their graph. `order` are they, by cells; `begin_sorted` comes next. Throws
   * as above.
   */
  static std::shared_ptr<Cells> of_rows(const RowStore& rows, const Codes& codes, unsigned threads,
                                        const StopFlag& stop, std::vector<uint32_t>& order);
  // Measures on a store that has the rows in that order. Throws as above.
  void begin_sorted(const RowStore& sorted, const Codes& codes, double recall_target, unsigned threads,
                    const StopFlag& stop);
  // Those of a store that was saved: `starts` as `starts()` said.
  Cells(const RowStore& sorted, const Codes& codes, std::vector<uint32_t> starts, const Measured& measured,
        const MeasuredFew& few, unsigned threads, const StopFlag& stop);

  // Whether rows lie in the order of their cells: from `first_row(cell)` on.
  bool sorted() const { return sorted_; }
  uint32_t first_row(size_t cell) const { return starts_[cell]; }
  const std::vector<uint32_t>& starts() const { return starts_; }
  Measured measured() const;
  const MeasuredFew& measured_few() const { return few_; }

  /// Rows of the graph that they were made of: the first ones.
  size_t rows() const { return rows_; }
  size_t count() const { return starts_.empty() ? 0 : starts_.size() - 1; }
  const Codes& centres() const { return centres_; }
  // A cell's rows, of which some may have died since, and the slots that they were put for. Not where they are sorted.
  const uint32_t* row_numbers(size_t cell) const {
    return (row_numbers_.empty() ? slots_ : row_numbers_).data() + starts_[cell];
  }
  const uint32_t* slots(size_t cell) const { return slots_.data() + starts_[cell]; }
  size_t size(size_t cell) const { return starts_[cell + 1] - starts_[cell]; }
  // Asks the memory for the slots and rows of a cell.
  void prefetch(size_t cell) const {
    if (sorted_) return;
    for (const std::vector<uint32_t>* numbers : {&slots_, &row_numbers_}) {
      for (size_t i = starts_[cell]; !numbers->empty() && i < starts_[cell + 1]; i += 16)
        __builtin_prefetch(numbers->data() + i);
    }
  }

  // How far below the key of the last row wanted a centre's may be, for a query.
  float reach(const Query& query, double depth) const;
  // The same where rows are allowed by where they lie: those in some cells, and not those in others.
  float reach_by_place(const Query& query) const { return beyond_by_place_ * unit(query); }
  // Rows in the cells that a search looks through, about. 0: so deep is out of reach.
  double visited(double depth) const;

  /**
   * The same for a store that is one of several: how far below the key of the last row of their joint answer a centre's
   * may be, if that row would be at this depth among those of the store, or between this and the next. Rises with the
   * depth. Infinite: so deep is out of reach.
   */
  float reach_of_part(const Query& query, double depth) const;
  // The least depth at which rows with such a key are found around rows of this store. A query that has nothing near it
  // here, but in another store, meets rows that are farther from it than the same number is from rows of this one.
  double depth_of_key(const Query& query, float key) const;
  // Where rows are allowed by where they lie; `own` of them are in the answer.
  float reach_of_part_by_place(const Query& query, double own) const;
  // 0: so deep is out of reach, or was not measured.
  double visited_of_part(double depth) const;
  size_t memory_bytes() const;

 private:
  class Builder;
  Cells(const RowStore& rows, size_t count);
  // Between two depths that were measured.
  struct Place {
    size_t near, far;
    double part;
  };
  Place place(double depth) const;
  static size_t few_rank(double depth);
  void measure(const RowStore& rows, const Codes& codes, double recall_target, unsigned threads, const StopFlag& stop);
  // How far a row is from the query, in units, by its key.
  float units_away(const Query& query, float key) const;
  // What distances of rows to their centres are in keys of the query.
  float unit(const Query& query) const {
    return metric_ == Metric::kL2 ? spread_ : spread_ * query.zero_distance_key(1);
  }

  const Metric metric_;
  const size_t rows_;
  const bool sorted_;
  Codes centres_;
  std::vector<uint32_t> slots_;
  // Empty if each is its slot.
  std::vector<uint32_t> row_numbers_;
  // Where each cell's slots begin, and the end.
  std::vector<uint32_t> starts_;
  // cosine: 1 − the mean cosine of rows and their centres; l2: half the mean square distance; ip: its root.
  float spread_ = 0;
  float beyond_[kDepths] = {};
  float beyond_by_place_ = 0;
  double visited_[kDepths] = {};
  MeasuredFew few_ = {};
};

}  // namespace quiver
