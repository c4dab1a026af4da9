#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace quiver {

// The greatest error of an approximate key, in deviations (Query::deviation). The deviation is estimated high, so 3
// misses fewer than one in 10,000 of the rows that matter.
constexpr float kDeviations = 3;

/**
 * How far a walk goes to find the best rows down to some depth, and what that took on average. It expands what is
 * nearer than (1 + gamma) times the distance of the last row that is wanted (walk.h).
 */
struct Reach {
  float gamma;
  // Most rows that the walk keeps: bounds the hardest queries.
  float pool;
  // Rows expanded: what HNSW's ef is for a walk of fixed size. 0: the target was out of reach.
  float expanded;
  // Rows scored or left out by their signs: the cost of the walk.
  float scored;
};

/**
 * How far a graph must be walked to reach the promised recall, as measured on its own rows (calibration.h). Without a
 * filter, depth is the number of rows wanted. With one, it is the rank of the last of them among all rows: if one row
 * in s is allowed, k · s.
 */
struct Effort {
  static constexpr float kDepths[3] = {10, 100, 400};

  // Every row is allowed. All k up to 10 are searched as 10. If these are out of reach, calibrated searches scan.
  Reach at_10, at_100;
  // One row in ten is allowed. If these are out of reach, filtered searches scan.
  Reach passing_100, passing_400;
  // The largest norm of the graph's rows (ip: Query::zero_distance_key).
  float largest_norm;
  // By how many deviations (Query::deviation) a row's exact key may exceed its approximate one: who may be farther
  // below the last row that is wanted is not scored again. kDeviations, unless measured on rougher codes than bytes.
  float deviations;
  // The same with a filter: those who are farther away are harder to tell apart.
  float passing_deviations;
  // Rows of the graph, including dead ones, when it was measured. 0: never measured; the values are a careful guess.
  size_t rows;

  // A walk that keeps hundreds of rows, and ends early only where the rest is far away.
  static Effort guess() {
    return {{1, 512, 512, 12288},
            {1, 1024, 1024, 24576},
            {1, 2048, 2048, 49152},
            {1, 8192, 8192, 196608},
            0,
            kDeviations,
            kDeviations,
            0};
  }
  static Effort out_of_reach(size_t rows) { return {{}, {}, {}, {}, 0, kDeviations, kDeviations, rows}; }

  float deviations_for(bool filtered) const { return filtered ? passing_deviations : deviations; }
  bool reaches_target() const { return at_10.expanded > 0 && at_100.expanded > 0; }
  bool reaches_target_filtered() const {
    return reaches_target() && passing_100.expanded > 0 && passing_400.expanded > 0;
  }
  float scored_per_expanded() const { return at_10.expanded > 0 ? at_10.scored / at_10.expanded : 32; }

  /**
   * To a depth without a filter, on a graph that may have grown since: straight lines over the logarithm of the depth,
   * and times the fourth root of the growth. What is needed grows slower, so this errs on the safe side until the next
   * calibration.
   */
  Reach at(double depth, size_t graph_rows) const { return between(at_10, at_100, depth, graph_rows); }
  // The same with a filter; `depth` is an expectation.
  Reach passing(double depth, size_t graph_rows) const { return between(at_10, passing_100, depth, graph_rows); }
  // Its gamma, once a walk knows the rank.
  float passing_gamma(double depth, size_t graph_rows) const {
    return float(place(at_10, passing_100, depth).gamma() * growth(graph_rows));
  }

 private:
  // A depth between two that were measured.
  struct Place {
    const Reach& near;
    const Reach& far;
    double part;
    double beyond;

    double gamma() const { return near.gamma + (far.gamma - near.gamma) * part; }
    double mix(float a, float b) const { return a * std::pow(double(b) / a, part) * beyond; }
  };

  double growth(size_t graph_rows) const {
    return rows > 0 && graph_rows > rows ? std::pow(double(graph_rows) / double(rows), 0.25) : 1;
  }
  Place place(const Reach& first, const Reach& second, double depth) const {
    const bool deep = depth > kDepths[1] && passing_400.expanded > 0;
    const double from = deep ? kDepths[1] : kDepths[0], to = deep ? kDepths[2] : kDepths[1];
    const Reach& near = deep ? second : first;
    const Reach& far = deep ? passing_400 : second;
    // Where more is needed farther down, that may begin at once: walks have to leave the cluster of the query.
    const bool rises = depth > from && far.gamma > near.gamma;
    const double part = rises ? 1 : std::clamp(std::log(depth / from) / std::log(to / from), 0.0, 1.0);
    // Costs go on with the depth where nothing was measured.
    return {near, far, part, std::max(1.0, depth / to)};
  }
  Reach between(const Reach& first, const Reach& second, double depth, size_t graph_rows) const {
    const Place at = place(first, second, depth);
    const double grown = growth(graph_rows);
    return {float(at.gamma() * grown), float(at.mix(at.near.pool, at.far.pool) * grown),
            float(at.mix(at.near.expanded, at.far.expanded) * grown),
            float(at.mix(at.near.scored, at.far.scored) * grown)};
  }
};

}  // namespace quiver
