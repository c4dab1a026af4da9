#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "filter_evaluation.h"

namespace quiver {

/**
 * Slots that match filters which are asked again and again while nothing of their index changes: a bitmap is asked for
 * a slot sooner than values are, but takes longer to be made than one search may gain. Of one thread.
 */
class RememberedFilters {
 public:
  // Bytes of bitmaps that are kept: of sixteen filters with a million slots, or of one with sixteen million.
  static constexpr size_t kBytesMax = size_t(2) << 20;
  // So many times in a row a filter must have been asked, without a change of the index, before its slots are
  // remembered.
  static constexpr uint32_t kAsked = 3;

  /**
   * The slots as a bitmap, if it is known or is made now. `words`, of `count`, are the filter in the form of
   * filter_program.h; `changes` is what the index says now. `make`: finds them, or nothing if that is not to be. What
   * it found is kept if `is_unchanged` says afterwards that the index is as it was.
   */
  std::shared_ptr<const FoundSlots> find(uint64_t index, uint64_t changes, const uint32_t* words, size_t count,
                                         const std::function<std::optional<FoundSlots>()>& make,
                                         const std::function<bool()>& is_unchanged);

  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    uint64_t index = 0;
    uint64_t changes = 0;
    uint64_t used_at = 0;
    uint32_t asked = 0;
    std::vector<uint32_t> words;
    // Null: not made.
    std::shared_ptr<const FoundSlots> slots;
  };

  Entry& entry_of(uint64_t index, const uint32_t* words, size_t count);
  void forget(Entry& entry);

  std::array<Entry, 16> entries_;
  uint64_t now_ = 0;
  size_t bytes_ = 0;
};

}  // namespace quiver
