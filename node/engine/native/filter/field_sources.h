#pragma once

#include <cstdint>
#include <vector>

#include "filter_field.h"
#include "filter_index.h"
#include "filter_words.h"

namespace quiver {

/// A field that a path means, and the slots that it is asked for.
struct FieldSource {
  const FilterField* field;
  // Empty where all slots count.
  std::vector<uint32_t> bits;
  bool is_all;

  bool has(uint32_t slot) const {
    return is_all || (slot / 32 < bits.size() && (bits[slot / 32] >> (slot % 32) & 1) != 0);
  }
};

// All slots of an index, as a bitmap.
std::vector<uint32_t> all_slots(const FilterIndex& index);

void clear_bit(std::vector<uint32_t>& words, uint32_t slot);

/**
 * The fields that a path means, of all slots or of those of a bitmap. A dotted path may mean several fields; each is
 * asked for the slots that have none of the earlier ones, as lookUpPath does. `bitmap` null: all slots.
 */
std::vector<FieldSource> field_sources(const FilterIndex& index, const Characters& path,
                                       const std::vector<uint32_t>* bitmap);

}  // namespace quiver
