#include "calibration.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <random>

#include "errors.h"
#include "graph/graph_without_row.h"
#include "threads.h"
#include "graph/walk.h"

namespace quiver {

namespace {

// Most queries: the standard error of a recall of 0.99 is then about 0.0008. Of small graphs fewer are asked, one row
// in so many, because choosing the lists around a row takes several times as long as building it in.
constexpr size_t kQueries = 2000, kQueriesLeast = 1000, kRowsPerQuery = 50;
// While rows of the graph wait for their refinement. Measuring takes time from building then, and is repeated once they
// are refined; the larger error makes walks a little longer until then.
constexpr size_t kQueriesCoarse = 300;
// A measurement begins with one query in so many: most values are far from what is needed.
constexpr size_t kFirstShare = 3;
// By how many standard errors a first part of the queries must miss or exceed the target to decide.
constexpr double kClear = 2.5;
// Rows per tile and queries per pass of the exact scan, so that a tile of codes is read from the cache, once per pass.
constexpr size_t kTileRows = 256;
constexpr size_t kPassQueries = 20;
// Values of gamma up to this are tried; if more were needed, searches scan.
constexpr float kGammaMax = 4;
// Less than `least` makes no difference.
struct Gammas {
  float first, least;
};
constexpr Gammas kGammas{0.04f, 0.002f};
// ip: distances are as long as the longest row is. If that is an exception, they all are about the same, and only small
// values tell them apart. Walks with these are short, so it costs little to begin there.
constexpr Gammas kIpGammas{1e-5f, 1e-7f};
// The search for gamma ends when neighbouring values differ by this factor.
constexpr float kResolution = 1.03f;
constexpr float kResolutionCoarse = 1.2f;
constexpr float kSaturated = 0.99f;
// Most rows that a walk keeps.
constexpr float kPoolMax = 8192;
// Rows that a walk may keep, as a multiple of those that one keeps on average: without such a bound, one query in a
// hundred takes ten times as long as the others, and finds little more.
constexpr float kPoolSpread = 3;
// By how many standard errors the measured recall must exceed the target, so that a lucky sample does not break the
// promise.
constexpr double kMargin = 1.5;

// Rescoring loses at most this share of what the target allows, and goes no less deep than this.
constexpr double kLostShare = 0.1;
constexpr float kDeviationsMin = 0.25f;

// What is measured: k, one row in how many is allowed, and what is found by it.
struct Case {
  size_t k;
  uint32_t scarcity;
  Reach Effort::*reach;
  // Deep walks take long, so one query in so many measures the case.
  size_t share;
};
constexpr size_t kCases = 4;
constexpr Case kCaseOf[kCases] = {{10, 1, &Effort::at_10, 1},
                                  {100, 1, &Effort::at_100, 2},
                                  {10, 10, &Effort::passing_100, 2},
                                  {40, 10, &Effort::passing_400, 8}};

struct Sample {
  uint32_t row;
  std::unique_ptr<Query> query;
  std::unique_ptr<GraphWithoutRow> graph;
  // For each case, the least score that an answer must have to count as found.
  double scores[kCases];
  size_t counts[kCases];
  // For each case and exact answer: by how many deviations the last one's key exceeds this one's approximate key.
  std::vector<float> shortfalls[kCases];
};

bool is_coarse(const Graph& graph) { return graph.refined_rows < graph.rows(); }

std::vector<Sample> pick_rows(const Snapshot& snapshot) {
  const RowStore& rows = *snapshot.rows;
  std::mt19937_64 random(snapshot.graph->rows());
  std::vector<uint32_t> live;
  for (size_t row = 0; row < snapshot.graph->rows(); row++) {
    if (!rows.dead(row)) live.push_back(uint32_t(row));
  }
  const size_t fine = std::clamp(live.size() / kRowsPerQuery, kQueriesLeast, kQueries);
  const size_t count = std::min(is_coarse(*snapshot.graph) ? kQueriesCoarse : fine, live.size());
  for (size_t i = 0; i < count; i++) std::swap(live[i], live[i + random() % (live.size() - i)]);
  std::vector<Sample> samples;
  for (size_t i = 0; i < count; i++) {
    samples.push_back({live[i], std::make_unique<Query>(rows, rows.original(live[i])), nullptr, {}, {}, {}});
  }
  return samples;
}

// Adds what rescoring needs to know about the exact answers to a sample (Effort::deviations).
void measure_shortfalls(const RowStore& rows, const std::vector<Hit>& hits, size_t tried, Sample& sample) {
  const size_t count = sample.counts[tried];
  const Codes& codes = rows.codes();
  if (codes.quantization == Quantization::kInt8 || count == 0) return;
  const float last = sample.query->exact(hits[count - 1].row).key;
  for (size_t i = 0; i < count; i++) {
    const uint8_t* code = codes.code(hits[i].row);
    int32_t product;
    codes.dot(&code, 1, sample.query->code(), codes.padded, &product);
    const RowMeta& meta = codes.meta(hits[i].row);
    const float deviation = sample.query->deviation(meta);
    sample.shortfalls[tried].push_back(deviation > 0 ? (last - sample.query->key(product, meta)) / deviation : 0);
  }
}

// Finds the exact answers of samples first … last − 1.
void scan_for_answers(const Snapshot& snapshot, const Codes& scanned, std::vector<Sample>& samples, size_t first,
                      size_t last, const StopFlag& stop) {
  const RowStore& rows = *snapshot.rows;
  // Candidates refer to them.
  std::deque<Query> queries;
  std::vector<Candidates> candidates;
  for (size_t i = first; i < last; i++) {
    queries.emplace_back(rows, scanned, rows.original(samples[i].row));
    for (size_t c = 1; c < kCases; c++) candidates.emplace_back(queries.back(), kCaseOf[c].k);
  }
  std::vector<const uint8_t*> codes;
  std::vector<uint32_t> tile;
  // For each case, the places in the tile of the rows that it allows.
  std::vector<size_t> allowed[kCases];
  int32_t products[kTileRows];
  for (size_t start = 0; start < snapshot.graph->rows(); start += kTileRows) {
    if (stop.load(std::memory_order_relaxed)) throw ClosedError();
    tile.clear();
    codes.clear();
    for (std::vector<size_t>& places : allowed) places.clear();
    for (size_t row = start; row < std::min(start + kTileRows, snapshot.graph->rows()); row++) {
      if (rows.dead(row)) continue;
      for (size_t c = 1; c < kCases; c++) {
        if (allowed_by_chance(kCaseOf[c].scarcity, uint32_t(row))) allowed[c].push_back(tile.size());
      }
      tile.push_back(uint32_t(row));
      codes.push_back(scanned.code(row));
    }
    for (size_t i = first; i < last; i++) {
      const Query& query = queries[i - first];
      scanned.dot(codes.data(), codes.size(), query.code(), scanned.padded, products);
      for (size_t c = 1; c < kCases; c++) {
        Candidates& found = candidates[(i - first) * (kCases - 1) + c - 1];
        for (size_t j : allowed[c]) {
          if (tile[j] == samples[i].row) continue;
          const RowMeta& meta = scanned.meta(tile[j]);
          found.add(tile[j], query.key(products[j], meta), meta);
        }
      }
    }
  }
  for (size_t i = first; i < last; i++) {
    std::vector<Hit> hits;
    for (size_t c = kCases; c-- > 0;) {
      // The ten best are among the hundred best.
      if (c > 0) hits = candidates[(i - first) * (kCases - 1) + c - 1].rescore(rows);
      cut_hits(rows, hits, kCaseOf[c].k);
      samples[i].counts[c] = std::min(kCaseOf[c].k, hits.size());
      samples[i].scores[c] = hits.empty() ? 0 : hits[samples[i].counts[c] - 1].score;
      measure_shortfalls(rows, hits, c, samples[i]);
    }
  }
}

struct Measured {
  double recall;
  double standard_error;
  double expanded;
  double scored;
};

// Asks the first `count` samples.
Measured measure(const Snapshot& snapshot, const std::vector<Sample>& samples, size_t count, size_t tried,
                 unsigned threads, const StopFlag& stop) {
  const RowStore& rows = *snapshot.rows;
  const Graph& graph = *snapshot.graph;
  const Effort& effort = snapshot.effort;
  const Case searched = kCaseOf[tried];
  const Reach& reach = effort.*searched.reach;
  const auto eligible = [&](uint32_t row) { return !rows.dead(row) && allowed_by_chance(searched.scarcity, row); };
  std::vector<double> recalls(count);
  std::atomic<size_t> next{0}, scored{0}, expanded{0};
  run_in_background_threads(threads, [&](unsigned) {
    WalkScratch& scratch = WalkScratch::of_this_thread();
    size_t scored_here = 0, expanded_here = 0;
    for (size_t i = next++; i < count; i = next++) {
      if (stop.load(std::memory_order_relaxed)) throw ClosedError();
      const Sample& sample = samples[i];
      const WalkReach limits{rows,
                             *sample.query,
                             effort,
                             graph.rows(),
                             searched.k,
                             reach.gamma,
                             searched.scarcity > 1,
                             size_t(reach.pool)};
      const WalkResult found =
          walk<ReachPool>(rows, graph, *sample.graph, *sample.query, eligible, limits, sample.row, scratch);
      scored_here += found.scored + found.left_out;
      expanded_here += found.entries;
      Candidates candidates(*sample.query, searched.k, effort.deviations_for(searched.scarcity > 1));
      add_pool(rows, scratch, found, candidates);
      const std::vector<Hit> hits = candidates.rescore(rows);
      const size_t right = size_t(std::count_if(hits.begin(), hits.end(), [&](const Hit& hit) {
        return hit.score >= sample.scores[tried];
      }));
      recalls[i] = sample.counts[tried] == 0 ? 1
                   : double(std::min(right, sample.counts[tried])) / double(sample.counts[tried]);
    }
    scored += scored_here;
    expanded += expanded_here;
  });
  double sum = 0, squares = 0;
  for (double recall : recalls) {
    sum += recall;
    squares += recall * recall;
  }
  const double mean = sum / double(count);
  return {mean, std::sqrt(std::max(0.0, squares / double(count) - mean * mean) / double(count)),
          double(expanded) / double(count), double(scored) / double(count)};
}

/**
 * Finds the least gamma that reaches the target in one case, then bounds the pool, and increases gamma by what the
 * hardest queries lose by the bound. `reach` is the one of the snapshot's effort that is searched for.
 */
void find_reach(Reach& reach, const std::function<Measured(size_t)>& measure_on, size_t count, double recall_target,
                size_t k, size_t rows, const Gammas& gammas, float resolution) {
  const auto reaches = [&](float gamma) {
    reach.gamma = gamma;
    for (size_t asked : {(count + kFirstShare - 1) / kFirstShare, count}) {
      const Measured measured = measure_on(asked);
      reach.expanded = float(measured.expanded);
      reach.scored = float(measured.scored);
      const double surplus = measured.recall - recall_target, error = measured.standard_error;
      if (asked == count) return surplus >= kMargin * error;
      if (surplus < -kClear * error) return false;
      if (surplus > (kMargin + kClear) * error && error > 0) return true;
    }
    return false;
  };
  reach.pool = kPoolMax;
  // Counts as measured from now on: what depends on the case has to be tried with its own gamma.
  reach.expanded = 1;
  float good = gammas.first, bad = 0;
  while (!reaches(good)) {
    bad = good;
    good *= 2;
    // Walks that keep all they may keep find no more.
    if (good > kGammaMax || reach.expanded >= kSaturated * std::min(kPoolMax, float(rows))) {
      reach = {};
      return;
    }
  }
  Reach found = reach;
  while (good > gammas.least && (bad == 0 || good / bad > resolution)) {
    const float middle = bad == 0 ? good / 2 : std::sqrt(good * bad);
    if (reaches(middle)) {
      good = middle;
      found = reach;
    } else {
      bad = middle;
    }
  }
  reach = found;
  bool good_enough = false;
  for (float spread = kPoolSpread; !good_enough; spread *= 2) {
    reach.pool = std::min(kPoolMax, std::max(spread * found.expanded, float(4 * k)));
    reach.gamma = found.gamma;
    // With the largest pool, the last gamma was found to be enough already.
    good_enough = reaches(reach.gamma) || reach.pool == kPoolMax;
    for (int i = 0; i < 3 && !good_enough; i++) good_enough = reaches(reach.gamma *= resolution);
  }
}

// So many deviations that, in one case, rescoring loses a tenth of what the target allows. Rounding to bytes is too
// exact to measure.
float find_deviations(const RowStore& rows, const std::vector<Sample>& samples, size_t tried, double recall_target) {
  std::vector<float> shortfalls;
  for (const Sample& sample : samples) {
    shortfalls.insert(shortfalls.end(), sample.shortfalls[tried].begin(), sample.shortfalls[tried].end());
  }
  if (rows.codes().quantization == Quantization::kInt8 || shortfalls.empty()) return kDeviations;
  const size_t lost = size_t(kLostShare * (1 - recall_target) * double(shortfalls.size()));
  std::nth_element(shortfalls.begin(), shortfalls.begin() + ptrdiff_t(lost), shortfalls.end(), std::greater<float>());
  return std::clamp(shortfalls[lost], kDeviationsMin, kDeviations);
}

}  // namespace

Effort calibrate(const Snapshot& snapshot, const Codes& codes, double recall_target, unsigned threads,
                 const StopFlag& stop) {
  const RowStore& rows = *snapshot.rows;
  std::vector<Sample> samples = pick_rows(snapshot);
  Snapshot tried{snapshot.rows, snapshot.graph, Effort::out_of_reach(snapshot.graph->rows()), nullptr};
  Effort& effort = tried.effort;
  if (samples.empty() || rows.has_extreme_rows()) return effort;
  for (size_t row = 0; row < snapshot.graph->rows(); row++) {
    if (rows.metric == Metric::kIp && !rows.dead(row))
      effort.largest_norm = std::max(effort.largest_norm, rows.meta(row).norm);
  }
  std::atomic<size_t> next{0};
  run_in_background_threads(threads, [&](unsigned) {
    for (size_t i = next.fetch_add(kPassQueries); i < samples.size(); i = next.fetch_add(kPassQueries)) {
      const size_t last = std::min(i + kPassQueries, samples.size());
      scan_for_answers(snapshot, codes, samples, i, last, stop);
      for (size_t j = i; j < last; j++) {
        samples[j].graph = std::make_unique<GraphWithoutRow>(codes, *snapshot.graph, samples[j].row);
      }
    }
  });
  float needed[kCases];
  for (size_t i = 0; i < kCases; i++) needed[i] = find_deviations(rows, samples, i, recall_target);
  effort.deviations = std::max(needed[0], needed[1]);
  effort.passing_deviations = std::max(needed[2], needed[3]);
  Gammas gammas = rows.metric == Metric::kIp ? kIpGammas : kGammas;
  const float resolution = is_coarse(*snapshot.graph) ? kResolutionCoarse : kResolution;
  for (size_t i = 0; i < kCases; i++) {
    const Case& measured = kCaseOf[i];
    Reach& reach = effort.*measured.reach;
    const size_t count = (samples.size() + measured.share - 1) / measured.share;
    const auto measure_on = [&](size_t asked) { return measure(tried, samples, asked, i, threads, stop); };
    find_reach(reach, measure_on, count, recall_target, measured.k, snapshot.graph->rows(), gammas, resolution);
    if (reach.expanded == 0) break;
    // What the next case needs is often near.
    gammas.first = reach.gamma;
  }
  return effort;
}

}  // namespace quiver
