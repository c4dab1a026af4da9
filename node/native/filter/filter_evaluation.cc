#include "filter_evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quiver {

namespace {

using Type = FilterCondition::Type;

// As deep as a path may reach; node/filter/metadata-path.ts has the same.
constexpr unsigned kPathDepthMax = 32;
// Inside an `and`, a column is asked for the slots that are left if they are fewer than one in this many.
constexpr size_t kFewSlotsShare = 16;

// What parts of the work take, roughly, in nanoseconds on the machine of docs/performance.md. They decide only what is left
// to the writer's thread.
constexpr double kConditionNs = 200, kValueNs = 60, kSlotNs = 2, kWordNs = 0.5, kColumnSlotNs = 0.8;
constexpr double kNumberNs = 2, kStringNs = 25, kVisitNs = 5;

// A filter that takes longer than it may.
struct TakesLong {};

// A set of slots while it is worked on: a posting of the index as it is, a rising list, or a bitmap up to the slot limit.
struct Slots {
  enum class Form { kPosting, kList, kBitmap };
  Form form = Form::kList;
  PostingView posting;
  std::vector<uint32_t> words;

  static Slots of(const PostingView& posting) { return {Form::kPosting, posting, {}}; }
  static Slots list(std::vector<uint32_t> slots) { return {Form::kList, {}, std::move(slots)}; }
  static Slots bitmap(std::vector<uint32_t> words) { return {Form::kBitmap, {}, std::move(words)}; }

  bool has(uint32_t slot) const {
    if (form == Form::kPosting) return posting.has(slot);
    if (form == Form::kList) return std::binary_search(words.begin(), words.end(), slot);
    return slot / 32 < words.size() && (words[slot / 32] >> (slot % 32) & 1) != 0;
  }
};

// The fields that a path may mean, in the order in which they are tried.
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

size_t popcount(const std::vector<uint32_t>& words) {
  size_t count = 0;
  for (const uint32_t word : words) count += size_t(__builtin_popcount(word));
  return count;
}

class Evaluation {
 public:
  Evaluation(const FilterIndex& index, const FilterCondition& filter, double ns_max)
      : index_(index), left_ns_(ns_max), limit_(index.slot_limit()), bitmap_words_((size_t(limit_) + 31) / 32) {
    // An item that is being put has some of its values in the lists. What asks only for values that are there can't be
    // misled by that. The rest is answered for the items that were complete at the start.
    if (!is_monotone(filter)) complete_ = bitmap_of(PostingView(index.all()));
    is_bounded_ = !is_monotone(filter);
  }

  FoundSlots run(const FilterCondition& filter) {
    Slots found = find(filter);
    if (is_bounded_) found = intersection(std::move(found), Slots::bitmap(complete_));
    FoundSlots result;
    if (found.form == Slots::Form::kPosting) found = owned(std::move(found));
    result.listed = found.form == Slots::Form::kList;
    result.words = std::move(found.words);
    result.count = result.listed ? result.words.size() : popcount(result.words);
    return result;
  }

 private:
  void spend(double ns) {
    left_ns_ -= ns;
    if (left_ns_ < 0) throw TakesLong();
  }

  static bool is_monotone(const FilterCondition& filter) {
    if (filter.type == Type::kNot || (filter.type == Type::kAnd && filter.parts.empty())) return false;
    for (uint32_t i = 0; i < filter.path.count; i++) if (filter.path.at(i) == '.') return false;
    return std::all_of(filter.parts.begin(), filter.parts.end(), is_monotone);
  }

  Slots find(const FilterCondition& filter) {
    switch (filter.type) {
      case Type::kAnd:
        return conjunction(filter.parts);
      case Type::kOr:
        return disjunction(filter.parts);
      case Type::kNot:
        return difference(Slots::bitmap(complete_), find(filter.parts[0]));
      default:
        return on_path(filter);
    }
  }

  // Smallest parts first, negations last, so that each step works on what the earlier ones left.
  Slots conjunction(const std::vector<FilterCondition>& parts) {
    std::vector<std::pair<double, const FilterCondition*>> positive;
    for (const FilterCondition& part : parts) {
      if (part.type != Type::kNot) positive.emplace_back(double(size_at_most(part)) + (part.type == Type::kRange ? limit_ : 0), &part);
    }
    std::stable_sort(positive.begin(), positive.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::optional<Slots> left;
    for (const auto& [size, part] : positive) {
      left = left.has_value() ? narrowed(std::move(*left), *part) : find(*part);
      if (is_empty(*left)) return Slots::list({});
    }
    if (!left.has_value()) left = Slots::bitmap(complete_);
    for (const FilterCondition& part : parts) {
      if (part.type == Type::kNot && !is_empty(*left)) left = difference(std::move(*left), find(part.parts[0]));
    }
    return std::move(*left);
  }

  Slots narrowed(Slots left, const FilterCondition& part) {
    if (part.type == Type::kRange && part.values[0].kind == ValueKind::kNumber && size_of(left) * kFewSlotsShare < limit_) {
      const std::vector<const FilterField*> fields = fields_of(index_, part.path);
      const NumberColumn* column = fields.size() == 1 ? fields[0]->column.load() : nullptr;
      if (column != nullptr) {
        const double bound = part.values[0].number;
        return kept(std::move(left), [&](uint32_t slot) { return column->has(slot, part.range, bound); });
      }
    }
    return intersection(std::move(left), find(part));
  }

  Slots disjunction(const std::vector<FilterCondition>& parts) {
    std::vector<Slots> found;
    size_t slots = 0;
    for (const FilterCondition& part : parts) {
      found.push_back(find(part));
      slots += size_of(found.back());
    }
    if (found.size() == 1) return std::move(found[0]);
    return united(found, slots);
  }

  /**
   * The slots for the field that a path means. A dotted path can mean different fields in different items. So the fields
   * are asked in the order in which lookUpPath tries them, each only for the slots that have none of the earlier ones.
   */
  Slots on_path(const FilterCondition& filter) {
    spend(kConditionNs);
    const std::vector<const FilterField*> fields = fields_of(index_, filter.path);
    if (fields.empty()) return Slots::list({});
    Slots result = in_field(*fields[0], filter);
    if (fields.size() == 1) return result;
    std::vector<uint32_t> decided = bitmap_of(PostingView(fields[0]->present));
    for (size_t i = 1; i < fields.size(); i++) {
      std::vector<Slots> both;
      both.push_back(std::move(result));
      both.push_back(difference(in_field(*fields[i], filter), Slots::bitmap(decided)));
      result = united(both, limit_);
      or_into(Slots::of(PostingView(fields[i]->present)), decided);
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
        return in_range_of(field, filter);
      default:
        return Slots::of(PostingView(field.present));
    }
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
      default:
        return PostingView();
    }
  }

  Slots any_of(const FilterField& field, const std::vector<FilterValue>& values) {
    spend(double(values.size()) * kValueNs);
    std::vector<Slots> found;
    size_t slots = 0;
    for (const FilterValue& value : values) {
      const PostingView posting = equal(field, value);
      if (posting.empty()) continue;
      slots += posting.size();
      found.push_back(Slots::of(posting));
    }
    return united(found, slots);
  }

  Slots in_range_of(const FilterField& field, const FilterCondition& filter) {
    const FilterValue& bound = filter.values[0];
    if (bound.kind == ValueKind::kString) {
      const StringDictionary* strings = field.strings.load();
      if (strings == nullptr) return Slots::list({});
      spend(strings->range_steps() * kStringNs);
      Union all(*this);
      strings->for_each_in_range(filter.range, bound.text, [&](const Posting& posting) {
        spend(kVisitNs);
        all.add(PostingView(posting));
      });
      return all.finish();
    }
    const NumberColumn* column = field.column.load();
    if (column != nullptr) return in_column(*column, filter.range, bound.number);
    const NumberDictionary* numbers = field.numbers.load();
    if (numbers == nullptr) return Slots::list({});
    spend(numbers->range_steps() * kNumberNs);
    Union all(*this);
    numbers->for_each_in_range(filter.range, bound.number, [&](const Posting& posting) {
      spend(kVisitNs);
      all.add(PostingView(posting));
    });
    return all.finish();
  }

  Slots in_column(const NumberColumn& column, RangeOperator range, double bound) {
    spend(limit_ * kColumnSlotNs);
    // The range as low ≤ x ≤ high, so that the loop has no branch on the data, which the processor could not predict.
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool above = range == RangeOperator::kGt || range == RangeOperator::kGte;
    const double low = !above ? -kInfinity : range == RangeOperator::kGt ? std::nextafter(bound, kInfinity) : bound;
    const double high = above ? kInfinity : range == RangeOperator::kLt ? std::nextafter(bound, -kInfinity) : bound;
    std::vector<uint32_t> words(bitmap_words_);
    const uint32_t end = std::min(limit_, column.capacity);
    for (uint32_t slot = 0; slot < end; slot++) {
      const double value = column.at(slot).load(std::memory_order_relaxed);
      words[slot / 32] |= uint32_t((value >= low) & (value <= high)) << (slot % 32);
    }
    return Slots::bitmap(std::move(words));
  }

  // Collects postings: a list while the slots are few, a bitmap when they are many.
  class Union {
   public:
    explicit Union(Evaluation& evaluation) : evaluation_(evaluation) {}
    void add(const PostingView& posting) {
      if (is_bitmap_) return posting.or_into(words_);
      const size_t size = posting.size();
      if (words_.size() + size <= evaluation_.list_max()) {
        posting.for_each([&](uint32_t slot) { words_.push_back(slot); });
        return;
      }
      std::vector<uint32_t> bitmap(evaluation_.bitmap_words_);
      evaluation_.or_into(Slots::list(std::move(words_)), bitmap);
      words_ = std::move(bitmap);
      is_bitmap_ = true;
      posting.or_into(words_);
    }
    Slots finish() {
      if (is_bitmap_) return Slots::bitmap(std::move(words_));
      std::sort(words_.begin(), words_.end());
      words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
      return Slots::list(std::move(words_));
    }

   private:
    Evaluation& evaluation_;
    std::vector<uint32_t> words_;
    bool is_bitmap_ = false;
  };

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
      default:
        for (const FilterField* field : fields_of(index_, filter.path)) {
          size += filter.type == Type::kEquals ? equal(*field, filter.values[0]).size() : PostingView(field->present).size();
        }
        return size;
    }
  }

  // A list takes as much memory as a bitmap at this size, and sorting it takes about as long as reading one.
  size_t list_max() const { return 64 + limit_ / 512; }
  // A posting is in order already.
  size_t sorted_max() const { return 64 + limit_ / 32; }

  static bool is_empty(const Slots& slots) {
    if (slots.form == Slots::Form::kPosting) return slots.posting.empty();
    if (slots.form == Slots::Form::kList) return slots.words.empty();
    return std::all_of(slots.words.begin(), slots.words.end(), [](uint32_t word) { return word == 0; });
  }

  static size_t size_of(const Slots& slots) {
    if (slots.form == Slots::Form::kPosting) return slots.posting.size();
    return slots.form == Slots::Form::kList ? slots.words.size() : popcount(slots.words);
  }

  bool is_short(const Slots& slots) const {
    return slots.form == Slots::Form::kList || (slots.form == Slots::Form::kPosting && slots.posting.size() <= sorted_max());
  }

  void or_into(const Slots& slots, std::vector<uint32_t>& bitmap) {
    if (slots.form == Slots::Form::kPosting) {
      slots.posting.or_into(bitmap);
    } else if (slots.form == Slots::Form::kList) {
      for (const uint32_t slot : slots.words) if (slot / 32 < bitmap.size()) bitmap[slot / 32] |= 1u << (slot % 32);
    } else {
      for (size_t i = 0; i < bitmap.size(); i++) bitmap[i] |= slots.words[i];
    }
  }

  std::vector<uint32_t> bitmap_of(const PostingView& posting) {
    spend(double(bitmap_words_) * kWordNs + double(std::min(posting.size(), size_t(limit_) / 16)) * kSlotNs);
    std::vector<uint32_t> words(bitmap_words_);
    posting.or_into(words);
    return words;
  }

  std::vector<uint32_t> bitmap_of(Slots slots) {
    if (slots.form == Slots::Form::kBitmap) return std::move(slots.words);
    if (slots.form == Slots::Form::kPosting) return bitmap_of(slots.posting);
    spend(double(bitmap_words_) * kWordNs);
    std::vector<uint32_t> words(bitmap_words_);
    or_into(slots, words);
    return words;
  }

  Slots owned(Slots slots) {
    if (slots.form != Slots::Form::kPosting) return slots;
    if (!is_short(slots)) return Slots::bitmap(bitmap_of(slots.posting));
    return kept(std::move(slots), [](uint32_t) { return true; });
  }

  // The slots of a short set that pass the test; of another form, a list too.
  template <class Test>
  Slots kept(Slots slots, const Test& test) {
    spend(double(size_of(slots)) * kSlotNs);
    std::vector<uint32_t> list;
    const auto take = [&](uint32_t slot) {
      if (slot < limit_ && test(slot)) list.push_back(slot);
    };
    if (slots.form == Slots::Form::kPosting) {
      slots.posting.for_each(take);
    } else if (slots.form == Slots::Form::kList) {
      for (const uint32_t slot : slots.words) take(slot);
    } else {
      for (uint32_t i = 0; i < slots.words.size(); i++) {
        for (uint32_t word = slots.words[i]; word != 0; word &= word - 1) take(i * 32 + uint32_t(__builtin_ctz(word)));
      }
    }
    return Slots::list(std::move(list));
  }

  Slots intersection(Slots a, Slots b) {
    if (!is_short(a) && is_short(b)) std::swap(a, b);
    if (is_short(a)) {
      if (is_short(b) && size_of(b) < size_of(a)) std::swap(a, b);
      return kept(std::move(a), [&](uint32_t slot) { return b.has(slot); });
    }
    std::vector<uint32_t> words = bitmap_of(std::move(a));
    const std::vector<uint32_t> other = bitmap_of(std::move(b));
    for (size_t i = 0; i < words.size(); i++) words[i] &= other[i];
    return Slots::bitmap(std::move(words));
  }

  // The slots of a that are not in b.
  Slots difference(Slots a, Slots b) {
    if (is_short(a)) return kept(std::move(a), [&](uint32_t slot) { return !b.has(slot); });
    std::vector<uint32_t> words = bitmap_of(std::move(a));
    const std::vector<uint32_t> other = bitmap_of(std::move(b));
    for (size_t i = 0; i < words.size(); i++) words[i] &= ~other[i];
    return Slots::bitmap(std::move(words));
  }

  Slots united(std::vector<Slots>& sets, size_t slots) {
    if (sets.size() == 1) return std::move(sets[0]);
    if (slots <= list_max()) {
      std::vector<uint32_t> list;
      for (Slots& set : sets) {
        const Slots one = kept(std::move(set), [](uint32_t) { return true; });
        list.insert(list.end(), one.words.begin(), one.words.end());
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      return Slots::list(std::move(list));
    }
    std::vector<uint32_t> words(bitmap_words_);
    for (const Slots& set : sets) {
      spend(set.form == Slots::Form::kBitmap ? double(bitmap_words_) * kWordNs : double(std::min(size_of(set), size_t(limit_) / 16)) * kSlotNs);
      or_into(set, words);
    }
    return Slots::bitmap(std::move(words));
  }

  const FilterIndex& index_;
  double left_ns_;
  // Slots from here on were put after the start.
  const uint32_t limit_;
  const size_t bitmap_words_;
  std::vector<uint32_t> complete_;
  bool is_bounded_ = false;
};

void prepare_field(FilterIndex& index, const FilterField* field, const FilterValue& bound) {
  // Any field of the index is the owner's to change.
  FilterField& own = const_cast<FilterField&>(*field);
  if (bound.kind == ValueKind::kNumber) own.prepare_numbers(index.slot_limit());
  else if (own.strings.load() != nullptr) own.strings.load()->sort_some();
}

}  // namespace

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

void prepare_ranges(FilterIndex& index, const FilterCondition& filter) {
  for (const FilterCondition& part : filter.parts) prepare_ranges(index, part);
  if (filter.type != Type::kRange) return;
  for (const FilterField* field : fields_of(index, filter.path)) prepare_field(index, field, filter.values[0]);
}

}  // namespace quiver
