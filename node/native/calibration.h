#pragma once

#include "effort.h"
#include "search.h"
#include "stop_flag.h"

namespace quiver {

/**
 * The least effort whose walks reach `recall_target` on the graph's own rows. 1,500 live rows at most are used as queries,
 * each left out of the graph and of its own answer, and the results of walks are compared with exact scans. Rows that tie
 * in score with the last exact answer count as found. `codes` are int8 codes of the rows, by which the scans are done;
 * walks go by the codes of the store, and where these are rougher, so many rows are scored again as are needed, too. Filters are measured with some of the rows allowed, by chance. Uses
 * `threads` threads of low priority. Throws ClosedError when `stop` is raised.
 */
Effort calibrate(const Snapshot& snapshot, const Codes& codes, double recall_target, unsigned threads, const StopFlag& stop);

}  // namespace quiver
