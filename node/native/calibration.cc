#include "calibration.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <random>

#include "errors.h"
#include "threads.h"

namespace quiver {

namespace {

// Number of queries: the standard error of a recall of 0.99 is then about 0.0015.
constexpr size_t kQueries = 600;
// Rows per tile and queries per pass of the exact scan, so that a tile of codes is read from the cache, once per pass.
constexpr size_t kTileRows = 256;
constexpr size_t kPassQueries = 20;
// Efforts up to this are tried; if more were needed, searches scan.
constexpr double kEffortMax = 8192;
// The search for the effort ends when neighbouring efforts differ by this factor.
constexpr double kResolution = 1.1;
// By how many standard errors the measured recall must exceed the target, so that a lucky sample does not break the
// promise.
constexpr double kMargin = 1;
constexpr size_t kDepths[2] = {10, 100};

struct Sample {
  uint32_t row;
  std::unique_ptr<Query> query;
  // For each depth, the least score that an answer must have to count as found.
  double scores[2];
  size_t counts[2];
};

std::vector<Sample> pick_rows(const Snapshot& snapshot) {
  const RowStore& rows = *snapshot.rows;
  std::mt19937_64 random(snapshot.graph->rows());
  std::vector<uint32_t> live;
  for (size_t row = 0; row < snapshot.graph->rows(); row++) {
    if (!rows.dead(row)) live.push_back(uint32_t(row));
  }
  const size_t count = std::min(kQueries, live.size());
  for (size_t i = 0; i < count; i++) std::swap(live[i], live[i + random() % (live.size() - i)]);
  std::vector<Sample> samples;
  for (size_t i = 0; i < count; i++) {
    samples.push_back({live[i], std::make_unique<Query>(rows, rows.original(live[i])), {}, {}});
  }
  return samples;
}

// Finds the exact answers of samples first … last − 1.
void scan_for_answers(const Snapshot& snapshot, std::vector<Sample>& samples, size_t first, size_t last,
                      const StopFlag& stop) {
  const RowStore& rows = *snapshot.rows;
  std::vector<Candidates> candidates;
  for (size_t i = first; i < last; i++) candidates.emplace_back(*samples[i].query, kDepths[1]);
  std::vector<const uint8_t*> codes;
  std::vector<uint32_t> tile;
  int32_t products[kTileRows];
  for (size_t start = 0; start < snapshot.graph->rows(); start += kTileRows) {
    if (stop.load(std::memory_order_relaxed)) throw ClosedError();
    tile.clear();
    codes.clear();
    for (size_t row = start; row < std::min(start + kTileRows, snapshot.graph->rows()); row++) {
      if (rows.dead(row)) continue;
      tile.push_back(uint32_t(row));
      codes.push_back(rows.code(row));
    }
    for (size_t i = first; i < last; i++) {
      const Query& query = *samples[i].query;
      rows.kernels.dot_codes(codes.data(), codes.size(), query.code(), rows.padded, products);
      for (size_t j = 0; j < tile.size(); j++) {
        if (tile[j] == samples[i].row) continue;
        const RowMeta& meta = rows.meta(tile[j]);
        candidates[i - first].add(tile[j], query.key(products[j], meta), meta);
      }
    }
  }
  for (size_t i = first; i < last; i++) {
    std::vector<Hit> hits = candidates[i - first].rescore(rows);
    cut_hits(rows, hits, kDepths[1]);
    for (size_t depth = 0; depth < 2; depth++) {
      samples[i].counts[depth] = std::min(kDepths[depth], hits.size());
      samples[i].scores[depth] = hits.empty() ? 0 : hits[samples[i].counts[depth] - 1].score;
    }
  }
}

struct Measured {
  double recall;
  double standard_error;
  double scored_per_unit;
};

Measured measure(const Snapshot& snapshot, const std::vector<Sample>& samples, size_t depth, double effort,
                 unsigned threads, const StopFlag& stop) {
  std::vector<double> recalls(samples.size());
  std::atomic<size_t> next{0}, scored{0};
  run_in_background_threads(threads, [&](unsigned) {
    size_t scored_here = 0;
    for (size_t i = next++; i < samples.size(); i = next++) {
      if (stop.load(std::memory_order_relaxed)) throw ClosedError();
      const Sample& sample = samples[i];
      std::vector<Hit> hits =
          walk_around(snapshot, *sample.query, kDepths[depth], effort, sample.row, scored_here);
      const size_t found = size_t(std::count_if(hits.begin(), hits.end(), [&](const Hit& hit) {
        return hit.score >= sample.scores[depth];
      }));
      recalls[i] = sample.counts[depth] == 0 ? 1
                   : double(std::min(found, sample.counts[depth])) / double(sample.counts[depth]);
    }
    scored += scored_here;
  });
  double sum = 0, squares = 0;
  for (double recall : recalls) {
    sum += recall;
    squares += recall * recall;
  }
  const double count = double(samples.size()), mean = sum / count;
  return {mean, std::sqrt(std::max(0.0, squares / count - mean * mean) / count), double(scored) / count / effort};
}

}  // namespace

Effort calibrate(const Snapshot& snapshot, double recall_target, unsigned threads, const StopFlag& stop) {
  std::vector<Sample> samples = pick_rows(snapshot);
  Effort effort{0, 0, Effort::guess().scored_per_unit, snapshot.graph->rows()};
  if (samples.empty() || snapshot.rows->has_extreme_rows()) return effort;
  std::atomic<size_t> next{0};
  run_in_background_threads(threads, [&](unsigned) {
    for (size_t i = next.fetch_add(kPassQueries); i < samples.size(); i = next.fetch_add(kPassQueries)) {
      scan_for_answers(snapshot, samples, i, std::min(i + kPassQueries, samples.size()), stop);
    }
  });
  const auto reaches = [&](size_t depth, double value) {
    const Measured measured = measure(snapshot, samples, depth, value, threads, stop);
    effort.scored_per_unit = float(measured.scored_per_unit);
    return measured.recall - kMargin * measured.standard_error >= recall_target;
  };
  for (size_t depth : {1, 0}) {
    double good = depth == 1 ? double(kDepths[1]) : 16;
    double bad = 0;
    while (good <= kEffortMax && !reaches(depth, good)) {
      bad = good;
      good *= 2;
    }
    if (good > kEffortMax) return effort;
    while (bad > 0 && good / bad > kResolution) {
      const double middle = std::sqrt(good * bad);
      (reaches(depth, middle) ? good : bad) = middle;
    }
    (depth == 0 ? effort.at_10 : effort.at_100) = float(std::ceil(good));
  }
  return effort;
}

}  // namespace quiver
