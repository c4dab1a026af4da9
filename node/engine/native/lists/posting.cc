#include "posting.h"

#include <algorithm>
#include <cstring>

namespace quiver {

namespace {

// Up to this many slots are one sorted list: those of a small set are spread over all chunks.
constexpr uint32_t kFewMax = 256;
// Chunks become a list again only well below kFewMax, so that a set does not convert at every change.
constexpr uint32_t kFewAgain = 128;
// Above this many members a bitmap (8 KiB) is smaller than sorted values.
constexpr uint32_t kValuesMax = 4'096;
// As kFewAgain, for bitmaps.
constexpr uint32_t kBitmapMin = 3'072;

using Chunks = std::atomic<Chunk*>;

uint64_t single(uint32_t slot) { return uint64_t(slot) << 1 | 1; }

size_t bytes_of(const SlotSet& set) {
  return set.in_chunks != 0 ? sizeof(SlotSet) + 4 + set.capacity * sizeof(Chunks)
                            : sizeof(SlotSet) + set.capacity * sizeof(uint32_t);
}

size_t bytes_of(const Chunk& chunk) {
  return sizeof(Chunk) + (chunk.capacity > 0 ? chunk.capacity * sizeof(uint16_t) : kChunkWords * sizeof(uint32_t));
}

// Aligned: a set's header has 12 bytes.
Chunks* chunks_of(const SlotSet* set) {
  return reinterpret_cast<Chunks*>(reinterpret_cast<uintptr_t>(set) + sizeof(SlotSet) + 4);
}
std::atomic<uint32_t>* slots_of(SlotSet* set) { return reinterpret_cast<std::atomic<uint32_t>*>(set + 1); }
std::atomic<uint16_t>* values_of(Chunk* chunk) { return reinterpret_cast<std::atomic<uint16_t>*>(chunk + 1); }
std::atomic<uint32_t>* words_of(Chunk* chunk) { return reinterpret_cast<std::atomic<uint32_t>*>(chunk + 1); }

SlotSet* new_set(Heap& heap, bool in_chunks, uint32_t capacity) {
  const size_t bytes =
      in_chunks ? sizeof(SlotSet) + 4 + capacity * sizeof(Chunks) : sizeof(SlotSet) + capacity * sizeof(uint32_t);
  return new (heap.allocate(bytes)) SlotSet{in_chunks ? 1u : 0u, capacity, {0}};
}

Chunk* new_chunk(Heap& heap, uint32_t capacity) {
  const size_t bytes = sizeof(Chunk) + (capacity > 0 ? capacity * sizeof(uint16_t) : kChunkWords * sizeof(uint32_t));
  return new (heap.allocate(bytes)) Chunk{capacity, {0}};
}

uint32_t grown(uint32_t size, uint32_t max) { return std::min(max, size + std::max(2u, size / 2)); }

// Only the writer changes them, so it may read them as plain memory.
template <class T>
const T* plain(const std::atomic<T>* values) {
  static_assert(sizeof(std::atomic<T>) == sizeof(T), "atomics of small numbers have their layout");
  return reinterpret_cast<const T*>(values);
}
template <class T>
T* plain(std::atomic<T>* values) {
  return reinterpret_cast<T*>(values);
}

template <class T>
uint32_t lower_bound(const std::atomic<T>* values, uint32_t size, T value) {
  uint32_t from = 0;
  while (from < size) {
    const uint32_t middle = (from + size) / 2;
    if (values[middle].load(std::memory_order_relaxed) < value) from = middle + 1;
    else size = middle;
  }
  return from;
}

// Copies `size` values with `value` put in before position `at`.
template <class T>
void copy_with(const T* from, uint32_t size, uint32_t at, T value, T* to) {
  std::memcpy(to, from, at * sizeof(T));
  to[at] = value;
  std::memcpy(to + at + 1, from + at, (size - at) * sizeof(T));
}
// Copies `size` values without that at position `at`.
template <class T>
void copy_without(const T* from, uint32_t size, uint32_t at, T* to) {
  std::memcpy(to, from, at * sizeof(T));
  std::memcpy(to + at, from + at + 1, (size - at - 1) * sizeof(T));
}

Chunk* chunk_of_values(Heap& heap, const uint16_t* values, uint32_t size, uint32_t capacity) {
  if (size > kValuesMax) {
    Chunk* chunk = new_chunk(heap, 0);
    uint32_t* words = plain(words_of(chunk));
    for (uint32_t i = 0; i < size; i++) words[values[i] >> 5] |= 1u << (values[i] & 31);
    chunk->size.store(size, std::memory_order_relaxed);
    return chunk;
  }
  Chunk* chunk = new_chunk(heap, std::max(capacity, size));
  std::memcpy(plain(values_of(chunk)), values, size * sizeof(uint16_t));
  chunk->size.store(size, std::memory_order_relaxed);
  return chunk;
}

void replace_chunk(Heap& heap, Chunks& place, Chunk* next) {
  Chunk* before = place.load(std::memory_order_relaxed);
  place.store(next);
  if (before != nullptr) heap.retire(before, bytes_of(*before));
}

bool add_to_chunk(Heap& heap, Chunks& place, uint16_t low) {
  Chunk* chunk = place.load(std::memory_order_relaxed);
  if (chunk == nullptr) {
    place.store(chunk_of_values(heap, &low, 1, 4));
    return true;
  }
  const uint32_t size = chunk->size.load(std::memory_order_relaxed);
  if (chunk->capacity == 0) {
    std::atomic<uint32_t>& word = words_of(chunk)[low >> 5];
    const uint32_t before = word.load(std::memory_order_relaxed), bit = 1u << (low & 31);
    if ((before & bit) != 0) return false;
    word.store(before | bit, std::memory_order_relaxed);
    chunk->size.store(size + 1, std::memory_order_release);
    return true;
  }
  std::atomic<uint16_t>* values = values_of(chunk);
  const bool is_last = size == 0 || values[size - 1].load(std::memory_order_relaxed) < low;
  const uint32_t at = is_last ? size : lower_bound(values, size, low);
  if (at < size && values[at].load(std::memory_order_relaxed) == low) return false;
  if (is_last && size < chunk->capacity) {
    values[size].store(low, std::memory_order_relaxed);
    chunk->size.store(size + 1, std::memory_order_release);
    return true;
  }
  if (size == kValuesMax) {
    uint16_t all[kValuesMax + 1];
    copy_with(plain(values), size, at, low, all);
    replace_chunk(heap, place, chunk_of_values(heap, all, size + 1, 0));
    return true;
  }
  Chunk* next = new_chunk(heap, size < chunk->capacity ? chunk->capacity : grown(size, kValuesMax));
  copy_with(plain(values), size, at, low, plain(values_of(next)));
  next->size.store(size + 1, std::memory_order_relaxed);
  replace_chunk(heap, place, next);
  return true;
}

bool remove_from_chunk(Heap& heap, Chunks& place, uint16_t low) {
  Chunk* chunk = place.load(std::memory_order_relaxed);
  if (chunk == nullptr) return false;
  const uint32_t size = chunk->size.load(std::memory_order_relaxed);
  if (chunk->capacity == 0) {
    std::atomic<uint32_t>& word = words_of(chunk)[low >> 5];
    const uint32_t before = word.load(std::memory_order_relaxed), bit = 1u << (low & 31);
    if ((before & bit) == 0) return false;
    word.store(before & ~bit, std::memory_order_relaxed);
    chunk->size.store(size - 1, std::memory_order_release);
    if (size - 1 >= kBitmapMin) return true;
    uint16_t all[kValuesMax];
    uint32_t count = 0;
    for (uint32_t i = 0; i < kChunkWords; i++) {
      for (uint32_t bits = words_of(chunk)[i].load(std::memory_order_relaxed); bits != 0; bits &= bits - 1) {
        all[count++] = uint16_t(i * 32 + uint32_t(__builtin_ctz(bits)));
      }
    }
    replace_chunk(heap, place, chunk_of_values(heap, all, count, 0));
    return true;
  }
  std::atomic<uint16_t>* values = values_of(chunk);
  const uint32_t at = lower_bound(values, size, low);
  if (at == size || values[at].load(std::memory_order_relaxed) != low) return false;
  if (size == 1) {
    replace_chunk(heap, place, nullptr);
  } else if (at == size - 1) {
    chunk->size.store(size - 1, std::memory_order_release);
  } else {
    Chunk* next = new_chunk(heap, std::min(chunk->capacity, grown(size, kValuesMax)));
    copy_without(plain(values), size, at, plain(values_of(next)));
    next->size.store(size - 1, std::memory_order_relaxed);
    replace_chunk(heap, place, next);
  }
  return true;
}

// A set of strictly rising slots, at least two.
SlotSet* set_of(Heap& heap, const std::vector<uint32_t>& slots) {
  const uint32_t size = uint32_t(slots.size());
  if (size <= kFewMax) {
    SlotSet* set = new_set(heap, false, size);
    std::memcpy(plain(slots_of(set)), slots.data(), size * sizeof(uint32_t));
    set->size.store(size, std::memory_order_relaxed);
    return set;
  }
  SlotSet* set = new_set(heap, true, (slots.back() >> 16) + 1);
  std::vector<uint16_t> values;
  for (size_t from = 0, to = 0; from < slots.size(); from = to) {
    const uint32_t high = slots[from] >> 16;
    values.clear();
    for (to = from; to < slots.size() && slots[to] >> 16 == high; to++) values.push_back(uint16_t(slots[to]));
    chunks_of(set)[high].store(chunk_of_values(heap, values.data(), uint32_t(values.size()), 0),
                               std::memory_order_relaxed);
  }
  set->size.store(size, std::memory_order_relaxed);
  return set;
}

// Retires or releases a set and its chunks.
void drop_set(Heap& heap, SlotSet* set, bool at_once) {
  const auto drop = [&](void* block, size_t bytes) {
    at_once ? heap.release(block, bytes) : heap.retire(block, bytes);
  };
  if (set->in_chunks != 0) {
    for (uint32_t high = 0; high < set->capacity; high++) {
      Chunk* chunk = chunks_of(set)[high].load(std::memory_order_relaxed);
      if (chunk != nullptr) drop(chunk, bytes_of(*chunk));
    }
  }
  drop(set, bytes_of(*set));
}

SlotSet* set_in(uint64_t word) { return (word & 1) != 0 ? nullptr : reinterpret_cast<SlotSet*>(word); }

bool add_to_chunks(Heap& heap, Posting& posting, SlotSet* set, uint32_t slot) {
  const uint32_t high = slot >> 16;
  if (high >= set->capacity) {
    SlotSet* next = new_set(heap, true, std::max(high + 1, set->capacity + set->capacity / 4));
    std::memcpy(static_cast<void*>(chunks_of(next)), chunks_of(set), set->capacity * sizeof(Chunks));
    next->size.store(set->size.load(std::memory_order_relaxed), std::memory_order_relaxed);
    posting.store(reinterpret_cast<uint64_t>(next));
    heap.retire(set, bytes_of(*set));
    set = next;
  }
  if (!add_to_chunk(heap, chunks_of(set)[high], uint16_t(slot))) return false;
  set->size.store(set->size.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  return true;
}

}  // namespace

void add_slot(Heap& heap, Posting& posting, uint32_t slot) {
  const uint64_t word = posting.load(std::memory_order_relaxed);
  if (word == 0) return posting.store(single(slot));
  SlotSet* set = set_in(word);
  if (set == nullptr) {
    const uint32_t other = uint32_t(word >> 1);
    if (other == slot) return;
    return posting.store(reinterpret_cast<uint64_t>(set_of(heap, {std::min(slot, other), std::max(slot, other)})));
  }
  if (set->in_chunks != 0) {
    add_to_chunks(heap, posting, set, slot);
    return;
  }
  const uint32_t size = set->size.load(std::memory_order_relaxed);
  const std::atomic<uint32_t>* slots = set->slots();
  const bool is_last = slots[size - 1].load(std::memory_order_relaxed) < slot;
  const uint32_t at = is_last ? size : lower_bound(slots, size, slot);
  if (at < size && slots[at].load(std::memory_order_relaxed) == slot) return;
  if (is_last && size < set->capacity) {
    slots_of(set)[size].store(slot, std::memory_order_relaxed);
    set->size.store(size + 1, std::memory_order_release);
    return;
  }
  SlotSet* next;
  if (size == kFewMax) {
    std::vector<uint32_t> all(size + 1);
    copy_with(plain(slots), size, at, slot, all.data());
    next = set_of(heap, all);
  } else {
    next = new_set(heap, false, size < set->capacity ? set->capacity : grown(size, kFewMax));
    copy_with(plain(slots), size, at, slot, plain(slots_of(next)));
    next->size.store(size + 1, std::memory_order_relaxed);
  }
  posting.store(reinterpret_cast<uint64_t>(next));
  heap.retire(set, bytes_of(*set));
}

bool remove_slot(Heap& heap, Posting& posting, uint32_t slot) {
  const uint64_t word = posting.load(std::memory_order_relaxed);
  SlotSet* set = set_in(word);
  if (set == nullptr) {
    if (word != single(slot)) return false;
    posting.store(0);
    return true;
  }
  const uint32_t size = set->size.load(std::memory_order_relaxed);
  if (set->in_chunks != 0) {
    if (slot >> 16 >= set->capacity || !remove_from_chunk(heap, chunks_of(set)[slot >> 16], uint16_t(slot)))
      return false;
    set->size.store(size - 1, std::memory_order_release);
    if (size - 1 > kFewAgain) return true;
    std::vector<uint32_t> left;
    PostingView(posting).for_each([&](uint32_t one) { left.push_back(one); });
    set_slots(heap, posting, left);
    return true;
  }
  const std::atomic<uint32_t>* slots = set->slots();
  const uint32_t at = lower_bound(slots, size, slot);
  if (at == size || slots[at].load(std::memory_order_relaxed) != slot) return false;
  if (size == 2) {
    posting.store(single(slots[1 - at].load(std::memory_order_relaxed)));
  } else if (at == size - 1) {
    set->size.store(size - 1, std::memory_order_release);
    return true;
  } else {
    SlotSet* next = new_set(heap, false, std::min(set->capacity, grown(size, kFewMax)));
    copy_without(plain(slots), size, at, plain(slots_of(next)));
    next->size.store(size - 1, std::memory_order_relaxed);
    posting.store(reinterpret_cast<uint64_t>(next));
  }
  heap.retire(set, bytes_of(*set));
  return true;
}

void set_slots(Heap& heap, Posting& posting, const std::vector<uint32_t>& slots) {
  const uint64_t before = posting.load(std::memory_order_relaxed);
  if (slots.empty()) posting.store(0);
  else posting.store(slots.size() == 1 ? single(slots[0]) : reinterpret_cast<uint64_t>(set_of(heap, slots)));
  if (before != 0 && set_in(before) != nullptr) drop_set(heap, set_in(before), false);
}

void free_slots(Heap& heap, Posting& posting) {
  const uint64_t word = posting.exchange(0);
  if (word != 0 && set_in(word) != nullptr) drop_set(heap, set_in(word), true);
}

const Chunk* PostingView::chunk_at(uint32_t high) const { return chunks_of(set())[high].load(); }

bool PostingView::has(uint32_t slot) const {
  if (word_ == 0) return false;
  if (is_single()) return word_ == single(slot);
  const SlotSet* one = set();
  if (one->in_chunks == 0) {
    const uint32_t size = one->size.load(std::memory_order_acquire), at = lower_bound(one->slots(), size, slot);
    return at < size && one->slots()[at].load(std::memory_order_relaxed) == slot;
  }
  const uint32_t high = slot >> 16;
  const Chunk* chunk = high < one->capacity ? chunk_at(high) : nullptr;
  if (chunk == nullptr) return false;
  const uint16_t low = uint16_t(slot);
  if (chunk->capacity == 0) return (chunk->words()[low >> 5].load(std::memory_order_relaxed) >> (low & 31) & 1) != 0;
  const uint32_t size = chunk->size.load(std::memory_order_acquire), at = lower_bound(chunk->values(), size, low);
  return at < size && chunk->values()[at].load(std::memory_order_relaxed) == low;
}

void PostingView::or_into(std::vector<uint32_t>& words) const {
  const auto set_bit = [&](uint32_t slot) {
    if (slot / 32 < words.size()) words[slot / 32] |= 1u << (slot % 32);
  };
  const auto of_chunk = [&](uint32_t high, const Chunk& chunk) {
    if (chunk.capacity > 0) return visit_chunk(high, chunk, set_bit);
    const size_t first = high * kChunkWords;
    const size_t count = first >= words.size() ? 0 : std::min(kChunkWords, words.size() - first);
    for (size_t i = 0; i < count; i++) words[first + i] |= chunk.words()[i].load(std::memory_order_relaxed);
  };
  if (!for_each_chunk(of_chunk)) for_each(set_bit);
}

}  // namespace quiver
