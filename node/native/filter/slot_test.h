#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "number_column.h"
#include "slot_algebra.h"

namespace quiver {

/**
 * A filter that is asked slot by slot: for a search that looks at few of the slots, where finding all that pass would take
 * longer than the search. All ranges and sets must have a slot. It answers what resolve_filter would, as of the time of each
 * question; for the Reading in which it was made.
 */
struct SlotTest {
  struct ColumnRange {
    const NumberColumn* column;
    Interval interval;
  };
  std::vector<ColumnRange> ranges;
  std::vector<Slots> sets;
  // Slots that pass, about.
  size_t count = 0;

  bool has(uint32_t slot) const {
    for (const ColumnRange& range : ranges) if (!range.column->has(slot, range.interval)) return false;
    for (const Slots& set : sets) if (!set.has(slot)) return false;
    return true;
  }

  // Writes those of `count` slots that pass to `passed`, which has room for all of them, and answers how many they are.
  size_t keep(const uint32_t* slots, size_t count, uint32_t* passed) const {
    size_t kept = 0;
    // The first without a branch, so that the processor waits for many numbers at once.
    const NumberColumn& column = *ranges[0].column;
    for (size_t i = 0; i < count; i++) {
      passed[kept] = slots[i];
      const uint32_t known = slots[i] < column.capacity ? slots[i] : 0;
      const bool is_in = ranges[0].interval.has(column.at(known).load(std::memory_order_relaxed));
      kept += size_t(is_in & (known == slots[i]));
    }
    for (size_t r = 1; r < ranges.size(); r++) {
      const size_t before = kept;
      kept = 0;
      for (size_t i = 0; i < before; i++) {
        const uint32_t slot = passed[i];
        passed[kept] = slot;
        kept += size_t(ranges[r].column->has(slot, ranges[r].interval));
      }
    }
    for (const Slots& set : sets) {
      const size_t before = kept;
      kept = 0;
      for (size_t i = 0; i < before; i++) {
        const uint32_t slot = passed[i];
        passed[kept] = slot;
        kept += size_t(set.has(slot));
      }
    }
    return kept;
  }
};

}  // namespace quiver
