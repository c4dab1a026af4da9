#include "filter_order.h"

#include <algorithm>

#include "filter_evaluation.h"

namespace quiver {

namespace {

// In rising order.
constexpr ValueKind kKinds[] = {ValueKind::kNumber, ValueKind::kString, ValueKind::kFalse, ValueKind::kTrue};

int compare_keys(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }
int compare_keys(const Characters& a, const Characters& b) { return StringKeys::compare(a, b); }

CountedValue value_of_kind(ValueKind kind) {
  CountedValue value;
  value.kind = kind;
  return value;
}

template <class Visit>
void each_bit(const std::vector<uint32_t>& words, const Visit& visit) {
  for (uint32_t i = 0; i < words.size(); i++)
    for (uint32_t word = words[i]; word != 0; word &= word - 1) visit(i * 32 + uint32_t(__builtin_ctz(word)));
}

}  // namespace

FieldOrder::FieldOrder(const FilterIndex& index, const Characters& path, const std::vector<uint32_t>* bitmap)
    : index_(index),
      within_(bitmap == nullptr ? std::nullopt : std::optional(*bitmap)),
      sources_(field_sources(index, path, bitmap)) {}

FieldOrder::Found FieldOrder::some(const Wanted& wanted) const {
  Found found;
  const CountedValue* from = wanted.from.has_value() ? &*wanted.from : nullptr;
  for (size_t i = 0; i < std::size(kKinds); i++) {
    const ValueKind kind = kKinds[wanted.descending ? std::size(kKinds) - 1 - i : i];
    if (from != nullptr && kind != from->kind) {
      const int order = compare_values(value_of_kind(kind), *from);
      if (wanted.descending ? order > 0 : order < 0) continue;
    }
    if (take_kind(kind, wanted, found)) continue;
    found.more = true;
    break;
  }
  return found;
}

bool FieldOrder::take_kind(ValueKind kind, const Wanted& wanted, Found& found) const {
  const bool is_from = wanted.from.has_value() && wanted.from->kind == kind;
  if (kind == ValueKind::kNumber) {
    const auto value_of = [](double number) {
      CountedValue value = value_of_kind(ValueKind::kNumber);
      value.number = number;
      return value;
    };
    return take_all<NumberDictionary>(&FilterField::numbers, wanted,
                                      is_from ? std::optional(wanted.from->number) : std::nullopt, value_of, found);
  }
  if (kind == ValueKind::kString) {
    const auto value_of = [](const Characters& text) {
      CountedValue value = value_of_kind(ValueKind::kString);
      value.text = text;
      return value;
    };
    return take_all<StringDictionary>(&FilterField::strings, wanted,
                                      is_from ? std::optional(wanted.from->text) : std::nullopt, value_of, found);
  }
  if (is_from && !wanted.from_included) return true;
  std::vector<Listed> listed;
  for (const FieldSource& source : sources_)
    listed.push_back({&source, PostingView(kind == ValueKind::kTrue ? source.field->trues : source.field->falses)});
  uint32_t looked = 0;
  return take(value_of_kind(kind), listed, wanted, found, looked);
}

template <class Dictionary, class Member, class MakeValue>
bool FieldOrder::take_all(Member member, const Wanted& wanted, const std::optional<typename Dictionary::Key>& from,
                          const MakeValue& value_of, Found& found) const {
  struct SourceWalk {
    const FieldSource* source;
    typename Dictionary::Walk walk;
  };
  using Bound = typename Dictionary::Walk::Bound;
  std::vector<SourceWalk> walks;
  for (const FieldSource& source : sources_) {
    const Dictionary* values = (source.field->*member).load();
    if (values == nullptr) continue;
    const std::optional<Bound> bound =
        from.has_value() ? std::optional(Bound{*from, wanted.from_included}) : std::nullopt;
    walks.push_back({&source, typename Dictionary::Walk(*values, wanted.descending, bound)});
  }
  std::vector<Listed> listed;
  uint32_t looked = 0;
  for (;;) {
    const SourceWalk* first = nullptr;
    for (const SourceWalk& one : walks) {
      if (one.walk.at_end()) continue;
      const int order = first == nullptr ? 0 : compare_keys(one.walk.key(), first->walk.key());
      if (first == nullptr || (wanted.descending ? order > 0 : order < 0)) first = &one;
    }
    if (first == nullptr) return true;
    const typename Dictionary::Key key = first->walk.key();
    listed.clear();
    for (SourceWalk& one : walks) {
      if (one.walk.at_end() || compare_keys(one.walk.key(), key) != 0) continue;
      listed.push_back({one.source, one.walk.posting()});
      one.walk.next();
    }
    if (!take(value_of(key), listed, wanted, found, looked)) return false;
  }
}

bool FieldOrder::take(const CountedValue& value, const std::vector<Listed>& listed, const Wanted& wanted, Found& found,
                      uint32_t& looked) const {
  size_t size = 0;
  for (const Listed& one : listed) size += one.posting.size();
  const size_t before = found.slots.size();
  if (size > wanted.listed_max) {
    // It is the first of the next ones.
    if (before > 0) return false;
    std::vector<uint32_t> words;
    for (const Listed& one : listed) {
      std::vector<uint32_t> own(index_.slot_limit() / 32 + 1);
      one.posting.or_into(own);
      const std::vector<uint32_t>& bits = one.source->bits;
      for (size_t i = 0; !one.source->is_all && i < own.size(); i++) own[i] &= i < bits.size() ? bits[i] : 0;
      if (words.empty()) words = std::move(own);
      else for (size_t i = 0; i < words.size(); i++) words[i] |= own[i];
    }
    size_t count = 0;
    for (const uint32_t word : words) count += size_t(__builtin_popcount(word));
    if (count > wanted.listed_max) {
      found.bitmap = std::move(words);
      found.values.push_back(value);
      found.last = value;
      return false;
    }
    each_bit(words, [&](uint32_t slot) { found.slots.push_back(slot); });
  } else {
    for (const Listed& one : listed)
      one.posting.for_each([&](uint32_t slot) {
        if (one.source->has(slot)) found.slots.push_back(slot);
      });
  }
  found.last = value;
  if (found.slots.size() > before) {
    found.values.push_back(value);
    found.ends.push_back(uint32_t(found.slots.size()));
  }
  return found.slots.size() < wanted.slots && ++looked < kLookedMax;
}

std::vector<uint32_t> FieldOrder::missing() const {
  std::vector<uint32_t> words = within_.has_value() ? *within_ : all_slots(index_);
  for (const FieldSource& source : sources_) {
    const auto clear = [&](const PostingView& posting) {
      posting.for_each([&](uint32_t slot) {
        if (source.has(slot)) clear_bit(words, slot);
      });
    };
    clear(PostingView(source.field->trues));
    clear(PostingView(source.field->falses));
    const NumberDictionary* numbers = source.field->numbers.load();
    const StringDictionary* texts = source.field->strings.load();
    if (numbers != nullptr) numbers->page(0, UINT32_MAX, [&](double, const PostingView& posting) { clear(posting); });
    if (texts != nullptr)
      texts->page(0, UINT32_MAX, [&](const Characters&, const PostingView& posting) { clear(posting); });
  }
  return words;
}

bool sort_values(FilterIndex& index, const Characters& path) {
  index.collect();
  bool has_more = false;
  for (const FilterField* field : fields_of(index, path)) {
    NumberDictionary* numbers = field->numbers.load();
    StringDictionary* texts = field->strings.load();
    if (numbers != nullptr) has_more = numbers->sort_some() || has_more;
    if (texts != nullptr) has_more = texts->sort_some() || has_more;
  }
  return has_more;
}

}  // namespace quiver
