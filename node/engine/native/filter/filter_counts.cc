#include "filter_counts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "filter_evaluation.h"
#include "time_of_text.h"

namespace quiver {

namespace {

uint64_t bits_of(double number) {
  // Adding 0 turns −0 into 0, which it must equal.
  const double normal = number + 0.0;
  uint64_t bits;
  std::memcpy(&bits, &normal, sizeof bits);
  return bits;
}

// The finaliser of MurmurHash3 (Appleby, 2011) for 64 bits.
uint64_t mixed(uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdull;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return hash ^ (hash >> 33);
}

bool begins_with(const Characters& text, const Characters& prefix) {
  return text.count >= prefix.count && StringKeys::compare({text.data, prefix.count, text.wide}, prefix) == 0;
}

// The place of a kind in the order of values.
int place_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNumber:
      return 0;
    case ValueKind::kString:
      return 1;
    case ValueKind::kFalse:
      return 2;
    case ValueKind::kTrue:
      return 3;
    case ValueKind::kNull:
    case ValueKind::kNone:
    case ValueKind::kComposite:
      break;
  }
  return 4;
}

bool has_bit(const std::vector<uint32_t>& bits, uint32_t slot) {
  return slot / 32 < bits.size() && (bits[slot / 32] >> (slot % 32) & 1) != 0;
}

// Numbers that are wanted, or not, in no order: gathered without a branch on that, and given to take(number) by and by.
template <class Take>
class Gathered {
 public:
  explicit Gathered(const Take& take) : take_(take) {}

  void add(double number, bool wanted) {
    numbers_[size_] = number;
    size_ += wanted ? 1 : 0;
    if (size_ == numbers_.size()) flush();
  }
  void flush() {
    for (size_t i = 0; i < size_; i++) take_(numbers_[i]);
    size_ = 0;
  }

 private:
  const Take& take_;
  std::array<double, 256> numbers_;
  size_t size_ = 0;
};

// How many of the edges are not above the number, without a branch on it.
uint32_t edges_up_to(const std::vector<double>& edges, double number) {
  const double* from = edges.data();
  for (size_t left = edges.size(); left > 1; left -= left / 2) from += left / 2 * size_t(from[left / 2 - 1] <= number);
  return uint32_t(from - edges.data()) + (*from <= number ? 1 : 0);
}

uint32_t first_slot(const PostingView& posting) {
  uint32_t first = 0;
  bool any = false;
  posting.for_each([&](uint32_t slot) {
    if (!any) first = slot;
    any = true;
  });
  return first;
}

}  // namespace

int compare_values(const CountedValue& a, const CountedValue& b) {
  if (a.kind != b.kind) return place_of(a.kind) - place_of(b.kind);
  if (a.kind == ValueKind::kNumber) return a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
  return a.kind == ValueKind::kString ? StringKeys::compare(a.text, b.text) : 0;
}

namespace {

// Of a kind of values, from which the hash of each is made.
std::array<uint64_t, 2> hash_of_kind(ValueKind kind) {
  const uint64_t low = mixed(uint64_t(kind) + 0x9e3779b97f4a7c15ull);
  return {low, mixed(low)};
}

// The first word of value_hash; `kind`: hash_of_kind(kNumber).
uint64_t number_hash(const std::array<uint64_t, 2>& kind, double number) {
  return mixed(mixed(kind[0] ^ bits_of(number)) + kind[1]);
}

}  // namespace

std::array<uint64_t, 2> value_hash(const CountedValue& value) {
  auto [low, high] = hash_of_kind(value.kind);
  const auto take = [&](uint64_t word) {
    low = mixed(low ^ word) + high;
    high = mixed(high + word * 0x9e3779b97f4a7c15ull) ^ (low << 1 | low >> 63);
  };
  if (value.kind == ValueKind::kNumber) take(bits_of(value.number));
  if (value.kind == ValueKind::kString) {
    uint64_t word = 0;
    for (uint32_t i = 0; i < value.text.count; i++) {
      word = word << 16 | value.text.at(i);
      if (i % 4 == 3) {
        take(word);
        word = 0;
      }
    }
    take(word);
    take(value.text.count);
  }
  return {mixed(low), mixed(high ^ low)};
}

uint64_t number_rank(double number) {
  const uint64_t bits = bits_of(number);
  return (bits >> 63) != 0 ? ~bits : bits | uint64_t(1) << 63;
}

uint32_t spread_shift(double low, double high) {
  const uint64_t width = number_rank(high) - number_rank(low);
  uint32_t shift = 0;
  while (width >> shift >= FieldCounts::kSpreadParts) shift++;
  return shift;
}

FieldCounts::FieldCounts(const FilterIndex& index, const Characters& path, const std::vector<uint32_t>* bitmap)
    : sources_(field_sources(index, path, bitmap)) {}

uint32_t FieldCounts::count_in(const FieldSource& source, const PostingView& posting) {
  if (source.is_all) return uint32_t(posting.size());
  const std::vector<uint32_t>& bits = source.bits;
  uint32_t count = 0;
  const auto of_chunk = [&](uint32_t high, const Chunk& chunk) {
    const size_t base = size_t(high) * kChunkWords;
    const size_t words = base >= bits.size() ? 0 : std::min(kChunkWords, bits.size() - base);
    if (chunk.capacity == 0) {
      for (size_t i = 0; i < words; i++)
        count += uint32_t(__builtin_popcount(chunk.words()[i].load(std::memory_order_relaxed) & bits[base + i]));
      return;
    }
    const uint32_t size = chunk.size.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < size; i++) {
      const uint32_t low = chunk.values()[i].load(std::memory_order_relaxed);
      if (low / 32 < words) count += bits[base + low / 32] >> (low % 32) & 1;
    }
  };
  if (!posting.for_each_chunk(of_chunk)) posting.for_each([&](uint32_t slot) { count += has_bit(bits, slot); });
  return count;
}

bool FieldCounts::any_in(const FieldSource& source, const PostingView& posting) {
  if (source.is_all) return !posting.empty();
  // A rare value is looked at whole; of a frequent one most often the first slots tell.
  if (posting.size() <= 64) return count_in(source, posting) > 0;
  bool any = false;
  const auto of_chunk = [&](uint32_t high, const Chunk& chunk) {
    if (any) return;
    const size_t base = size_t(high) * kChunkWords;
    const size_t words = base >= source.bits.size() ? 0 : std::min(kChunkWords, source.bits.size() - base);
    if (chunk.capacity == 0) {
      for (size_t i = 0; i < words && !any; i++)
        any = (chunk.words()[i].load(std::memory_order_relaxed) & source.bits[base + i]) != 0;
      return;
    }
    const uint32_t size = chunk.size.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < size && !any; i++)
      any = has_bit(source.bits, high << 16 | chunk.values()[i].load(std::memory_order_relaxed));
  };
  return posting.for_each_chunk(of_chunk) ? any : count_in(source, posting) > 0;
}

template <class Visit>
void FieldCounts::each_number(const Visit& visit) const {
  for (const FieldSource& source : sources_) {
    const NumberDictionary* numbers = source.field->numbers.load();
    if (numbers == nullptr) continue;
    numbers->page(0, UINT32_MAX, [&](double number, const PostingView& posting) { visit(number, source, posting); });
  }
}

template <class Visit>
void FieldCounts::each_text(const Visit& visit) const {
  for (const FieldSource& source : sources_) {
    const StringDictionary* texts = source.field->strings.load();
    if (texts == nullptr) continue;
    texts->page(0, UINT32_MAX,
                [&](const Characters& text, const PostingView& posting) { visit(text, source, posting); });
  }
}

// The fields of a path may share a value.
template <bool kWithNumbers, class Wants, class Visit>
void FieldCounts::each_value(const Wants& wants, const Visit& visit) const {
  const bool is_one = sources_.size() == 1;
  const auto found = [&](CountedValue value, const FieldSource& source, const PostingView& posting) {
    if (!wants(value)) return;
    value.count = count_in(source, posting);
    if (value.count == 0) return;
    if (!is_one) {
      // The first field that has the value in these slots stands for all.
      for (const FieldSource& other : sources_) {
        if (&other == &source) break;
        if (count_in_source(other, value) > 0) return;
      }
      value.count = count_of(value);
    }
    visit(value, posting);
  };
  for (const FieldSource& source : sources_) {
    for (const auto& [kind, posting] :
         {std::pair(ValueKind::kNull, &source.field->nulls), std::pair(ValueKind::kFalse, &source.field->falses),
          std::pair(ValueKind::kTrue, &source.field->trues)}) {
      CountedValue value;
      value.kind = kind;
      found(value, source, PostingView(*posting));
    }
  }
  if (kWithNumbers)
    each_number([&](double number, const FieldSource& source, const PostingView& posting) {
      CountedValue value;
      value.kind = ValueKind::kNumber;
      value.number = number;
      found(value, source, posting);
    });
  each_text([&](const Characters& text, const FieldSource& source, const PostingView& posting) {
    CountedValue value;
    value.kind = ValueKind::kString;
    value.text = text;
    found(value, source, posting);
  });
}

uint64_t FieldCounts::present() const {
  uint64_t count = 0;
  for (const FieldSource& source : sources_) count += count_in(source, PostingView(source.field->present));
  return count;
}

FieldCounts::Values FieldCounts::values(const Wanted& wanted) const {
  Values result;
  const auto comes_first = [&](const CountedValue& a, const CountedValue& b) {
    if (!wanted.by_value && a.count != b.count) return a.count > b.count;
    return compare_values(a, b) < 0;
  };
  // A heap with the last one on top.
  std::vector<CountedValue>& kept = result.first;
  const auto is_wanted = [&](const CountedValue& value) {
    if (wanted.prefix.has_value() && (value.kind != ValueKind::kString || !begins_with(value.text, *wanted.prefix)))
      return false;
    return wanted.parts <= 1 || value_hash(value)[0] % wanted.parts == wanted.part;
  };
  each_value<true>(is_wanted, [&](CountedValue value, const PostingView& posting) {
    result.distinct++;
    const bool is_full = kept.size() == wanted.limit;
    if (is_full && (wanted.limit == 0 || !comes_first(value, kept.front()))) {
      result.bound = std::max(result.bound, value.count);
      return;
    }
    if (value.kind == ValueKind::kString && StringKeys::is_long(value.text)) value.slot = first_slot(posting);
    if (is_full) {
      std::pop_heap(kept.begin(), kept.end(), comes_first);
      result.bound = std::max(result.bound, kept.back().count);
      kept.pop_back();
    }
    kept.push_back(value);
    std::push_heap(kept.begin(), kept.end(), comes_first);
  });
  std::sort_heap(kept.begin(), kept.end(), comes_first);
  return result;
}

uint32_t FieldCounts::count_in_source(const FieldSource& source, const CountedValue& value) {
  const FilterField& field = *source.field;
  const NumberDictionary* numbers = field.numbers.load();
  const StringDictionary* texts = field.strings.load();
  const Posting* posting = nullptr;
  switch (value.kind) {
    case ValueKind::kNull:
      posting = &field.nulls;
      break;
    case ValueKind::kTrue:
      posting = &field.trues;
      break;
    case ValueKind::kFalse:
      posting = &field.falses;
      break;
    case ValueKind::kNumber:
      posting = numbers == nullptr ? nullptr : numbers->find(value.number);
      break;
    case ValueKind::kString:
      posting = texts == nullptr ? nullptr : texts->find(value.text);
      break;
    case ValueKind::kNone:
    case ValueKind::kComposite:
      break;
  }
  return posting == nullptr ? 0 : count_in(source, PostingView(*posting));
}

uint32_t FieldCounts::count_of(const CountedValue& value) const {
  uint32_t count = 0;
  for (const FieldSource& source : sources_) count += count_in_source(source, value);
  return count;
}

FieldCounts::Numbers FieldCounts::numbers(bool wants_sum) const {
  Numbers result;
  const auto add = [&](double number, uint32_t count) {
    result.min = result.count == 0 ? number : std::min(result.min, number);
    result.max = result.count == 0 ? number : std::max(result.max, number);
    result.count += count;
    if (wants_sum) result.sum.add(number, count);
  };
  const auto take = [&](double number) { add(number, 1); };
  Gathered gathered(take);
  each_number([&](double number, const FieldSource& source, const PostingView& posting) {
    uint32_t slot = 0;
    if (posting.has_one(slot)) return gathered.add(number, source.has(slot));
    const uint32_t count = count_in(source, posting);
    if (count > 0) add(number, count);
  });
  gathered.flush();
  each_text([&](const Characters&, const FieldSource& source, const PostingView& posting) {
    result.others += count_in(source, posting);
  });
  for (const FieldSource& source : sources_) {
    result.others += count_in(source, PostingView(source.field->trues));
    result.others += count_in(source, PostingView(source.field->falses));
  }
  return result;
}

FieldCounts::Spread FieldCounts::spread(double low, double high, uint32_t max) const {
  Spread result;
  const uint64_t first = number_rank(low);
  const uint32_t shift = spread_shift(low, high);
  std::vector<uint32_t> parts;
  const auto add_to_parts = [&](double number, uint32_t count) {
    parts[uint32_t((number_rank(number) - first) >> shift)] += count;
  };
  // A branch on the number: after the first round, most are outside.
  each_number([&](double number, const FieldSource& source, const PostingView& posting) {
    if (!(number >= low && number <= high)) return;
    const uint32_t count = count_in(source, posting);
    if (count == 0) return;
    if (!parts.empty()) return add_to_parts(number, count);
    result.values.push_back(number);
    result.counts.push_back(count);
    if (result.values.size() <= max) return;
    parts.assign(kSpreadParts, 0);
    for (size_t i = 0; i < result.values.size(); i++) add_to_parts(result.values[i], result.counts[i]);
  });
  if (parts.empty()) return result;
  result.is_listed = false;
  result.values.clear();
  result.counts = std::move(parts);
  return result;
}

FieldCounts::Distinct FieldCounts::distinct(uint32_t max, bool wants_hashes) const {
  Distinct result;
  // Hashes are kept while they may be all that is answered.
  std::vector<std::array<uint64_t, 2>> hashes;
  const auto note = [&](uint64_t hash) {
    const uint32_t at = uint32_t(hash >> (64 - kRegisterBits));
    const uint64_t rest = hash << kRegisterBits;
    const uint8_t rank = rest == 0 ? uint8_t(64 - kRegisterBits + 1) : uint8_t(__builtin_clzll(rest) + 1);
    result.registers[at] = std::max(result.registers[at], rank);
  };
  const auto found = [&](const CountedValue& value) {
    result.count++;
    const std::array<uint64_t, 2> hash = value_hash(value);
    if (!result.registers.empty()) return note(hash[0]);
    hashes.push_back(hash);
    if (hashes.size() <= max) return;
    result.registers.assign(size_t(1) << kRegisterBits, 0);
    for (const auto& known : hashes) note(known[0]);
    hashes.clear();
  };
  const auto is_value = [](const CountedValue& value) { return value.kind != ValueKind::kNull; };
  const auto visit = [&](const CountedValue& value, const PostingView&) { found(value); };
  if (sources_.size() == 1) {
    const std::array<uint64_t, 2> kind = hash_of_kind(ValueKind::kNumber);
    const auto take = [&](double number) {
      if (!result.registers.empty()) {
        result.count++;
        return note(number_hash(kind, number));
      }
      CountedValue value;
      value.kind = ValueKind::kNumber;
      value.number = number;
      found(value);
    };
    Gathered gathered(take);
    each_number([&](double number, const FieldSource& source, const PostingView& posting) {
      uint32_t slot = 0;
      gathered.add(number, posting.has_one(slot) ? source.has(slot) : any_in(source, posting));
    });
    gathered.flush();
    each_value<false>(is_value, visit);
  } else each_value<true>(is_value, visit);
  if (wants_hashes) for (const auto& hash : hashes) result.hashes.insert(result.hashes.end(), hash.begin(), hash.end());
  return result;
}

template <class Visit>
void FieldCounts::each_measure(bool of_times, const Visit& visit) const {
  if (!of_times) return each_number(visit);
  each_text([&](const Characters& text, const FieldSource& source, const PostingView& posting) {
    const double time = time_of_text(text);
    if (!std::isnan(time)) visit(time, source, posting);
  });
}

std::vector<uint32_t> FieldCounts::buckets_of_single_numbers(const std::vector<double>& edges) const {
  // Of few values, the lists of each are counted faster.
  uint64_t values = 0;
  for (const FieldSource& source : sources_) {
    const NumberDictionary* numbers = source.field->numbers.load();
    if (numbers != nullptr) values += numbers->size();
  }
  if (values < FilterField::kColumnNumbersMin) return {};
  // By how many edges are not above a number.
  std::vector<uint32_t> counts(edges.size() + 1);
  std::vector<uint32_t> seen;
  uint32_t twice = 0;
  const auto note = [&](uint32_t slot) {
    const uint32_t word = slot / 32, bit = 1u << (slot % 32);
    if (word >= seen.size()) seen.resize(size_t(word) + 1 + seen.size() / 2);
    twice |= seen[word] & bit;
    seen[word] |= bit;
  };
  std::array<double, 256> numbers;
  std::array<uint32_t, 256> slots;
  size_t size = 0;
  const auto flush = [&] {
    for (size_t i = 0; i < size; i++) {
      note(slots[i]);
      counts[edges_up_to(edges, numbers[i])]++;
    }
    size = 0;
  };
  each_number([&](double number, const FieldSource& source, const PostingView& posting) {
    if (twice != 0) return;
    posting.for_each([&](uint32_t slot) {
      numbers[size] = number;
      slots[size] = slot;
      size += source.has(slot) ? 1 : 0;
      if (size == slots.size()) flush();
    });
  });
  flush();
  if (twice != 0) return {};
  return std::vector<uint32_t>(counts.begin() + 1, counts.end() - 1);
}

std::vector<uint32_t> FieldCounts::buckets(const std::vector<double>& edges, bool of_times) const {
  if (edges.size() < 2) return {};
  if (!of_times) {
    std::vector<uint32_t> found = buckets_of_single_numbers(edges);
    if (!found.empty()) return found;
  }
  std::vector<uint32_t> counts(edges.size() - 1);
  struct Placed {
    uint32_t bucket;
    const FieldSource* source;
    PostingView posting;
  };
  std::vector<Placed> placed;
  uint32_t bucket = 0;
  each_measure(of_times, [&](double number, const FieldSource& source, const PostingView& posting) {
    // Mostly the bucket of the number before.
    if (!(number >= edges[bucket] && number < edges[bucket + 1])) {
      const auto after = std::upper_bound(edges.begin(), edges.end(), number);
      if (after == edges.begin() || after == edges.end()) return;
      bucket = uint32_t(after - edges.begin() - 1);
    }
    placed.push_back({bucket, &source, posting});
  });
  const auto by_bucket = [](const Placed& a, const Placed& b) { return a.bucket < b.bucket; };
  // The numbers of one field come in their order.
  if (!std::is_sorted(placed.begin(), placed.end(), by_bucket)) std::sort(placed.begin(), placed.end(), by_bucket);
  // A slot with several values in one bucket counts once there.
  std::vector<uint32_t> seen, slots;
  for (size_t from = 0, to = 0; from < placed.size(); from = to) {
    while (to < placed.size() && placed[to].bucket == placed[from].bucket) to++;
    uint32_t& count = counts[placed[from].bucket];
    if (to == from + 1) {
      count = count_in(*placed[from].source, placed[from].posting);
      continue;
    }
    size_t size = 0;
    // Without a branch on whether the slot is asked for.
    const auto gather = [&](uint32_t slot, const FieldSource& source) {
      if (size == slots.size()) slots.resize(2 * size + 64);
      slots[size] = slot;
      size += source.has(slot) ? 1 : 0;
    };
    for (size_t i = from; i < to; i++)
      placed[i].posting.for_each([&](uint32_t slot) { gather(slot, *placed[i].source); });
    for (size_t i = 0; i < size; i++) {
      const uint32_t word = slots[i] / 32, bit = slots[i] % 32;
      if (word >= seen.size()) seen.resize(size_t(word) + 1 + seen.size() / 2);
      count += ~seen[word] >> bit & 1;
      seen[word] |= 1u << bit;
    }
    for (size_t i = 0; i < size; i++) seen[slots[i] / 32] = 0;
  }
  return counts;
}

std::array<double, 2> FieldCounts::times() const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::array<double, 2> range{kNone, kNone};
  each_measure(true, [&](double time, const FieldSource& source, const PostingView& posting) {
    if (!any_in(source, posting)) return;
    if (!(range[0] <= time)) range[0] = time;
    if (!(range[1] >= time)) range[1] = time;
  });
  return range;
}

}  // namespace quiver
