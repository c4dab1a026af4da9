#include "filter_save.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace quiver {

namespace {

constexpr uint8_t kTagNone = 0, kTagOne = 1, kTagSet = 2;
// Slots are below 2^30.
constexpr uint32_t kHighMax = 1u << 14;
constexpr uint32_t kValuesMax = 4'096;
// Values per block in a file.
constexpr uint32_t kBlockMax = 1'024;

void put(std::string& out, const void* data, size_t bytes) { out.append(static_cast<const char*>(data), bytes); }
void put_u32(std::string& out, uint32_t value) { put(out, &value, 4); }

void put_values(std::string& out, uint32_t high, const std::vector<uint16_t>& values) {
  put_u32(out, high * 2);
  put_u32(out, uint32_t(values.size()));
  put(out, values.data(), values.size() * 2);
}

void put_slots(std::string& out, const PostingView& posting) {
  const size_t head = out.size();
  uint32_t chunks = 0;
  put_u32(out, 0);
  std::vector<uint16_t> values;
  const bool in_chunks = posting.for_each_chunk([&](uint32_t high, const Chunk& chunk) {
    chunks++;
    if (chunk.capacity == 0) {
      put_u32(out, high * 2 + 1);
      put(out, chunk.words(), kChunkWords * 4);
      return;
    }
    const uint16_t* from = reinterpret_cast<const uint16_t*>(chunk.values());
    values.assign(from, from + chunk.size.load(std::memory_order_relaxed));
    put_values(out, high, values);
  });
  if (!in_chunks) {
    uint32_t high = 0;
    const auto end_chunk = [&] {
      if (values.empty()) return;
      chunks++;
      put_values(out, high, values);
      values.clear();
    };
    posting.for_each([&](uint32_t slot) {
      if (slot >> 16 != high) end_chunk();
      high = slot >> 16;
      values.push_back(uint16_t(slot));
    });
    end_chunk();
  }
  std::memcpy(&out[head], &chunks, 4);
}

void put_posting(std::string& out, const PostingView& posting) {
  if (posting.size() > 1) {
    out.push_back(char(kTagSet));
    put_slots(out, posting);
    return;
  }
  out.push_back(char(posting.empty() ? kTagNone : kTagOne));
  posting.for_each([&](uint32_t slot) { put_u32(out, slot); });
}

void put_keys(std::string& out, const std::vector<double>& keys) {
  put(out, keys.data(), keys.size() * sizeof(double));
}

void put_keys(std::string& out, const std::vector<Characters>& keys) {
  const bool wide = std::any_of(keys.begin(), keys.end(), [](const Characters& key) { return key.wide; });
  out.push_back(wide ? 1 : 0);
  for (const Characters& key : keys) put_u32(out, key.count);
  for (const Characters& key : keys) {
    if (key.wide == wide) {
      put(out, key.data, key.bytes());
      continue;
    }
    for (uint32_t i = 0; i < key.count; i++) {
      const uint16_t unit = key.at(i);
      put(out, &unit, 2);
    }
  }
}

template <class Dictionary>
std::string page_of(const Dictionary* dictionary, uint32_t from, uint32_t count, int64_t& next) {
  next = -1;
  if (dictionary == nullptr) return {};
  std::vector<typename Dictionary::Key> keys;
  std::string postings;
  next = dictionary->page(from, count, [&](const typename Dictionary::Key& key, const PostingView& posting) {
    keys.push_back(key);
    put_posting(postings, posting);
  });
  if (keys.empty()) return {};
  std::string out;
  put_u32(out, uint32_t(keys.size()));
  put_keys(out, keys);
  return out + postings;
}

std::vector<uint32_t> read_slots(SavedBytes& bytes) {
  std::vector<uint32_t> slots;
  const uint32_t chunks = bytes.u32();
  int64_t last = -1;
  for (uint32_t i = 0; i < chunks; i++) {
    const uint32_t head = bytes.u32(), high = head >> 1;
    if (int64_t(high) <= last || high >= kHighMax) throw std::invalid_argument("saved slot set is out of order");
    last = high;
    const size_t before = slots.size();
    if ((head & 1) != 0) {
      const uint8_t* words = bytes.skip(kChunkWords * 4);
      for (uint32_t w = 0; w < kChunkWords; w++) {
        uint32_t word;
        std::memcpy(&word, words + w * 4, 4);
        for (; word != 0; word &= word - 1) slots.push_back((high << 16) + w * 32 + uint32_t(__builtin_ctz(word)));
      }
    } else {
      const uint32_t size = bytes.u32();
      if (size > kValuesMax) throw std::invalid_argument("saved slot set has an array that is too long");
      const uint8_t* values = bytes.skip(size_t(size) * 2);
      for (uint32_t v = 0; v < size; v++) {
        uint16_t value;
        std::memcpy(&value, values + size_t(v) * 2, 2);
        const uint32_t slot = (high << 16) + value;
        if (slots.size() > before && slots.back() >= slot)
          throw std::invalid_argument("saved slot set is out of order");
        slots.push_back(slot);
      }
    }
    if (slots.size() == before) throw std::invalid_argument("saved slot set has an empty chunk");
  }
  return slots;
}

std::vector<uint32_t> read_posting(SavedBytes& bytes) {
  switch (bytes.u8()) {
    case kTagNone:
      return {};
    case kTagOne: {
      const uint32_t slot = bytes.u32();
      if (slot >> 16 >= kHighMax) throw std::invalid_argument("saved filter index: a slot out of range");
      return {slot};
    }
    case kTagSet:
      return read_slots(bytes);
    default:
      throw std::invalid_argument("saved filter index: no posting where one must be");
  }
}

// What does not change during a save is in it once, so nearly always there is nothing yet.
void unite(Heap& heap, Posting& posting, const std::vector<uint32_t>& slots) {
  if (posting.load(std::memory_order_relaxed) == 0) return set_slots(heap, posting, slots);
  for (const uint32_t slot : slots) add_slot(heap, posting, slot);
}

template <class Dictionary>
uint32_t unite_all(Heap& heap, Dictionary& dictionary, const std::vector<typename Dictionary::Key>& keys,
                   SavedBytes& bytes) {
  uint32_t fresh = 0;
  for (const auto& key : keys) {
    const std::vector<uint32_t> slots = read_posting(bytes);
    if (slots.empty()) throw std::invalid_argument("saved filter index: a value without slots");
    fresh += dictionary.put(key, [&](Posting& posting) { unite(heap, posting, slots); });
  }
  return fresh;
}

}  // namespace

const uint8_t* SavedBytes::skip(size_t bytes) {
  if (bytes > size - at) throw std::invalid_argument("saved state ends early");
  const uint8_t* from = data + at;
  at += bytes;
  return from;
}

uint32_t SavedBytes::u32() {
  uint32_t value;
  std::memcpy(&value, skip(4), 4);
  return value;
}

std::string saved_slots(const Posting& posting) {
  std::string out;
  put_slots(out, PostingView(posting));
  return out;
}

std::string saved_postings(const FilterField& field) {
  std::string out;
  for (const Posting* posting : {&field.present, &field.nulls, &field.trues, &field.falses})
    put_posting(out, PostingView(*posting));
  return out;
}

std::string saved_values(const FilterField& field, ValueKind kind, uint32_t from, uint32_t count, int64_t& next) {
  if (kind == ValueKind::kNumber) return page_of(field.numbers.load(), from, count, next);
  return page_of(kind == ValueKind::kString ? field.strings.load() : field.composites.load(), from, count, next);
}

void load_slots(Heap& heap, Posting& posting, SavedBytes& bytes) { unite(heap, posting, read_slots(bytes)); }

void load_postings(Heap& heap, FilterField& field, SavedBytes& bytes) {
  for (Posting* posting : {&field.present, &field.nulls, &field.trues, &field.falses})
    unite(heap, *posting, read_posting(bytes));
}

uint32_t load_values(Heap& heap, FilterField& field, ValueKind kind, uint32_t count, SavedBytes& bytes) {
  if (count > kBlockMax) throw std::invalid_argument("saved filter index: a block that is too long");
  if (kind == ValueKind::kNumber) {
    std::vector<double> keys(count);
    const uint8_t* from = bytes.skip(size_t(count) * sizeof(double));
    if (count > 0) std::memcpy(keys.data(), from, size_t(count) * sizeof(double));
    for (const double key : keys)
      if (std::isnan(key)) throw std::invalid_argument("saved filter index: a value that is not a number");
    return unite_all(heap, field.made_numbers(), keys, bytes);
  }
  const bool wide = bytes.u8() == 1;
  std::vector<uint32_t> lengths(count);
  for (uint32_t& length : lengths) length = bytes.u32();
  std::vector<Characters> keys;
  // A key that needs no wide characters is narrow, whatever its neighbours need: equal strings have one form.
  std::vector<std::vector<uint8_t>> narrowed;
  narrowed.reserve(count);
  for (const uint32_t length : lengths) {
    Characters key{bytes.skip(wide ? size_t(length) * 2 : length), length, wide};
    bool fits = wide;
    for (uint32_t i = 0; fits && i < length; i++) fits = key.at(i) < 256;
    if (fits) {
      narrowed.emplace_back();
      for (uint32_t i = 0; i < length; i++) narrowed.back().push_back(uint8_t(key.at(i)));
      key = {narrowed.back().data(), length, false};
    }
    keys.push_back(key);
  }
  return unite_all(heap, kind == ValueKind::kString ? field.made(field.strings) : field.made(field.composites), keys,
                   bytes);
}

}  // namespace quiver
