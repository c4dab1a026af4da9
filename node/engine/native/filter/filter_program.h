#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "filter_field.h"
#include "filter_words.h"
#include "text_test.h"

namespace quiver {

// A scalar or composite that a filter asks for.
struct FilterValue {
  // kNone: nothing has this value.
  ValueKind kind = ValueKind::kNone;
  double number = 0;
  Characters text;
};

/**
 * A filter as node/engine/filter/filter-program.ts writes it (shared/contract/filter/filter.ts says what each means).
 * Texts point into the words that it was read from.
 */
struct FilterCondition {
  // The numbers are those of node/engine/filter/filter-program.ts.
  enum class Type : uint32_t { kAnd, kOr, kNot, kEquals, kIn, kRange, kExists, kText, kBetween, kTime, kOthers };

  Type type = Type::kAnd;
  // kAnd, kOr, and the one of kNot.
  std::vector<FilterCondition> parts;
  // Of the others; always wide.
  Characters path;
  // kEquals: one; kIn, kOthers: any number; kRange: the bound; kBetween: the lowest and the highest, of one kind.
  std::vector<FilterValue> values;
  RangeOperator range = RangeOperator::kGt;
  // Of numbers: kRange, kBetween; of times: kTime.
  Interval interval{0, 0};
  // kText.
  TextTest text;
};

// Throws std::invalid_argument on words that are no filter.
FilterCondition read_filter(const uint32_t* words, size_t count);

}  // namespace quiver
