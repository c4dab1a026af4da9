#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "value_dictionary.h"

namespace quiver {

// The numbers x with low ≤ x ≤ high.
struct Interval {
  double low, high;

  static Interval of(RangeOperator range, double bound) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (range) {
      case RangeOperator::kGt:
        return {std::nextafter(bound, kInfinity), kInfinity};
      case RangeOperator::kGte:
        return {bound, kInfinity};
      case RangeOperator::kLt:
        return {-kInfinity, std::nextafter(bound, -kInfinity)};
      case RangeOperator::kLte:
        break;
    }
    return {-kInfinity, bound};
  }

  bool has(double x) const { return (x >= low) & (x <= high); }
};

/**
 * The numbers of a field by slot, for ranges over keys with nearly as many values as items (times, prices): a range is
 * one pass over 8 bytes per slot, and one slot is one look.
 *
 * Beside them lie their ranks, a byte for each slot, once bounds are known that divide the numbers: most slots of a
 * range are told from others by these alone, and an eighth of the memory is read. That counts where slots are asked at
 * random.
 */
struct NumberColumn {
  static constexpr uint32_t kRanks = 256;

  // Slots there is room for; their numbers follow, NaN where there is none, and then their ranks, 0 where there is
  // none.
  uint32_t capacity;
  // Whether the ranks of all slots are there, for readers.
  std::atomic<uint32_t> is_ranked;
  // Rank r is of the numbers x with bounds[r - 1] ≤ x < bounds[r]. The writer's until they are made, and then they
  // stay.
  uint32_t has_bounds;
  double bounds[kRanks];

  std::atomic<double>& at(uint32_t slot) const {
    return reinterpret_cast<std::atomic<double>*>(const_cast<NumberColumn*>(this) + 1)[slot];
  }
  std::atomic<uint8_t>& rank(uint32_t slot) const {
    return reinterpret_cast<std::atomic<uint8_t>*>(&at(capacity))[slot];
  }
  // Any thread, for any slot.
  bool has(uint32_t slot, const Interval& interval) const {
    return slot < capacity && interval.has(at(slot).load(std::memory_order_relaxed));
  }
  static size_t bytes(size_t capacity) { return sizeof(NumberColumn) + capacity * 9; }

  uint8_t rank_of(double number) const {
    return uint8_t(std::upper_bound(bounds + 1, bounds + kRanks - 1, number) - bounds);
  }

  // The rest is the writer's.
  void set(uint32_t slot, double number) {
    at(slot).store(number, std::memory_order_release);
    if (has_bounds != 0) set_rank(slot);
  }
  void clear(uint32_t slot) {
    at(slot).store(std::numeric_limits<double>::quiet_NaN(), std::memory_order_relaxed);
    rank(slot).store(0, std::memory_order_relaxed);
  }
  // Of a slot that has a number.
  void set_rank(uint32_t slot) {
    rank(slot).store(rank_of(at(slot).load(std::memory_order_relaxed)), std::memory_order_release);
  }
  // Bounds with about as many numbers between each two.
  void make_bounds();
};

// A range over a column whose slots are ranked: first by their ranks.
struct RankedRange {
  const NumberColumn* column;
  Interval interval;
  // The ranks of its numbers, and those of which all are in it. None: the first is above the last.
  uint32_t first = 1, last = 0, first_sure = 1, last_sure = 0;

  static RankedRange of(const NumberColumn* column, const Interval& interval) {
    RankedRange range{column, interval};
    if (!(interval.low <= interval.high)) return range;
    range.first = column->rank_of(interval.low);
    range.last = column->rank_of(interval.high);
    range.first_sure = range.first + (column->bounds[range.first - 1] >= interval.low ? 0 : 1);
    range.last_sure = range.last - (column->bounds[range.last] <= interval.high ? 0 : 1);
    return range;
  }

  // Any thread, for any slot.
  bool has(uint32_t slot) const {
    if (slot >= column->capacity) return false;
    const uint32_t rank = column->rank(slot).load(std::memory_order_acquire);
    if (rank < first || rank > last) return false;
    return (rank >= first_sure && rank <= last_sure) || column->has(slot, interval);
  }
};

}  // namespace quiver
