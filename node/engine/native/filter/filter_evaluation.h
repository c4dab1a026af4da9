#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "filter_index.h"
#include "filter_program.h"
#include "slot_test.h"

namespace quiver {

// The slots that match a filter.
struct FoundSlots {
  // True: `words` are the slots, rising strictly. False: bit s & 31 of word s >> 5 stands for slot s.
  bool listed = true;
  std::vector<uint32_t> words;
  size_t count = 0;

  // The same in the other form, or in this one.
  std::vector<uint32_t> as_list() &&;
  std::vector<uint32_t> as_bitmap() &&;
};

// The fields that a path may mean, in the order in which they are tried.
std::vector<const FilterField*> fields_of(const FilterIndex& index, const Characters& path);

/**
 * The slots whose metadata match, by set algebra over the lists of values (node/engine/filter/matches.ts says what
 * matching is). Any thread, within a Reading. Right for all slots that were put before the call, unless one was removed
 * meanwhile; slots put later may or may not be in it, and are only if they match. Nothing if it is expected to take
 * longer than `ns_max`.
 */
std::optional<FoundSlots> resolve_filter(const FilterIndex& index, const FilterCondition& filter, double ns_max);

/**
 * The same filter as a test of one slot, where that is at hand: an `and` of ranges over numbers in order and of what
 * asks for values, too. Nothing where it is not, or if so many slots, about, are not `enough` for the caller to prefer
 * it, or if making it takes longer than `ns_max`.
 */
std::optional<SlotTest> test_of_filter(const FilterIndex& index, const FilterCondition& filter, double ns_max,
                                       const std::function<bool(size_t)>& enough);

/**
 * Makes some of what conditions of the filter profit from (columns, sorted keys, signatures). Writer's thread, before
 * resolving. Answers whether there is more to make.
 */
bool prepare_filter(FilterIndex& index, const FilterCondition& filter);

// The slots with a text of which the lists can't tell whether it passes, by a kText alone: their metadata can. Writer's
// thread.
FoundSlots unknown_slots(const FilterIndex& index, const FilterCondition& filter);

}  // namespace quiver
