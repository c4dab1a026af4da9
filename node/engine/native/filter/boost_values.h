#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "filter_evaluation.h"
#include "filter_index.h"
#include "filter_words.h"
#include "lists/posting.h"
#include "lists/slot_numbers.h"
#include "remembered_filters.h"

namespace quiver {

/**
 * What boosts make of items (shared/contract/shard/boosts.ts), of one slot after the other: whether it passes a filter,
 * and the number, time or place that it has under a path. Any thread, within a Reading; right where the lists have not
 * changed since.
 */
class BoostValues {
 public:
  // The numbers are those of node/engine/filter/boost-program.ts.
  enum class Kind : uint32_t { kFilter, kNumber, kTime, kPlace };
  enum class Shape : uint32_t { kNone, kLog1p, kSqrt, kSquare, kReciprocal, kExp, kGauss, kLinear };

  // `words`: the mode, and for each boost its kind and what that takes. They must stay. Nothing if somebody has to make
  // what is needed (make_boost_values), or if a filter takes long. `number`: of the index, by which filters are
  // remembered. Throws std::invalid_argument.
  static std::optional<BoostValues> of(FilterIndex& index, uint64_t number, WordReader words,
                                       RememberedFilters& remembered);

  size_t parts() const { return parts_.size(); }
  // Values of one slot: one of each boost, and two of a place.
  size_t width() const { return width_; }
  // Whether all is in the lists that the slot has: one that is put at this moment may be found before.
  bool knows(uint32_t slot) const { return all_.has(slot); }

  /**
   * Of a filter 1 or 0; a number, or a time in milliseconds since 1970; a latitude and a longitude. NaN: it has none.
   * Infinity: its metadata have to be read.
   */
  void write(uint32_t slot, double* values) const;

  // What the numbers of a boost lie between; of what is none, or where there are none, the first is above the second.
  void write_range(size_t part, double* range) const;

  /**
   * Between what the numbers of all boosts together are, which are worked out here only about: what they make is
   * defined by JavaScript, whose mathematics may be rounded otherwise.
   */
  struct Number {
    double low, high;
  };
  Number number(uint32_t slot) const;
  // No slot has a greater one.
  double most() const { return most_; }

  // What a number makes of a score: more of a better score, and more for a greater number.
  double boosted(double score, double number) const {
    return adds_ ? score + number : score >= 0 ? score * number : score / number;
  }
  // The least score of which the greatest number makes so much.
  double least_score(double boosted) const {
    return adds_ ? boosted - most_ : boosted >= 0 ? boosted / most_ : boosted * most_;
  }

 private:
  struct Part {
    Kind kind = Kind::kFilter;
    Shape shape = Shape::kNone;
    // What the weight, the numbers of a filter and the decay of what has no value make.
    double weight = 0, inside = 0, outside = 0, missing = 0;
    double origin[2] = {0, 0};
    double scale = 1, offset = 0, at = 0;
    FoundSlots own;
    std::shared_ptr<const FoundSlots> remembered;
    // Null where no slot has one.
    const SlotNumbers::Column* numbers = nullptr;
    const SlotNumbers::Column* longitudes = nullptr;
    const FilterField* field = nullptr;

    bool passes(uint32_t slot) const;
    // The values of a slot, as `write` has them.
    double value(uint32_t slot, double& longitude) const;
    double strength(double value, double longitude) const;
  };

  double held(double number) const;
  // NaN: it has no value, and no strength stands for that.
  double of_strength(const Part& part, double strength) const;
  double most_of(const Part& part) const;

  PostingView all_;
  std::vector<Part> parts_;
  size_t width_ = 0;
  bool adds_ = false;
  double most_ = 0;
  // Of all parts, the least that they may be.
  double least_ = 0;
};

// Makes some of what boosts need; `words` as above. Writer's thread. Answers whether there is more to make.
bool make_boost_values(FilterIndex& index, WordReader words);

}  // namespace quiver
