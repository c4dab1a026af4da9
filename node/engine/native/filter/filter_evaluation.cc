#include "filter_evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "lists/slot_algebra.h"
#include "text_keys.h"
#include "time_of_text.h"

namespace quiver {

namespace {

using Type = FilterCondition::Type;

// As deep as a path may reach; shared/contract/filter/metadata-path.ts has the same.
constexpr unsigned kPathDepthMax = 32;
// Inside an `and`, a column is asked for the slots that are left if they are fewer than one in this many.
constexpr size_t kFewSlotsShare = 16;
// Of a range over numbers in order, so many slots tell how many pass the other conditions too; fewer than this of them
// are no basis.
constexpr size_t kSampled = 512, kSampledMin = 32;
// What parts of the work take, as in slot_algebra.h.
constexpr double kConditionNs = 200, kValueNs = 60, kColumnSlotNs = 0.8, kOrderedSlotNs = 2.5, kLookNs = 4,
                 kNumberNs = 2, kStringNs = 25, kVisitNs = 5;
// The same of tests of texts: a look at a signature, and at a text.
constexpr double kSignatureNs = 2, kTextNs = 60, kTimeNs = 1;
// Values that are looked at once for what is known of them: a few milliseconds.
constexpr uint32_t kFactsAtOnce = 32'768;

// Of 32 numbers, which are in the interval, the first one's bit lowest.
inline uint32_t bits_of(const double* values, const Interval& interval) {
  uint8_t inside[32];
  for (uint32_t i = 0; i < 32; i++) inside[i] = interval.has(values[i]);
  uint32_t word = 0;
  for (uint32_t i = 0; i < 32; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, inside + i, 8);
    // The product moves the lowest bit of byte b to bit 56 + b; no two of its terms meet.
    word |= uint32_t((eight * 0x0102040810204080) >> 56) << i;
  }
  return word;
}

// Whether it asks only for values that are there, by paths that mean one field.
bool is_monotone(const FilterCondition& filter) {
  switch (filter.type) {
    case Type::kNot:
      return false;
    case Type::kAnd:
      return !filter.parts.empty() && std::all_of(filter.parts.begin(), filter.parts.end(), is_monotone);
    case Type::kOr:
      return std::all_of(filter.parts.begin(), filter.parts.end(), is_monotone);
    case Type::kEquals:
    case Type::kIn:
    case Type::kRange:
    case Type::kExists:
    case Type::kText:
    case Type::kBetween:
    case Type::kTime:
    case Type::kOthers:
      break;
  }
  for (uint32_t i = 0; i < filter.path.count; i++) if (filter.path.at(i) == '.') return false;
  return true;
}

bool is_range(const FilterCondition& filter) { return filter.type == Type::kRange || filter.type == Type::kBetween; }

// Whether values are looked through for it.
bool is_searched(const FilterCondition& filter) {
  return is_range(filter) || filter.type == Type::kText || filter.type == Type::kTime;
}

class Evaluation {
 public:
  Evaluation(const FilterIndex& index, const FilterCondition& filter, double ns_max)
      : index_(index), algebra_(index.slot_limit(), ns_max), is_bounded_(!is_monotone(filter)) {
    // An item that is being put has some of its values in the lists. What asks only for values that are there can't be
    // misled by that. The rest is answered for the items that were complete at the start.
    if (is_bounded_) complete_ = algebra_.bitmap_of(PostingView(index.all()));
  }

  // As test_of_filter says.
  std::optional<SlotTest> test(const FilterCondition& filter, const std::function<bool(size_t)>& enough) {
    const bool is_one = is_range(filter);
    const Parts parts = parts_of(is_one ? &filter : filter.parts.data(), is_one ? 1 : filter.parts.size());
    if (parts.ranges.empty() || !parts.ranges.back().range.has_value()) return std::nullopt;
    const ColumnRange& rarest = parts.ranges[0];
    SlotTest test;
    test.count = rarest.range->about();
    if (!enough(parts.others.empty() ? test.count : std::min(test.count, size_t(parts.others[0].first))))
      return std::nullopt;
    for (const auto& [size, part] : parts.others) {
      // What takes long to find, and is rarer, leaves little to ask.
      if (part->type != Type::kEquals && size < double(test.count)) return std::nullopt;
      test.sets.push_back(find(*part));
    }
    for (const ColumnRange& range : parts.ranges) {
      // It may be newer than the order.
      if (range.column->is_ranked.load(std::memory_order_acquire) == 0) return std::nullopt;
      test.ranges.push_back(RankedRange::of(range.column, range.interval));
    }
    if (test.ranges.size() + test.sets.size() == 1) return test;
    size_t asked = 0, passed = 0;
    algebra_.spend(double(kSampled) * kLookNs * double(test.ranges.size() + test.sets.size()));
    rarest.range->for_some(kSampled, *rarest.column, [&](uint32_t slot) {
      asked++;
      passed += test.has(slot);
    });
    if (passed < kSampledMin) return std::nullopt;
    test.count = size_t(double(test.count) * double(passed) / double(asked));
    return enough(test.count) ? std::optional(std::move(test)) : std::nullopt;
  }

  FoundSlots run(const FilterCondition& filter) {
    Slots found = find(filter);
    if (is_bounded_) found = algebra_.intersection(std::move(found), Slots::bitmap(complete_));
    return result_of(std::move(found));
  }

  // As unknown_slots says.
  FoundSlots unknown(const FilterCondition& filter) {
    std::vector<Slots> found;
    for (const FilterField* field : fields_of(index_, filter.path)) {
      const StringDictionary* texts = field->strings.load();
      if (texts != nullptr && texts->long_count() > 0)
        found.push_back(passing_text(*field, filter.text, TextTest::Answer::kUnknown));
    }
    return result_of(algebra_.united(found, algebra_.limit));
  }

 private:
  FoundSlots result_of(Slots found) {
    FoundSlots result;
    if (found.form == Slots::Form::kPosting) found = algebra_.owned(std::move(found));
    result.listed = found.form == Slots::Form::kList;
    result.words = std::move(found.words);
    result.count = result.listed ? result.words.size() : popcount(result.words);
    return result;
  }

  Slots find(const FilterCondition& filter) {
    switch (filter.type) {
      case Type::kAnd:
        return conjunction(filter.parts);
      case Type::kOr:
        return disjunction(filter.parts);
      case Type::kNot:
        return algebra_.difference(Slots::bitmap(complete_), find(filter.parts[0]));
      case Type::kEquals:
      case Type::kIn:
      case Type::kRange:
      case Type::kExists:
      case Type::kText:
      case Type::kBetween:
      case Type::kTime:
      case Type::kOthers:
        return on_path(filter);
    }
    throw std::logic_error("no such condition");
  }

  // A range over the numbers of a column, and where they are if they are in order.
  struct ColumnRange {
    const NumberColumn* column;
    const NumberOrder* order;
    Interval interval;
    std::optional<NumberOrder::Range> range;

    void find() {
      if (order != nullptr) range = order->range(interval);
    }
    size_t at_most() const { return range.has_value() ? range->at_most() : std::numeric_limits<size_t>::max(); }
  };
  // The parts of an `and`.
  struct Parts {
    std::vector<ColumnRange> ranges;
    // With upper bounds of their sizes.
    std::vector<std::pair<double, const FilterCondition*>> others;
    std::vector<const FilterCondition*> negations;
  };

  // What has fewest slots first.
  Parts parts_of(const FilterCondition* first, size_t count) {
    Parts result;
    add_parts(first, count, result);
    for (ColumnRange& range : result.ranges) range.find();
    std::stable_sort(result.ranges.begin(), result.ranges.end(),
                     [](const ColumnRange& a, const ColumnRange& b) { return a.at_most() < b.at_most(); });
    std::stable_sort(result.others.begin(), result.others.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    return result;
  }

  void add_parts(const FilterCondition* first, size_t count, Parts& result) {
    for (const FilterCondition* part = first; part != first + count; part++) {
      // An `and` within an `and`: two bounds of a field, most often.
      if (part->type == Type::kAnd) {
        add_parts(part->parts.data(), part->parts.size(), result);
        continue;
      }
      if (part->type == Type::kNot) {
        result.negations.push_back(part);
        continue;
      }
      std::optional<ColumnRange> own = range_of(*part);
      if (!own.has_value()) {
        result.others.emplace_back(double(size_at_most(*part)) + (is_searched(*part) ? algebra_.limit : 0), part);
        continue;
      }
      algebra_.spend(kConditionNs);
      // A slot has one number in a column, so several ranges over one are one.
      const auto known = std::find_if(result.ranges.begin(), result.ranges.end(),
                                      [&](const ColumnRange& range) { return range.column == own->column; });
      if (known == result.ranges.end()) result.ranges.push_back(*own);
      else
        known->interval = {std::max(known->interval.low, own->interval.low),
                           std::min(known->interval.high, own->interval.high)};
    }
  }

  // Smallest parts first, then ranges over columns, negations last, so that each step works on what the earlier ones
  // left.
  Slots conjunction(const std::vector<FilterCondition>& all) {
    const Parts parts = parts_of(all.data(), all.size());
    std::optional<Slots> left;
    size_t next_range = 0;
    // A range that is known to be rarer than all the others comes before them.
    if (!parts.ranges.empty() && !parts.others.empty() && double(parts.ranges[0].at_most()) < parts.others[0].first)
      left = in_column(parts.ranges[next_range++]);
    for (const auto& [size, part] : parts.others) {
      if (left.has_value() && SlotAlgebra::is_empty(*left)) return Slots::list({});
      left = left.has_value() ? algebra_.intersection(std::move(*left), find(*part)) : find(*part);
    }
    for (; next_range < parts.ranges.size(); next_range++) {
      if (left.has_value() && SlotAlgebra::is_empty(*left)) return Slots::list({});
      left =
          left.has_value() ? narrowed(std::move(*left), parts.ranges[next_range]) : in_column(parts.ranges[next_range]);
    }
    if (!left.has_value()) left = Slots::bitmap(complete_);
    for (const FilterCondition* part : parts.negations) {
      if (!SlotAlgebra::is_empty(*left)) left = algebra_.difference(std::move(*left), find(part->parts[0]));
    }
    return std::move(*left);
  }

  // A range over numbers that asks one column alone; nothing otherwise.
  std::optional<ColumnRange> range_of(const FilterCondition& part) const {
    if (!is_range(part) || part.values[0].kind != ValueKind::kNumber) return std::nullopt;
    const std::vector<const FilterField*> fields = fields_of(index_, part.path);
    if (fields.size() != 1) return std::nullopt;
    return column_range(*fields[0], part.interval);
  }
  static std::optional<ColumnRange> column_range(const FilterField& field, const Interval& interval) {
    const NumberOrder* order = field.order.load();
    const NumberColumn* column = field.column.load();
    if (column == nullptr) return std::nullopt;
    return ColumnRange{column, order, interval, std::nullopt};
  }

  Slots narrowed(Slots left, const ColumnRange& range) {
    const size_t size = SlotAlgebra::size_of(left);
    if (size * kFewSlotsShare >= algebra_.limit && double(size) * kLookNs >= in_column_ns(range))
      return algebra_.intersection(std::move(left), in_column(range));
    return algebra_.kept(std::move(left), [&](uint32_t slot) { return range.column->has(slot, range.interval); });
  }

  Slots disjunction(const std::vector<FilterCondition>& parts) {
    std::vector<Slots> found;
    size_t slots = 0;
    for (const FilterCondition& part : parts) {
      found.push_back(find(part));
      slots += SlotAlgebra::size_of(found.back());
    }
    if (found.size() == 1) return std::move(found[0]);
    return algebra_.united(found, slots);
  }

  /**
   * The slots for the field that a path means. A dotted path can mean different fields in different items. So the
   * fields are asked in the order in which lookUpPath tries them, each only for the slots that have none of the earlier
   * ones.
   */
  Slots on_path(const FilterCondition& filter) {
    algebra_.spend(kConditionNs);
    const std::vector<const FilterField*> fields = fields_of(index_, filter.path);
    if (fields.empty()) return Slots::list({});
    Slots result = in_field(*fields[0], filter);
    if (fields.size() == 1) return result;
    std::vector<uint32_t> decided = algebra_.bitmap_of(PostingView(fields[0]->present));
    for (size_t i = 1; i < fields.size(); i++) {
      std::vector<Slots> both;
      both.push_back(std::move(result));
      both.push_back(algebra_.difference(in_field(*fields[i], filter), Slots::bitmap(decided)));
      result = algebra_.united(both, algebra_.limit);
      algebra_.or_into(Slots::of(PostingView(fields[i]->present)), decided);
    }
    return result;
  }

  Slots in_field(const FilterField& field, const FilterCondition& filter) {
    switch (filter.type) {
      case Type::kEquals:
        return Slots::of(equal(field, filter.values[0]));
      case Type::kIn:
        return any_of(field, filter.values);
      case Type::kRange:
      case Type::kBetween:
        return in_range_of(field, filter);
      case Type::kExists:
        return Slots::of(PostingView(field.present));
      case Type::kText:
        return passing_text(field, filter.text, TextTest::Answer::kYes);
      case Type::kTime:
        return at_time(field, filter.interval);
      case Type::kOthers:
        return others(field, filter.values);
      case Type::kAnd:
      case Type::kOr:
      case Type::kNot:
        break;
    }
    throw std::logic_error("a condition that is on no field");
  }

  static PostingView equal(const FilterField& field, const FilterValue& value) {
    const auto found_in = [](const auto* dictionary, const auto& key) {
      const Posting* found = dictionary == nullptr ? nullptr : dictionary->find(key);
      return found == nullptr ? PostingView() : PostingView(*found);
    };
    switch (value.kind) {
      case ValueKind::kNull:
        return PostingView(field.nulls);
      case ValueKind::kTrue:
        return PostingView(field.trues);
      case ValueKind::kFalse:
        return PostingView(field.falses);
      case ValueKind::kNumber:
        return found_in(field.numbers.load(), value.number);
      case ValueKind::kString:
        return found_in(field.strings.load(), value.text);
      case ValueKind::kComposite:
        return found_in(field.composites.load(), value.text);
      case ValueKind::kNone:
        break;
    }
    return PostingView();
  }

  Slots any_of(const FilterField& field, const std::vector<FilterValue>& values) {
    algebra_.spend(double(values.size()) * kValueNs);
    std::vector<Slots> found;
    size_t slots = 0;
    for (const FilterValue& value : values) {
      const PostingView posting = equal(field, value);
      if (posting.empty()) continue;
      slots += posting.size();
      found.push_back(Slots::of(posting));
    }
    return algebra_.united(found, slots);
  }

  // The slots with a number, a text or a boolean that is none of the values.
  Slots others(const FilterField& field, const std::vector<FilterValue>& values) {
    bool has_true = false, has_false = false;
    std::vector<double> numbers;
    std::vector<Characters> texts;
    for (const FilterValue& value : values) {
      has_true = has_true || value.kind == ValueKind::kTrue;
      has_false = has_false || value.kind == ValueKind::kFalse;
      if (value.kind == ValueKind::kNumber) numbers.push_back(value.number);
      if (value.kind == ValueKind::kString) texts.push_back(value.text);
    }
    SlotAlgebra::Union all(algebra_);
    const auto add = [&](const Posting& posting) {
      algebra_.spend(kVisitNs);
      all.add(PostingView(posting));
    };
    if (!has_true) add(field.trues);
    if (!has_false) add(field.falses);
    const auto add_others = [&](const auto* dictionary, const auto& known) {
      if (dictionary == nullptr) return;
      algebra_.spend(double(dictionary->limit()) * kNumberNs + double(known.size()) * kValueNs);
      dictionary->for_each_but(known, add);
    };
    add_others(field.numbers.load(), numbers);
    add_others(field.strings.load(), texts);
    return all.finish();
  }

  Slots in_range_of(const FilterField& field, const FilterCondition& filter) {
    const FilterValue& bound = filter.values[0];
    if (bound.kind == ValueKind::kString)
      return in_dictionary(
          field.strings.load(), filter, [](const FilterValue& value) { return value.text; }, kStringNs);
    std::optional<ColumnRange> range = column_range(field, filter.interval);
    if (range.has_value()) {
      range->find();
      return in_column(*range);
    }
    const NumberDictionary* numbers = field.numbers.load();
    // The writer's thread may have a column made.
    if (numbers != nullptr && numbers->size() >= FilterField::kColumnNumbersMin && !field.is_prepared.load())
      algebra_.leave();
    return in_dictionary(numbers, filter, [](const FilterValue& value) { return value.number; }, kNumberNs);
  }

  // The slots with a text of which the test says so.
  Slots passing_text(const FilterField& field, const TextTest& test, TextTest::Answer wanted) {
    const StringDictionary* texts = field.strings.load();
    if (texts == nullptr) return Slots::list({});
    SlotAlgebra::Union all(algebra_);
    const auto add = [&](const Posting& posting) {
      algebra_.spend(kVisitNs);
      all.add(PostingView(posting));
    };
    if (test.is_plain_prefix() && wanted == TextTest::Answer::kYes) {
      algebra_.spend(texts->range_steps() * kStringNs);
      texts->for_each_beginning(test.prefix(), add);
      return all.finish();
    }
    const StringDictionary::Facts* facts = test.needed().is_empty() ? nullptr : texts->facts();
    const FactColumn<TextSignature>* signatures = facts == nullptr ? nullptr : &facts->signatures;
    algebra_.spend(double(texts->limit()) * kSignatureNs);
    texts->for_each_likely(signatures, [&](const TextSignature& signature) { return signature.has(test.needed()); },
                           [&](const Characters& key, const Posting& posting) {
      algebra_.spend(kTextNs);
      const TextTest::Answer answer = test.of(key);
      if (answer == wanted) add(posting);
      // The writer's thread can read the rest of a long text.
      else if (answer == TextTest::Answer::kUnknown) algebra_.leave();
    });
    return all.finish();
  }

  // The slots with a text that says a time of the interval.
  Slots at_time(const FilterField& field, const Interval& interval) {
    const StringDictionary* texts = field.strings.load();
    if (texts == nullptr) return Slots::list({});
    const StringDictionary::Facts* facts = texts->facts();
    const FactColumn<TextTime>* times = facts == nullptr ? nullptr : &facts->times;
    algebra_.spend(double(texts->limit()) * kTimeNs + double(texts->unlikely_from(times)) * kTextNs);
    SlotAlgebra::Union all(algebra_);
    texts->for_each_likely(times, [&](const TextTime& time) { return interval.has(time.ms) || time.is_unknown(); },
                           [&](const Characters& key, const Posting& posting) {
      algebra_.spend(kTextNs);
      if (interval.has(time_of_text(key))) all.add(PostingView(posting));
    });
    return all.finish();
  }

  template <class Dictionary, class BoundOf>
  Slots in_dictionary(const Dictionary* dictionary, const FilterCondition& filter, const BoundOf& bound_of,
                      double step_ns) {
    if (dictionary == nullptr) return Slots::list({});
    algebra_.spend(dictionary->range_steps() * step_ns);
    SlotAlgebra::Union all(algebra_);
    const auto add = [&](const Posting& posting) {
      algebra_.spend(kVisitNs);
      all.add(PostingView(posting));
    };
    if (filter.type == Type::kBetween)
      dictionary->for_each_between(bound_of(filter.values[0]), bound_of(filter.values[1]), add);
    else dictionary->for_each_in_range(filter.range, bound_of(filter.values[0]), add);
    return all.finish();
  }

  // Whether listing what is in a range is expected to take less than a pass over its column.
  bool is_listed(const ColumnRange& range) const {
    return range.range.has_value() && double(range.at_most()) * kOrderedSlotNs < double(algebra_.limit) * kColumnSlotNs;
  }
  double in_column_ns(const ColumnRange& range) const {
    return is_listed(range) ? double(range.at_most()) * kOrderedSlotNs : double(algebra_.limit) * kColumnSlotNs;
  }

  Slots in_column(const ColumnRange& range) {
    algebra_.spend(in_column_ns(range));
    if (is_listed(range)) {
      SlotAlgebra::Collection all(algebra_, range.at_most());
      range.range->for_each(*range.column, [&](uint32_t slot) { all.add(slot); });
      return all.finish();
    }
    const NumberColumn& column = *range.column;
    std::vector<uint32_t> words = algebra_.empty_bitmap();
    const uint32_t end = std::min(algebra_.limit, column.capacity);
    // Without a branch on the data, which the processor could not predict, and several numbers at once.
    double values[32];
    for (uint32_t first = 0; first < end; first += 32) {
      const uint32_t count = std::min<uint32_t>(32, end - first);
      for (uint32_t i = 0; i < count; i++) values[i] = column.at(first + i).load(std::memory_order_relaxed);
      for (uint32_t i = count; i < 32; i++) values[i] = std::numeric_limits<double>::quiet_NaN();
      words[first / 32] = bits_of(values, range.interval);
    }
    return Slots::bitmap(std::move(words));
  }

  // A cheap upper bound on the number of matches.
  size_t size_at_most(const FilterCondition& filter) const {
    const size_t all = PostingView(index_.all()).size();
    size_t size = 0;
    switch (filter.type) {
      case Type::kAnd:
        size = all;
        for (const FilterCondition& part : filter.parts) size = std::min(size, size_at_most(part));
        return size;
      case Type::kOr:
        for (const FilterCondition& part : filter.parts) size += size_at_most(part);
        return size;
      case Type::kNot:
        return all;
      case Type::kEquals:
        for (const FilterField* field : fields_of(index_, filter.path)) size += equal(*field, filter.values[0]).size();
        return size;
      case Type::kIn:
      case Type::kRange:
      case Type::kExists:
      case Type::kText:
      case Type::kBetween:
      case Type::kTime:
      case Type::kOthers:
        for (const FilterField* field : fields_of(index_, filter.path)) size += PostingView(field->present).size();
        return size;
    }
    throw std::logic_error("no such condition");
  }

  const FilterIndex& index_;
  SlotAlgebra algebra_;
  // Whether only the slots that were complete at the start may be answered, and those slots.
  const bool is_bounded_;
  std::vector<uint32_t> complete_;
};

// Answers whether there is more to do. Any field of the index is the owner's to change.
bool prepare_field(FilterIndex& index, FilterField& field, const FilterCondition& condition) {
  StringDictionary* texts = field.strings.load();
  if (is_range(condition) && condition.values[0].kind == ValueKind::kNumber) {
    field.prepare_numbers(index.slot_limit());
    index.wants_orders = index.wants_orders || field.wants_order();
    return false;
  }
  if (texts == nullptr) return false;
  if (condition.type == Type::kTime) {
    return texts->make_facts(&StringDictionary::Facts::times, kFactsAtOnce,
                             [](const Characters& key) { return TextTime{time_of_text(key)}; });
  }
  if (condition.type != Type::kText || condition.text.is_plain_prefix()) return texts->sort_some();
  const CaseFold* fold = CaseFold::installed();
  if (fold == nullptr || condition.text.needed().is_empty()) return false;
  return texts->make_facts(&StringDictionary::Facts::signatures, kFactsAtOnce,
                           [&](const Characters& key) { return signature_of(key, *fold); });
}

}  // namespace

std::vector<const FilterField*> fields_of(const FilterIndex& index, const Characters& path) {
  std::vector<const FilterField*> fields;
  Characters rest = path;
  const FilterField* field = nullptr;
  for (unsigned depth = 1; depth <= kPathDepthMax; depth++) {
    const FilterField* whole = index.child_of(field, rest);
    if (whole != nullptr) fields.push_back(whole);
    uint32_t dot = 0;
    while (dot < rest.count && rest.at(dot) != '.') dot++;
    if (dot == rest.count) break;
    field = index.child_of(field, {rest.data, dot, true});
    if (field == nullptr) break;
    rest = {rest.data + (size_t(dot) + 1) * 2, rest.count - dot - 1, true};
  }
  return fields;
}

std::vector<uint32_t> FoundSlots::as_list() && {
  if (listed) return std::move(words);
  std::vector<uint32_t> list;
  list.reserve(count);
  for (uint32_t i = 0; i < words.size(); i++) {
    for (uint32_t word = words[i]; word != 0; word &= word - 1) list.push_back(i * 32 + uint32_t(__builtin_ctz(word)));
  }
  return list;
}

std::vector<uint32_t> FoundSlots::as_bitmap() && {
  if (!listed) return std::move(words);
  std::vector<uint32_t> bitmap(words.empty() ? 0 : words.back() / 32 + 1);
  for (const uint32_t slot : words) bitmap[slot / 32] |= 1u << (slot % 32);
  return bitmap;
}

std::optional<FoundSlots> resolve_filter(const FilterIndex& index, const FilterCondition& filter, double ns_max) {
  try {
    return Evaluation(index, filter, ns_max).run(filter);
  } catch (const TakesLong&) {
    return std::nullopt;
  }
}

std::optional<SlotTest> test_of_filter(const FilterIndex& index, const FilterCondition& filter, double ns_max,
                                       const std::function<bool(size_t)>& enough) {
  if (!is_monotone(filter) || (filter.type != Type::kAnd && !is_range(filter))) return std::nullopt;
  try {
    return Evaluation(index, filter, ns_max).test(filter, enough);
  } catch (const TakesLong&) {
    return std::nullopt;
  }
}

bool prepare_filter(FilterIndex& index, const FilterCondition& filter) {
  bool has_more = false;
  for (const FilterCondition& part : filter.parts) has_more = prepare_filter(index, part) || has_more;
  if (!is_searched(filter)) return has_more;
  for (const FilterField* field : fields_of(index, filter.path))
    has_more = prepare_field(index, const_cast<FilterField&>(*field), filter) || has_more;
  return has_more;
}

FoundSlots unknown_slots(const FilterIndex& index, const FilterCondition& filter) {
  return Evaluation(index, filter, std::numeric_limits<double>::infinity()).unknown(filter);
}

}  // namespace quiver
