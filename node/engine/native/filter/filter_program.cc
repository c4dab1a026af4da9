#include "filter_program.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace quiver {

namespace {

// Deeper than any filter that a client may send, so that a wrong program can't exhaust the stack.
constexpr unsigned kDepthMax = 256;

FilterValue read_value(WordReader& words) {
  FilterValue value;
  const uint32_t kind = words.next();
  if (kind > uint32_t(ValueKind::kComposite)) throw std::invalid_argument("no such kind of value");
  value.kind = ValueKind(kind);
  if (value.kind == ValueKind::kNumber) value.number = words.number();
  if (value.kind == ValueKind::kString || value.kind == ValueKind::kComposite) value.text = words.characters();
  return value;
}

// The kind, whether it folds, and the pattern: its length, and a word for each character.
TextTest read_text_test(WordReader& words) {
  const uint32_t kind = words.next();
  if (kind > uint32_t(TextTest::Kind::kLike)) throw std::invalid_argument("no such test of a text");
  const bool folds = words.next() != 0;
  std::vector<uint32_t> pattern;
  for (uint32_t left = words.next(); left > 0; left--) pattern.push_back(words.next());
  return TextTest(TextTest::Kind(kind), folds, std::move(pattern));
}

FilterCondition read_condition(WordReader& words, unsigned depth) {
  using Type = FilterCondition::Type;
  if (depth > kDepthMax) throw std::invalid_argument("a filter that nests too deeply");
  FilterCondition condition;
  const uint32_t type = words.next();
  if (type > uint32_t(Type::kOthers)) throw std::invalid_argument("no such condition");
  condition.type = Type(type);
  const auto read_parts = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; i++) condition.parts.push_back(read_condition(words, depth + 1));
  };
  const auto read_path = [&] {
    condition.path = words.characters();
    if (!condition.path.wide && condition.path.count > 0) throw std::invalid_argument("a path that is not wide");
  };
  const auto read_values = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; i++) condition.values.push_back(read_value(words));
  };
  switch (condition.type) {
    case Type::kAnd:
    case Type::kOr:
      read_parts(words.next());
      break;
    case Type::kNot:
      read_parts(1);
      break;
    case Type::kEquals:
      read_path();
      read_values(1);
      break;
    case Type::kIn:
    case Type::kOthers:
      read_path();
      read_values(words.next());
      break;
    case Type::kRange: {
      read_path();
      const uint32_t range = words.next();
      if (range > uint32_t(RangeOperator::kLte)) throw std::invalid_argument("no such range");
      condition.range = RangeOperator(range);
      read_values(1);
      condition.interval = Interval::of(condition.range, condition.values[0].number);
      break;
    }
    case Type::kExists:
      read_path();
      break;
    case Type::kText:
      read_path();
      condition.text = read_text_test(words);
      break;
    case Type::kBetween:
      read_path();
      read_values(2);
      if (condition.values[0].kind != condition.values[1].kind) throw std::invalid_argument("bounds of two kinds");
      condition.interval = {condition.values[0].number, condition.values[1].number};
      break;
    case Type::kTime:
      read_path();
      condition.interval.low = words.number();
      condition.interval.high = words.number();
      break;
  }
  return condition;
}

}  // namespace

FilterCondition read_filter(const uint32_t* words, size_t count) {
  WordReader reader(words, count);
  FilterCondition condition = read_condition(reader, 0);
  if (!reader.at_end()) throw std::invalid_argument("words after a filter");
  return condition;
}

}  // namespace quiver
