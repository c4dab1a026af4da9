#pragma once

#include <cstdint>

#include "effort.h"
#include "search.h"
#include "stop_flag.h"

namespace quiver {

// Allows one row in `scarcity`, as a filter would that has nothing to do with the vectors (MurmurHash3's last step).
inline bool allowed_by_chance(uint32_t scarcity, uint32_t row) {
  if (scarcity == 1) return true;
  uint32_t mixed = (row ^ row >> 16) * 0x85ebca6b;
  mixed = (mixed ^ mixed >> 13) * 0xc2b2ae35;
  return (mixed ^ mixed >> 16) % scarcity == 0;
}

/**
 * The least effort whose walks reach `recall_target` on the graph's own rows. Up to 2,000 live rows are used as
 * queries, each left out of the graph and of its own answer, and the results of walks are compared with exact scans.
 * Rows that tie in score with the last exact answer count as found. `codes` are int8 codes of the rows, by which the
 * scans are done; walks go by the codes of the store, and where these are rougher, so many rows are scored again as are
 * needed, too. Filters are measured with some of the rows allowed, by chance. Uses `threads` threads of low priority.
 * Throws ClosedError when `stop` is raised.
 */
Effort calibrate(const Snapshot& snapshot, const Codes& codes, double recall_target, unsigned threads,
                 const StopFlag& stop);

}  // namespace quiver
