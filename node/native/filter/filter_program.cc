#include "filter_program.h"

#include <algorithm>
#include <stdexcept>

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

FilterCondition read_condition(WordReader& words, unsigned depth) {
  using Type = FilterCondition::Type;
  if (depth > kDepthMax) throw std::invalid_argument("a filter that nests too deeply");
  FilterCondition condition;
  const uint32_t type = words.next();
  if (type > uint32_t(Type::kExists)) throw std::invalid_argument("no such condition");
  condition.type = Type(type);
  if (condition.type <= Type::kNot) {
    const uint32_t count = condition.type == Type::kNot ? 1 : words.next();
    for (uint32_t i = 0; i < count; i++) condition.parts.push_back(read_condition(words, depth + 1));
    return condition;
  }
  condition.path = words.characters();
  if (!condition.path.wide && condition.path.count > 0) throw std::invalid_argument("a path that is not wide");
  if (condition.type == Type::kRange) {
    const uint32_t range = words.next();
    if (range > uint32_t(RangeOperator::kLte)) throw std::invalid_argument("no such range");
    condition.range = RangeOperator(range);
  }
  const uint32_t count = condition.type == Type::kIn ? words.next() : condition.type == Type::kExists ? 0 : 1;
  for (uint32_t i = 0; i < count; i++) condition.values.push_back(read_value(words));
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
