#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lists/number_column.h"
#include "lists/slot_algebra.h"

namespace quiver {

/**
 * A filter that is asked slot by slot: for a search that looks at few of the slots, where finding all that pass would
 * take longer than the search. All ranges and sets must have a slot. It answers what resolve_filter would, as of the
 * time of each question; for the Reading in which it was made.
 */
struct SlotTest {
  std::vector<RankedRange> ranges;
  std::vector<Slots> sets;
  // Slots that pass, about.
  size_t count = 0;

  bool has(uint32_t slot) const {
    for (const RankedRange& range : ranges) if (!range.has(slot)) return false;
    for (const Slots& set : sets) if (!set.has(slot)) return false;
    return true;
  }

  // Asks the memory for what `keep` will look at first.
  void prefetch(const uint32_t* slots, size_t count) const {
    const std::atomic<uint8_t>* ranks = &ranges[0].column->rank(0);
    for (size_t i = 0; i < count; i++) __builtin_prefetch(ranks + slots[i]);
  }

  // Writes the places of those of `count` slots that pass to `passed`, which has room for all of them, and answers how
  // many they are.
  size_t keep(const uint32_t* slots, size_t count, uint32_t* passed) const {
    // The first without a branch, so that the processor waits for many ranks at once.
    const RankedRange& range = ranges[0];
    const std::atomic<uint8_t>* ranks = &range.column->rank(0);
    const uint32_t capacity = range.column->capacity, first = range.first, last = range.last;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
      const uint32_t slot = slots[i];
      const uint32_t rank = ranks[slot < capacity ? slot : 0].load(std::memory_order_relaxed);
      passed[kept] = uint32_t(i);
      kept += size_t((rank >= first) & (rank <= last) & (slot < capacity));
    }
    for (const RankedRange& own : ranges)
      kept = keep_some(slots, kept, passed, [&](uint32_t slot) { return own.has(slot); });
    for (const Slots& set : sets) kept = keep_some(slots, kept, passed, [&](uint32_t slot) { return set.has(slot); });
    return kept;
  }

 private:
  template <class Has>
  static size_t keep_some(const uint32_t* slots, size_t count, uint32_t* passed, const Has& has) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
      const uint32_t place = passed[i];
      passed[kept] = place;
      kept += size_t(has(slots[place]));
    }
    return kept;
  }
};

}  // namespace quiver
