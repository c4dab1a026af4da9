#pragma once

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
      default:
        return {-kInfinity, bound};
    }
  }

  bool has(double x) const { return (x >= low) & (x <= high); }
};

/**
 * The numbers of a field by slot, for ranges over keys with nearly as many values as items (times, prices): a range is one
 * pass over 8 bytes per slot, and one slot is one look.
 */
struct NumberColumn {
  // Slots there is room for; their numbers follow, NaN where there is none.
  uint32_t capacity;
  uint32_t padding;

  std::atomic<double>& at(uint32_t slot) const { return reinterpret_cast<std::atomic<double>*>(const_cast<NumberColumn*>(this) + 1)[slot]; }
  // Any thread, for any slot.
  bool has(uint32_t slot, const Interval& interval) const { return slot < capacity && interval.has(at(slot).load(std::memory_order_relaxed)); }
  static size_t bytes(size_t capacity) { return sizeof(NumberColumn) + capacity * 8; }
};

}  // namespace quiver
