#include "cells.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "search/calibration.h"
#include "errors.h"
#include "graph/row_query.h"
#include "threads.h"
#include "graph/walk.h"

namespace quiver {

namespace {

constexpr uint32_t kNoCell = UINT32_MAX;
// Rows of a cell as it is begun: the square root of all rows, divided by this.
constexpr double kSizeShare = 20;
constexpr size_t kSizeMin = 48, kSizeMax = 512;
// A cell begins with rows that are at most this much farther, by their square distance, than this many nearest links of
// the first: else what is left over of many places would become a cell.
constexpr float kWider = 1.3f;
constexpr size_t kNearLinks = 8;
// Cells below this part of that size are given up.
constexpr size_t kSmallShare = 4;
// The share of the rows that are compared with all centres in the end.
constexpr double kFarShare = 0.03;
// How often rows choose their cells anew.
constexpr int kCellRounds = 4;
// Rows or cells that a thread takes at a time, unless these are few.
constexpr size_t kPart = 1024;
// Rows that are asked as queries.
constexpr size_t kCellQueries = 1200;
// Without a graph memory is scarce, and so many of them tell how many rows are looked through.
constexpr size_t kVisitedQueries = 100;
constexpr size_t kCellPassQueries = 20;
// The same without a graph: each pass may read all codes from the disk.
constexpr size_t kSortedPassQueries = 100;
constexpr size_t kCellTileRows = 256;
// Rows by which the extent of a filter by place is found. The first of them are queries: they lie anywhere.
constexpr size_t kPlaceSample = 2000;
// By how many standard errors the measured recall must exceed the target.
constexpr double kCellMargin = 2;
// A depth is measured if there are so many times as many rows.
constexpr double kRowsPerDepth = 20;
// How much deeper than the deepest that was measured a search may go.
constexpr double kBeyondMeasuredDepth = 1.5;
// The share of queries whose row of some depth is nearer than what counts as farther than that depth.
constexpr double kNearlyAll = 0.95;
// Most units that a centre may lie below a row, and how exactly that is found.
constexpr float kBeyondMax = 16, kCellResolution = 0.01f;

// Without a graph: rows of a cell, about, and coarse cells, which are divided into those.
constexpr size_t kTreeSize = 64, kCoarseMax = 1024;
// Rows of which coarse cells are made, for each; how often they are made anew, and so for the cells in one.
constexpr size_t kCoarseSample = 64;
constexpr int kCoarseRounds = 6, kFineRounds = 4;
// So many of the nearest coarse cells are looked through for the cell of a row.
constexpr size_t kTops = 6;
constexpr int kTopRounds = 2;

// One of the best rows of a query.
struct Answer {
  float key;
  // That of the centre of its cell.
  float centre_key;
};

// Calls work(i) for i < count on all threads.
void for_all(size_t count, unsigned threads, const StopFlag& stop, const std::function<void(size_t, size_t)>& work,
             size_t part = kPart) {
  std::atomic<size_t> next{0};
  run_in_background_threads(threads, [&](unsigned) {
    for (size_t i = next.fetch_add(part); i < count; i = next.fetch_add(part)) {
      if (stop.load(std::memory_order_relaxed)) throw ClosedError();
      work(i, std::min(i + part, count));
    }
  });
}

}  // namespace

// The next of the candidates, 64 at a time, for a row.
template <class Add>
void score_range(Scorer<RowQuery>& scorer, size_t first, size_t end, const Add& add) {
  while (first < end) {
    size_t count = 0;
    for (; first < end && count < kDegreeMax; first++) scorer.near_rows[count++] = uint32_t(first);
    scorer.score(count);
    for (size_t j = 0; j < count; j++) add(scorer.near_rows[j], scorer.keys[j]);
  }
}

/**
 * Divides the rows, by the links of the graph: near rows are linked, so few centres have to be compared with a row.
 * Without a graph by a tree: coarse cells of a sample, and each is divided anew.
 */
class Cells::Builder {
 public:
  Builder(Cells& cells, const RowStore& rows, const Codes& codes, const Graph* graph, unsigned threads,
          const StopFlag& stop)
      : cells_(cells),
        rows_(rows),
        codes_(codes),
        graph_(graph),
        threads_(threads),
        stop_(stop),
        cell_of_(cells.rows(), kNoCell) {}

  // Leaves the rows by cells in `order`.
  void run_without_graph(std::vector<uint32_t>& order) {
    begin_tree();
    for (int round = 0; round < kTopRounds; round++) {
      group();
      make_centres();
      choose_among_tops();
    }
    tops_ = {};
    group();
    make_centres();
    move_far_rows();
    drop_empty_in_order();
    group();
    order.swap(cells_.slots_);
    cells_.slots_ = {};
  }

  // Of rows that lie in the order of their cells, which have their starts.
  void run_sorted() {
    is_sorted_ = true;
    count_ = cells_.count();
    for (size_t cell = 0; cell < count_; cell++) {
      std::fill(cell_of_.begin() + ptrdiff_t(cells_.starts_[cell]),
                cell_of_.begin() + ptrdiff_t(cells_.starts_[cell + 1]), uint32_t(cell));
    }
    make_centres();
    measure_spread();
  }

  void run() {
    run_in_background_threads(1, [&](unsigned) { begin_cells(); });
    for (int round = 0; round < kCellRounds; round++) {
      group();
      make_centres();
      choose_cells();
    }
    group();
    make_centres();
    move_far_rows();
    drop_empty();
    group();
    make_centres();
    measure_spread();
    name_slots();
  }

 private:
  // A row that is in no cell yet begins one, with those near it that are in none either.
  void begin_cells() {
    const size_t rows = graph_->rows();
    size_ = size_t(std::clamp(std::sqrt(double(rows)) / kSizeShare, double(kSizeMin), double(kSizeMax)));
    RowQuery query(codes_);
    Scorer<RowQuery> scorer(codes_, query);
    std::vector<uint32_t> members;
    std::vector<float> distances;
    int32_t list[kDegreeMax];
    for (size_t row = 0; row < rows; row++) {
      if (row % kPart == 0 && stop_.load(std::memory_order_relaxed)) throw ClosedError();
      if (cell_of_[row] != kNoCell || rows_.dead(row)) continue;
      const uint32_t cell = uint32_t(count_++);
      members.assign(1, uint32_t(row));
      cell_of_[row] = cell;
      query.set(uint32_t(row));
      float farthest = 0;
      for (size_t i = 0; i < members.size() && members.size() < size_; i++) {
        graph_->read_list(members[i], list);
        size_t count = 0;
        for (size_t j = 0; j < graph_->degree() && list[j] >= 0; j++) {
          if (i == 0 || cell_of_[size_t(list[j])] == kNoCell) scorer.near_rows[count++] = uint32_t(list[j]);
        }
        scorer.score(count);
        if (i == 0) {
          distances.clear();
          for (size_t j = 0; j < count; j++) distances.push_back(distance(row, scorer.near_rows[j], scorer.keys[j]));
          if (count == 0) break;
          const auto nth = distances.begin() + ptrdiff_t(std::min(kNearLinks, count) - 1);
          std::nth_element(distances.begin(), nth, distances.end());
          farthest = kWider * *nth;
        }
        for (size_t j = 0; j < count && members.size() < size_; j++) {
          const uint32_t link = scorer.near_rows[j];
          if (cell_of_[link] != kNoCell || rows_.dead(link)) continue;
          if (!(distance(row, link, scorer.keys[j]) <= farthest)) continue;
          cell_of_[link] = cell;
          members.push_back(link);
        }
      }
    }
  }

  // The mean of rows: by their codes.
  void encode_mean(Codes& centres, size_t centre, const uint32_t* rows, size_t count, std::vector<float>& mean) const {
    std::fill(mean.begin(), mean.end(), 0.0f);
    for (size_t i = 0; i < count; i++) {
      const uint8_t* code = codes_.code(rows[i]);
      const float scale = codes_.meta(rows[i]).scale / float(count);
      for (size_t j = 0; j < codes_.dim; j++) mean[j] += scale * float(int(code[j]) - 128);
    }
    centres.encode(centre, mean.data());
  }

  static float nearness_to(const Codes& centres, float key, size_t centre) {
    const float norm = centres.meta(centre).norm;
    return centres.metric == Metric::kIp ? key - norm * norm / 2 : key;
  }

  // The nearest of the first `count` centres to a row.
  uint32_t nearest_of(const Codes& centres, Scorer<RowQuery>& scorer, RowQuery& query, uint32_t row,
                      size_t count) const {
    query.set(row);
    uint32_t nearest = 0;
    float best = -std::numeric_limits<float>::infinity();
    score_range(scorer, 0, count, [&](uint32_t centre, float key) {
      const float near = nearness_to(centres, key, centre);
      if (!(near > best)) return;
      best = near;
      nearest = centre;
    });
    return nearest;
  }

  // The rows of each of `count` groups, one after the other, and where they start.
  static std::vector<uint32_t> grouped(const std::vector<uint32_t>& rows, const std::vector<uint32_t>& group_of,
                                       size_t count, std::vector<uint32_t>& starts) {
    starts.assign(count + 1, 0);
    for (uint32_t group : group_of) starts[group + 1]++;
    for (size_t i = 0; i < count; i++) starts[i + 1] += starts[i];
    std::vector<uint32_t> next(starts.begin(), starts.end() - 1), result(rows.size());
    for (size_t i = 0; i < rows.size(); i++) result[next[group_of[i]]++] = rows[i];
    return result;
  }

  void begin_tree() {
    size_ = kTreeSize;
    std::vector<uint32_t> live;
    for (size_t row = 0; row < cell_of_.size(); row++) {
      if (!rows_.dead(row)) live.push_back(uint32_t(row));
    }
    if (live.empty()) return;
    const size_t coarse = std::clamp<size_t>(size_t(std::sqrt(double(live.size()))), 1, kCoarseMax);
    std::vector<uint32_t> sample = live;
    std::mt19937_64 random(live.size());
    const size_t sampled = std::min(live.size(), coarse * kCoarseSample);
    for (size_t i = 0; i < sampled; i++) std::swap(sample[i], sample[i + random() % (sample.size() - i)]);
    sample.resize(sampled);
    Codes centres(codes_.metric, Quantization::kInt8, codes_.dim, codes_.kernels);
    centres.reserve(coarse);
    std::vector<float> first_mean(codes_.dim);
    for (size_t i = 0; i < coarse; i++) encode_mean(centres, i, &sample[i], 1, first_mean);
    std::vector<uint32_t> chosen(sampled), starts;
    for (int round = 0; round < kCoarseRounds; round++) {
      for_all(sampled, threads_, stop_, [&](size_t first, size_t last) {
        RowQuery query(codes_);
        Scorer<RowQuery> scorer(centres, query);
        for (size_t i = first; i < last; i++) chosen[i] = nearest_of(centres, scorer, query, sample[i], coarse);
      });
      const std::vector<uint32_t> by_centre = grouped(sample, chosen, coarse, starts);
      for_all(coarse, threads_, stop_, [&](size_t first, size_t last) {
        std::vector<float> mean(codes_.dim);
        for (size_t i = first; i < last; i++) {
          if (starts[i + 1] > starts[i])
            encode_mean(centres, i, &by_centre[starts[i]], starts[i + 1] - starts[i], mean);
        }
      }, 16);
    }
    tops_.assign(cell_of_.size() * kTops, uint16_t(0));
    top_count_ = std::min(kTops, coarse);
    chosen.assign(live.size(), 0);
    for_all(live.size(), threads_, stop_, [&](size_t first, size_t last) {
      RowQuery query(codes_);
      Scorer<RowQuery> scorer(centres, query);
      for (size_t i = first; i < last; i++) {
        float best[kTops];
        uint16_t* top = &tops_[size_t(live[i]) * kTops];
        size_t kept = 0;
        query.set(live[i]);
        score_range(scorer, 0, coarse, [&](uint32_t centre, float key) {
          const float near = nearness_to(centres, key, centre);
          if (kept == top_count_ && !(near > best[kept - 1])) return;
          size_t place = kept < top_count_ ? kept++ : kept - 1;
          for (; place > 0 && near > best[place - 1]; place--) {
            best[place] = best[place - 1];
            top[place] = top[place - 1];
          }
          best[place] = near;
          top[place] = uint16_t(centre);
        });
        chosen[i] = top[0];
      }
    });
    divide(grouped(live, chosen, coarse, starts), starts, coarse);
  }

  // Divides each coarse cell: `rows` by these.
  void divide(const std::vector<uint32_t>& rows, const std::vector<uint32_t>& starts, size_t coarse) {
    fine_starts_.assign(coarse + 1, 0);
    for (size_t i = 0; i < coarse; i++) {
      const size_t size = starts[i + 1] - starts[i];
      fine_starts_[i + 1] = uint32_t(fine_starts_[i] + (size + kTreeSize - 1) / kTreeSize);
    }
    count_ = fine_starts_[coarse];
    for_all(coarse, threads_, stop_, [&](size_t first, size_t last) {
      Codes centres(codes_.metric, Quantization::kInt8, codes_.dim, codes_.kernels);
      RowQuery query(codes_);
      Scorer<RowQuery> scorer(centres, query);
      std::vector<float> mean(codes_.dim);
      std::vector<uint32_t> chosen, own, own_starts;
      for (size_t i = first; i < last; i++) {
        const size_t fine = fine_starts_[i + 1] - fine_starts_[i];
        if (fine == 0) continue;
        own.assign(rows.begin() + ptrdiff_t(starts[i]), rows.begin() + ptrdiff_t(starts[i + 1]));
        centres.reserve(fine);
        for (size_t j = 0; j < fine; j++) encode_mean(centres, j, &own[j * own.size() / fine], 1, mean);
        chosen.resize(own.size());
        for (int round = 0; round < kFineRounds; round++) {
          for (size_t j = 0; j < own.size(); j++) chosen[j] = nearest_of(centres, scorer, query, own[j], fine);
          const std::vector<uint32_t> by_centre = grouped(own, chosen, fine, own_starts);
          for (size_t j = 0; j < fine; j++) {
            if (own_starts[j + 1] > own_starts[j])
              encode_mean(centres, j, &by_centre[own_starts[j]], own_starts[j + 1] - own_starts[j], mean);
          }
        }
        for (size_t j = 0; j < own.size(); j++) cell_of_[own[j]] = fine_starts_[i] + chosen[j];
      }
    }, 4);
  }

  // Each row goes to the nearest centre in its nearest coarse cells.
  void choose_among_tops() {
    std::vector<uint32_t> chosen(cell_of_.size(), kNoCell);
    for_all(cell_of_.size(), threads_, stop_, [&](size_t first, size_t last) {
      RowQuery query(codes_);
      Scorer<RowQuery> scorer(cells_.centres_, query);
      for (size_t row = first; row < last; row++) {
        if (cell_of_[row] == kNoCell) continue;
        query.set(uint32_t(row));
        chosen[row] = cell_of_[row];
        float best = -std::numeric_limits<float>::infinity();
        for (size_t i = 0; i < top_count_; i++) {
          const uint16_t top = tops_[row * kTops + i];
          score_range(scorer, fine_starts_[top], fine_starts_[top + 1], [&](uint32_t cell, float key) {
            if (cells_.size(cell) < size_ / kSmallShare) return;
            const float near = nearness(key, cell);
            if (!(near > best)) return;
            best = near;
            chosen[row] = cell;
          });
        }
      }
    });
    cell_of_.swap(chosen);
  }

  // Half the square distance of a row to another or to a centre, from their key.
  float half_square(float key, float norm, float other) const {
    return codes_.metric == Metric::kCosine ? 1 - key
           : codes_.metric == Metric::kL2   ? -key
                                            : (norm * norm + other * other) / 2 - key;
  }
  float distance(size_t row, size_t other, float key) const {
    return half_square(key, codes_.meta(row).norm, codes_.meta(other).norm);
  }
  float centre_distance(size_t row, size_t cell, float key) const {
    return half_square(key, codes_.meta(row).norm, cells_.centres_.meta(cell).norm);
  }

  // Sorts the rows by their cells.
  void group() {
    std::vector<uint32_t>& starts = cells_.starts_;
    starts.assign(count_ + 1, 0);
    for (uint32_t cell : cell_of_) {
      if (cell != kNoCell) starts[cell + 1]++;
    }
    for (size_t cell = 0; cell < count_; cell++) starts[cell + 1] += starts[cell];
    std::vector<uint32_t> next(starts.begin(), starts.end() - 1);
    cells_.slots_.resize(starts[count_]);
    for (size_t row = 0; row < cell_of_.size(); row++) {
      if (cell_of_[row] != kNoCell) cells_.slots_[next[cell_of_[row]]++] = uint32_t(row);
    }
  }

  void make_centres() {
    cells_.centres_.reserve(count_);
    for_all(count_, threads_, stop_, [&](size_t first, size_t last) {
      std::vector<float> mean(codes_.dim);
      std::vector<uint32_t> members;
      for (size_t cell = first; cell < last; cell++) {
        const size_t size = cells_.size(cell);
        if (is_sorted_) {
          members.resize(size);
          std::iota(members.begin(), members.end(), cells_.first_row(cell));
          encode_mean(cells_.centres_, cell, members.data(), size, mean);
        } else {
          encode_mean(cells_.centres_, cell, cells_.slots(cell), size, mean);
        }
      }
    });
  }

  // How near a centre is to a row, as RowQuery's key tells: comparable for one row.
  float nearness(float key, size_t cell) const { return nearness_to(cells_.centres_, key, cell); }

  // Each row goes to the nearest centre among those of the rows that it is linked with.
  void choose_cells() {
    std::vector<uint32_t> chosen(cell_of_.size(), kNoCell);
    for_all(cell_of_.size(), threads_, stop_, [&](size_t first, size_t last) {
      RowQuery query(codes_);
      Scorer<RowQuery> scorer(cells_.centres_, query);
      int32_t list[kDegreeMax];
      for (size_t row = first; row < last; row++) {
        const uint32_t own = cell_of_[row];
        if (own == kNoCell) continue;
        graph_->read_list(row, list);
        size_t count = 0;
        const auto add = [&](uint32_t cell) {
          if (count == kDegreeMax || cell == kNoCell || cells_.size(cell) < size_ / kSmallShare) return;
          if (std::find(scorer.near_rows, scorer.near_rows + count, cell) == scorer.near_rows + count) {
            scorer.near_rows[count++] = cell;
          }
        };
        add(own);
        for (size_t j = 0; j < graph_->degree() && list[j] >= 0; j++) add(cell_of_[size_t(list[j])]);
        query.set(uint32_t(row));
        scorer.score(count);
        chosen[row] = count > 0 ? scorer.near_rows[0] : own;
        float best = count > 0 ? nearness(scorer.keys[0], scorer.near_rows[0]) : 0;
        for (size_t j = 1; j < count; j++) {
          const float near = nearness(scorer.keys[j], scorer.near_rows[j]);
          if (!(near > best)) continue;
          best = near;
          chosen[row] = scorer.near_rows[j];
        }
      }
    });
    cell_of_.swap(chosen);
  }

  // The rows that are farthest from their centres are compared with all: the links of a few lead to the wrong place.
  void move_far_rows() {
    const size_t rows = cell_of_.size();
    std::vector<float> distances(rows, 0);
    for_all(rows, threads_, stop_, [&](size_t first, size_t last) {
      RowQuery query(codes_);
      Scorer<RowQuery> scorer(cells_.centres_, query);
      for (size_t row = first; row < last; row++) {
        if (cell_of_[row] == kNoCell) continue;
        query.set(uint32_t(row));
        scorer.near_rows[0] = cell_of_[row];
        scorer.score(1);
        distances[row] = centre_distance(row, cell_of_[row], scorer.keys[0]);
      }
    });
    std::vector<float> sorted = distances;
    const auto nth = sorted.begin() + ptrdiff_t(double(rows) * (1 - kFarShare));
    if (nth == sorted.end()) return;
    std::nth_element(sorted.begin(), nth, sorted.end());
    const float far = *nth;
    for_all(rows, threads_, stop_, [&](size_t first, size_t last) {
      RowQuery query(codes_);
      Scorer<RowQuery> scorer(cells_.centres_, query);
      for (size_t row = first; row < last; row++) {
        if (cell_of_[row] == kNoCell || !(distances[row] > far)) continue;
        query.set(uint32_t(row));
        float best = distances[row];
        for (size_t cell = 0; cell < count_;) {
          size_t count = 0;
          for (; cell < count_ && count < kDegreeMax; cell++) {
            if (cells_.size(cell) >= size_ / kSmallShare) scorer.near_rows[count++] = uint32_t(cell);
          }
          scorer.score(count);
          for (size_t j = 0; j < count; j++) {
            const float found = centre_distance(row, scorer.near_rows[j], scorer.keys[j]);
            if (!(found < best)) continue;
            best = found;
            cell_of_[row] = scorer.near_rows[j];
          }
        }
      }
    });
  }

  void drop_empty() {
    std::vector<uint32_t> number(count_, kNoCell);
    count_ = 0;
    for (uint32_t& cell : cell_of_) {
      if (cell == kNoCell) continue;
      if (number[cell] == kNoCell) number[cell] = uint32_t(count_++);
      cell = number[cell];
    }
  }

  // The same, but their order stays: cells of a coarse one lie together.
  void drop_empty_in_order() {
    std::vector<uint32_t> number(count_, 0);
    for (uint32_t cell : cell_of_) {
      if (cell != kNoCell) number[cell] = 1;
    }
    count_ = 0;
    for (uint32_t& place : number) place = place == 0 ? kNoCell : uint32_t(count_++);
    for (uint32_t& cell : cell_of_) {
      if (cell != kNoCell) cell = number[cell];
    }
  }

  // Rows become slots.
  void name_slots() {
    std::vector<uint32_t> numbers = cells_.slots_;
    bool same = true;
    for (uint32_t& row : cells_.slots_) {
      const uint32_t slot = rows_.slot(row);
      same = same && slot == row;
      row = slot;
    }
    if (!same) cells_.row_numbers_ = std::move(numbers);
  }

  void measure_spread() {
    RowQuery query(codes_);
    Scorer<RowQuery> scorer(cells_.centres_, query);
    double sum = 0;
    size_t count = 0;
    const size_t step = std::max<size_t>(1, cell_of_.size() / 10'000);
    for (size_t row = 0; row < cell_of_.size(); row += step) {
      if (cell_of_[row] == kNoCell) continue;
      query.set(uint32_t(row));
      scorer.near_rows[0] = cell_of_[row];
      scorer.score(1);
      sum += centre_distance(row, cell_of_[row], scorer.keys[0]);
      count++;
    }
    const double mean = count == 0 ? 0 : std::max(0.0, sum / double(count));
    cells_.spread_ = float(codes_.metric == Metric::kIp ? std::sqrt(2 * mean) : mean);
  }

  Cells& cells_;
  const RowStore& rows_;
  const Codes& codes_;
  const Graph* graph_;
  const unsigned threads_;
  const StopFlag& stop_;
  size_t size_ = 0;
  size_t count_ = 0;
  std::vector<uint32_t> cell_of_;
  // Without a graph: where the cells of each coarse one begin, and the nearest coarse ones of each row.
  std::vector<uint32_t> fine_starts_;
  std::vector<uint16_t> tops_;
  size_t top_count_ = 0;
  // Whether rows lie in the order of their cells already.
  bool is_sorted_ = false;
};

Cells::Cells(const RowStore& rows, const Codes& codes, const Graph& graph, double recall_target, unsigned threads,
             const StopFlag& stop)
    : metric_(rows.metric),
      rows_(graph.rows()),
      sorted_(false),
      centres_(rows.metric, Quantization::kInt8, rows.dim, rows.kernels) {
  if (rows.has_extreme_rows()) return;
  Builder(*this, rows, codes, &graph, threads, stop).run();
  measure(rows, codes, recall_target, threads, stop);
}

Cells::Cells(const RowStore& rows, size_t count)
    : metric_(rows.metric),
      rows_(count),
      sorted_(true),
      centres_(rows.metric, Quantization::kInt8, rows.dim, rows.kernels) {}

std::shared_ptr<Cells> Cells::of_rows(const RowStore& rows, const Codes& codes, unsigned threads, const StopFlag& stop,
                                      std::vector<uint32_t>& order) {
  const size_t count = rows.count();
  Cells made(rows, count);
  if (rows.has_extreme_rows()) {
    for (size_t row = 0; row < count; row++) {
      if (!rows.dead(row)) order.push_back(uint32_t(row));
    }
  } else {
    Builder(made, rows, codes, nullptr, threads, stop).run_without_graph(order);
  }
  std::shared_ptr<Cells> cells(new Cells(rows, order.size()));
  cells->starts_ = std::move(made.starts_);
  return cells;
}

void Cells::begin_sorted(const RowStore& sorted, const Codes& codes, double recall_target, unsigned threads,
                         const StopFlag& stop) {
  if (count() == 0) return;
  Builder(*this, sorted, codes, nullptr, threads, stop).run_sorted();
  measure(sorted, codes, recall_target, threads, stop);
}

Cells::Cells(const RowStore& sorted, const Codes& codes, std::vector<uint32_t> starts, const Measured& measured,
             const MeasuredFew& few, unsigned threads, const StopFlag& stop)
    : Cells(sorted, sorted.count()) {
  starts_ = std::move(starts);
  if (count() == 0) return;
  Builder(*this, sorted, codes, nullptr, threads, stop).run_sorted();
  std::copy(std::begin(measured.beyond), std::end(measured.beyond), beyond_);
  beyond_by_place_ = measured.beyond_by_place;
  std::copy(std::begin(measured.visited), std::end(measured.visited), visited_);
  few_ = few;
}

Cells::Measured Cells::measured() const {
  Measured measured{};
  std::copy(std::begin(beyond_), std::end(beyond_), measured.beyond);
  measured.beyond_by_place = beyond_by_place_;
  std::copy(std::begin(visited_), std::end(visited_), measured.visited);
  return measured;
}

void Cells::measure(const RowStore& rows, const Codes& codes, double recall_target, unsigned threads,
                    const StopFlag& stop) {
  // The cell of each row of the graph; kNoCell: it died meanwhile.
  std::vector<uint32_t> cell_of(rows_, kNoCell);
  std::vector<uint32_t> live;
  for (size_t cell = 0; cell < count(); cell++) {
    for (size_t i = 0; i < size(cell); i++) {
      const uint32_t row = sorted_ ? uint32_t(first_row(cell) + i) : row_numbers(cell)[i];
      if (rows.dead(row)) continue;
      cell_of[row] = uint32_t(cell);
      live.push_back(row);
    }
  }
  std::mt19937_64 random(rows_);
  const size_t queries = std::min(kCellQueries, live.size());
  for (size_t i = 0; i < queries; i++) std::swap(live[i], live[i + random() % (live.size() - i)]);
  // The last case is a filter by place.
  constexpr size_t kCases = kDepths + 1;
  // Where there is a graph, walks find what is nearest of all.
  const size_t first_depth = sorted_ ? 0 : 1;
  constexpr Depth kPlaces{10, 10};
  const auto k_of = [](size_t tried) { return tried < kDepths ? kDepthOf[tried].k : kPlaces.k; };
  // For each query and case the answers, best first, with the centres of their cells.
  std::vector<std::vector<Answer>> answers(queries * kCases);
  // For each query, or some of them, the keys of centres, sorted, and the rows in their cells and in those before.
  const size_t visits = sorted_ ? std::min(kVisitedQueries, queries) : queries;
  std::vector<std::vector<std::pair<float, uint32_t>>> centre_keys(visits);
  std::vector<float> units(queries);
  // Of each query and depth: how far the last answer is.
  std::vector<std::vector<float>> away(kDepths, std::vector<float>(queries));
  // A row for each pass, which is not one of the queries if there are others.
  const auto random_place = [&](size_t first) { return (queries + first) % live.size(); };
  // The key that one live row in so many exceeds, about.
  const auto key_of_share = [&](const Query& place, const std::vector<uint32_t>& among) {
    std::vector<float> keys;
    for (size_t i = 0; i < std::min(kPlaceSample, among.size()); i++) {
      const uint8_t* code = codes.code(among[i]);
      int32_t product;
      codes.dot(&code, 1, place.code(), codes.padded, &product);
      keys.push_back(place.key(product, codes.meta(among[i])));
    }
    const auto nth = keys.begin() + ptrdiff_t(keys.size() / kPlaces.scarcity);
    std::nth_element(keys.begin(), nth, keys.end(), std::greater<float>());
    return *nth;
  };
  const size_t pass = sorted_ ? kSortedPassQueries : kCellPassQueries;
  std::atomic<size_t> next{0};
  run_in_background_threads(threads, [&](unsigned) {
    int32_t products[kCellTileRows];
    const uint8_t* tile_codes[kCellTileRows];
    uint32_t tile[kCellTileRows];
    bool chance[kCellTileRows], placed[kCellTileRows];
    for (size_t first = next.fetch_add(pass); first < queries; first = next.fetch_add(pass)) {
      const size_t last = std::min(first + pass, queries);
      std::deque<Query> asked;
      // The best k of each query and depth, the worst on top.
      std::vector<std::vector<std::pair<float, uint32_t>>> best((last - first) * kCases);
      // For each query the least of the worst of these.
      std::vector<float> worst(last - first, -std::numeric_limits<float>::infinity());
      for (size_t i = first; i < last; i++) asked.emplace_back(rows, codes, rows.original(live[i]));
      const auto by_key = [](const auto& a, const auto& b) { return a.first > b.first; };
      // By place, the rows are allowed that are nearest to some other row.
      const Query place(rows, codes, rows.original(live[random_place(first)]));
      const float nearest_place = key_of_share(place, live);
      for (size_t start = 0; start < rows_; start += kCellTileRows) {
        if (stop.load(std::memory_order_relaxed)) throw ClosedError();
        size_t count = 0;
        for (size_t row = start; row < std::min(start + kCellTileRows, rows_); row++) {
          if (cell_of[row] == kNoCell) continue;
          tile[count] = uint32_t(row);
          tile_codes[count++] = codes.code(row);
        }
        codes.dot(tile_codes, count, place.code(), codes.padded, products);
        size_t kept = 0;
        for (size_t j = 0; j < count; j++) {
          const bool by_chance = allowed_by_chance(kDepthOf[1].scarcity, tile[j]);
          const bool by_place = place.key(products[j], codes.meta(tile[j])) >= nearest_place;
          if (!by_chance && !by_place && !sorted_) continue;
          tile[kept] = tile[j];
          tile_codes[kept] = tile_codes[j];
          chance[kept] = by_chance;
          placed[kept++] = by_place;
        }
        count = kept;
        for (size_t i = first; i < last; i++) {
          const Query& query = asked[i - first];
          codes.dot(tile_codes, count, query.code(), codes.padded, products);
          auto* const best_of_query = &best[(i - first) * kCases];
          for (size_t j = 0; j < count; j++) {
            const float key = query.key(products[j], codes.meta(tile[j]));
            // Most rows are among the best of no case.
            if (key <= worst[i - first] || tile[j] == live[i]) continue;
            for (size_t d = first_depth; d < kCases; d++) {
              auto& found = best_of_query[d];
              if (found.size() == k_of(d) && key <= found.front().first) continue;
              if (d == kDepths ? !placed[j]
                               : d > 0 && (!chance[j] || !allowed_by_chance(kDepthOf[d].scarcity, tile[j])))
                continue;
              if (found.size() == k_of(d)) {
                std::pop_heap(found.begin(), found.end(), by_key);
                found.pop_back();
              }
              found.push_back({key, tile[j]});
              std::push_heap(found.begin(), found.end(), by_key);
            }
            float least = std::numeric_limits<float>::infinity();
            for (size_t d = first_depth; d < kCases; d++) {
              least = best_of_query[d].size() < k_of(d) ? -std::numeric_limits<float>::infinity()
                                                        : std::min(least, best_of_query[d].front().first);
            }
            worst[i - first] = least;
          }
        }
      }
      std::vector<const uint8_t*> centre_codes(count());
      std::vector<int32_t> centre_products(count());
      for (size_t cell = 0; cell < count(); cell++) centre_codes[cell] = centres_.code(cell);
      for (size_t i = first; i < last; i++) {
        const Query& query = asked[i - first];
        centres_.dot(centre_codes.data(), count(), query.code(), centres_.padded, centre_products.data());
        std::vector<float> keys(count());
        for (size_t cell = 0; cell < count(); cell++)
          keys[cell] = query.key(centre_products[cell], centres_.meta(cell));
        // Its own cell would lie elsewhere without it.
        const uint32_t own = cell_of[live[i]];
        const float size_of_own = float(size(own));
        if (size_of_own > 1) {
          const float grown = size_of_own / (size_of_own - 1), norm = query.zero_distance_key(1);
          const float zero = query.zero_distance_key(0);
          keys[own] = metric_ == Metric::kL2 ? zero - (zero - keys[own]) * grown * grown
                      : metric_ == Metric::kIp
                          ? keys[own] * grown - norm * norm / (size_of_own - 1)
                          : keys[own] * grown - norm / std::max(0.05f, 1 - spread_) / (size_of_own - 1);
        }
        units[i] = unit(query);
        for (size_t d = 0; d < kCases; d++) {
          auto& found = best[(i - first) * kCases + d];
          std::sort(found.begin(), found.end(), by_key);
          for (const auto& [key, row] : found) answers[i * kCases + d].push_back({key, keys[cell_of[row]]});
          if (d < kDepths && !found.empty()) away[d][i] = units_away(query, found.back().first);
        }
        if (i >= visits) continue;
        for (size_t cell = 0; cell < count(); cell++) centre_keys[i].push_back({keys[cell], uint32_t(size(cell))});
        std::sort(centre_keys[i].begin(), centre_keys[i].end(), by_key);
        uint32_t before = 0;
        for (auto& [key, rows_so_far] : centre_keys[i]) rows_so_far = before += rows_so_far;
      }
    }
  });
  if (queries == 0) return;
  // Of the best `ranks` of a case.
  const auto reaches = [&](size_t tried, size_t ranks, float beyond) {
    // Queries of a pass have the same filter by place, so they don't fail independently of each other: they count as
    // one.
    const size_t together = tried == kDepths ? pass : 1;
    double sum = 0, squares = 0, part = 0;
    for (size_t i = 0; i < queries; i++) {
      const std::vector<Answer>& of_query = answers[i * kCases + tried];
      const size_t wanted = std::min(ranks, of_query.size());
      const auto found = std::count_if(
          of_query.begin(), of_query.begin() + ptrdiff_t(wanted),
          [&](const Answer& answer) { return of_query[wanted - 1].key - answer.centre_key <= beyond * units[i]; });
      const double recall = wanted == 0 ? 1 : double(found) / double(wanted);
      sum += recall;
      part += recall;
      if ((i + 1) % together != 0 && i + 1 != queries) continue;
      const double mean_of_part = part / double(i % together + 1);
      squares += mean_of_part * mean_of_part;
      part = 0;
    }
    const double mean = sum / double(queries), parts = std::ceil(double(queries) / double(together));
    const double error = std::sqrt(std::max(0.0, squares / parts - mean * mean) / parts);
    // Of who has few of an answer there are several, and their errors have nothing to do with each other.
    const double stores = std::max(1.0, double(kFew) / double(ranks));
    return mean - kCellMargin * error / std::sqrt(stores) >= recall_target;
  };
  const auto find_beyond = [&](size_t tried, size_t ranks) {
    float good = kBeyondMax, bad = -kBeyondMax;
    while (good - bad > kCellResolution) {
      const float middle = (good + bad) / 2;
      (reaches(tried, ranks, middle) ? good : bad) = middle;
    }
    return good;
  };
  const auto find_visited = [&](size_t tried, size_t ranks, float beyond) {
    double sum = 0;
    for (size_t i = 0; i < visits; i++) {
      const std::vector<Answer>& of_query = answers[i * kCases + tried];
      const float least = of_query.empty() ? 0 : of_query[std::min(ranks, of_query.size()) - 1].key - beyond * units[i];
      const auto end = std::partition_point(centre_keys[i].begin(), centre_keys[i].end(),
                                            [&](const auto& one) { return one.first >= least; });
      if (end != centre_keys[i].begin()) sum += (end - 1)->second;
    }
    return std::max(1.0, sum / double(visits));
  };
  const auto has_rows_for = [&](size_t d) { return double(live.size()) >= kRowsPerDepth * kDepthOf[d].rows(); };
  beyond_by_place_ = find_beyond(kDepths, k_of(kDepths));
  for (size_t d = first_depth; d < kDepths && has_rows_for(d); d++) {
    beyond_[d] = find_beyond(d, k_of(d));
    visited_[d] = find_visited(d, k_of(d), beyond_[d]);
    if (!sorted_) continue;
    const auto nth = away[d].begin() + ptrdiff_t(kNearlyAll * double(queries - 1));
    std::nth_element(away[d].begin(), nth, away[d].end());
    few_.farthest[d] = *nth;
  }
  for (size_t rank = 0; sorted_ && has_rows_for(0) && rank < kFew; rank++) {
    few_.beyond[rank] = find_beyond(0, rank + 1);
    few_.visited[rank] = find_visited(0, rank + 1, few_.beyond[rank]);
    few_.beyond_by_place[rank] = find_beyond(kDepths, rank + 1);
    if (rank == 0) continue;
    // As more of an answer turns out to be here, nothing must have been left out before.
    for (float* beyond : {few_.beyond, few_.beyond_by_place}) beyond[rank] = std::max(beyond[rank], beyond[rank - 1]);
  }
}

Cells::Place Cells::place(double depth) const {
  const size_t first = sorted_ ? 0 : 1;
  size_t measured = first;
  while (measured < kDepths && visited_[measured] > 0) measured++;
  if (measured == first || depth > kBeyondMeasuredDepth * kDepthOf[measured - 1].rows()) return {first, first, 0};
  size_t far = first;
  while (far + 1 < measured && depth > kDepthOf[far].rows()) far++;
  if (far == first) return {first, first, 0.0};
  const double from = kDepthOf[far - 1].rows(), to = kDepthOf[far].rows();
  return {far - 1, far, std::min(1.0, std::log(depth / from) / std::log(to / from))};
}

double Cells::visited(double depth) const {
  const Place at = place(depth);
  if (at.near == at.far && (visited_[at.near] == 0 || depth > kBeyondMeasuredDepth * kDepthOf[at.near].rows()))
    return 0;
  return visited_[at.near] * std::pow(visited_[at.far] / visited_[at.near], at.part);
}

float Cells::reach(const Query& query, double depth) const {
  const Place at = place(depth);
  // Where more is needed farther down, that may begin at once: where the cluster of the query ends.
  return std::max(beyond_[at.near], beyond_[at.far]) * unit(query);
}

size_t Cells::few_rank(double depth) { return size_t(std::clamp(std::ceil(depth), 1.0, double(kFew))) - 1; }

float Cells::reach_of_part(const Query& query, double depth) const {
  const float few = few_.beyond[few_rank(depth)] * unit(query);
  if (depth <= double(kFew)) return few;
  return visited(depth) == 0 ? std::numeric_limits<float>::infinity() : std::max(few, reach(query, depth));
}

float Cells::units_away(const Query& query, float key) const {
  // ip has no nearest point; a key that is higher is nearer there, too.
  const float zero = metric_ == Metric::kIp ? 0 : query.zero_distance_key(1);
  return (zero - key) / std::max(unit(query), std::numeric_limits<float>::min());
}

double Cells::depth_of_key(const Query& query, float key) const {
  const float away = units_away(query, key);
  size_t depth = 0;
  while (depth < kDepths && visited_[depth] > 0 && away > few_.farthest[depth]) depth++;
  return depth == 0            ? 1
         : depth == kDepths    ? kDepthOf[depth - 1].rows()
         : visited_[depth] > 0 ? kDepthOf[depth].rows()
                               : kDepthOf[depth - 1].rows();
}

float Cells::reach_of_part_by_place(const Query& query, double own) const {
  return few_.beyond_by_place[few_rank(own)] * unit(query);
}

double Cells::visited_of_part(double depth) const {
  if (few_.visited[0] == 0) return 0;
  return depth <= double(kFew) ? few_.visited[few_rank(depth)] : visited(depth);
}

size_t Cells::memory_bytes() const {
  return centres_.memory_bytes(count()) + (slots_.size() + row_numbers_.size() + starts_.size()) * sizeof(uint32_t);
}

}  // namespace quiver
