#pragma once

#include <cmath>
#include <cstddef>

namespace quiver {

/**
 * How far a graph must be walked to reach the promised recall, as measured on its own rows (calibration.h). Efforts are
 * HNSW's ef: how many of the best rows seen must be expanded.
 */
struct Effort {
  // Effort for k up to 10, and for k = 100. 0: the target was out of reach, so calibrated searches scan instead.
  float at_10;
  float at_100;
  // Rows scored per unit of effort: the cost of a walk.
  float scored_per_unit;
  // Rows of the graph, including dead ones, when it was measured. 0: never measured; the values are a careful guess.
  size_t rows;

  static Effort guess() { return {512, 1024, 24, 0}; }

  bool reaches_target() const { return at_10 > 0 && at_100 > 0; }
  /**
   * Effort for another k, which may be fractional, on a graph that may have grown since: straight lines through the two
   * measured values, times the fourth root of the growth. Efforts grow about with the logarithm of the rows, so this
   * errs on the safe side until the next calibration.
   */
  double at(double k, size_t graph_rows) const {
    const double growth = rows > 0 && graph_rows > rows ? std::pow(double(graph_rows) / double(rows), 0.25) : 1;
    if (k <= 10) return at_10 * growth;
    if (k >= 100) return at_100 * k / 100 * growth;
    return (at_10 + (double(at_100) - at_10) * (k - 10) / 90) * growth;
  }
};

}  // namespace quiver
