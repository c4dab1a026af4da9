#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "field_sources.h"
#include "filter_counts.h"
#include "filter_field.h"
#include "filter_index.h"
#include "filter_words.h"

namespace quiver {

/**
 * The slots of a bitmap, or all, by their values under one path (field_sources.h), in the order of compare_values
 * without null. A slot with several values comes with each of them. Writer's thread, and nothing may change the index
 * while it lives.
 */
class FieldOrder {
 public:
  // `bitmap` null: all slots.
  FieldOrder(const FilterIndex& index, const Characters& path, const std::vector<uint32_t>* bitmap);

  struct Wanted {
    bool descending = false;
    // The value to begin with, or behind which to begin.
    std::optional<CountedValue> from;
    bool from_included = false;
    // How many slots; a value's slots come together, so there may be more.
    uint32_t slots = 0;
    // Of one value; more come as a bitmap.
    uint32_t listed_max = 0;
  };
  struct Found {
    // Values one after the other; the slots of each lie before its end.
    std::vector<CountedValue> values;
    std::vector<uint32_t> slots, ends;
    // Instead of `slots`, if the only value has more than `listed_max`: these as a bitmap.
    std::vector<uint32_t> bitmap;
    // The last value that was looked at.
    std::optional<CountedValue> last;
    bool more = false;
  };
  Found some(const Wanted& wanted) const;

  // The slots that have no value, as a bitmap.
  std::vector<uint32_t> missing() const;

 private:
  // Values that one call looks at: some milliseconds.
  static constexpr uint32_t kLookedMax = 16'384;

  struct Listed {
    const FieldSource* source;
    PostingView posting;
  };

  template <class Dictionary, class Member, class MakeValue>
  bool take_all(Member member, const Wanted& wanted, const std::optional<typename Dictionary::Key>& from,
                const MakeValue& value_of, Found& found) const;
  // Answers whether there is room for more.
  bool take(const CountedValue& value, const std::vector<Listed>& listed, const Wanted& wanted, Found& found,
            uint32_t& looked) const;
  bool take_kind(ValueKind kind, const Wanted& wanted, Found& found) const;

  const FilterIndex& index_;
  const std::optional<std::vector<uint32_t>> within_;
  const std::vector<FieldSource> sources_;
};

// Sorts some of the values under a path (ValueDictionary::sort_some). Answers whether there is more to do.
bool sort_values(FilterIndex& index, const Characters& path);

}  // namespace quiver
