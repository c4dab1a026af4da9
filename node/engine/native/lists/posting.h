#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heap.h"

namespace quiver {

/**
 * The slots that have one value, as one word: 0 for none, an odd number for a single slot (a key with a distinct value
 * per item has as many postings as items), else the address of a SlotSet. One thread writes, others read with a
 * PostingView.
 *
 * New slots are added where they are; everything else is done on a copy that then takes the place of the old block. So
 * a reader meets every slot that was there before it began, in order, and perhaps newer ones. It may miss slots or meet
 * wrong ones only if some slot is removed meanwhile (the change counter of the shard tells it so).
 */
using Posting = std::atomic<uint64_t>;

void add_slot(Heap& heap, Posting& posting, uint32_t slot);
// Answers whether the slot was there.
bool remove_slot(Heap& heap, Posting& posting, uint32_t slot);
// Replaces all slots by these, which rise strictly.
void set_slots(Heap& heap, Posting& posting, const std::vector<uint32_t>& slots);
// Frees what the posting holds, when no reader is left.
void free_slots(Heap& heap, Posting& posting);

// A set of at least two slots.
struct SlotSet {
  // 0: the slots follow, sorted, up to `capacity`. 1: `capacity` pointers to chunks follow, by the high half of a slot.
  const uint32_t in_chunks;
  const uint32_t capacity;
  std::atomic<uint32_t> size;

  const std::atomic<uint32_t>* slots() const { return reinterpret_cast<const std::atomic<uint32_t>*>(this + 1); }
};

constexpr size_t kChunkSlots = 65'536;
constexpr size_t kChunkWords = kChunkSlots / 32;

// The slots of one range of kChunkSlots, as the low halves of each.
struct Chunk {
  // Room for this many sorted values, which follow; 0: the words of a bitmap follow.
  const uint32_t capacity;
  std::atomic<uint32_t> size;

  const std::atomic<uint16_t>* values() const { return reinterpret_cast<const std::atomic<uint16_t>*>(this + 1); }
  const std::atomic<uint32_t>* words() const { return reinterpret_cast<const std::atomic<uint32_t>*>(this + 1); }
};

/// A posting as it is read, on any thread: within a Reading, or on the writer's.
class PostingView {
 public:
  PostingView() : word_(0) {}
  explicit PostingView(const Posting& posting) : word_(posting.load()) {}

  bool empty() const { return word_ == 0; }
  size_t size() const { return word_ == 0 ? 0 : is_single() ? 1 : set()->size.load(std::memory_order_acquire); }
  // Whether there is one slot alone; then `slot` is it.
  bool has_one(uint32_t& slot) const {
    if (!is_single()) return false;
    slot = uint32_t(word_ >> 1);
    return true;
  }
  bool has(uint32_t slot) const;
  // Sets the bits of the slots that are inside `words`.
  void or_into(std::vector<uint32_t>& words) const;
  // Calls visit(high half, chunk) for the chunks; false if the slots are not in chunks.
  template <class Visit>
  bool for_each_chunk(const Visit& visit) const {
    if (word_ == 0 || is_single() || set()->in_chunks == 0) return false;
    for (uint32_t high = 0; high < set()->capacity; high++) {
      const Chunk* chunk = chunk_at(high);
      if (chunk != nullptr) visit(high, *chunk);
    }
    return true;
  }
  // Calls visit(slot) in rising order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    if (word_ == 0) return;
    if (is_single()) return visit(uint32_t(word_ >> 1));
    if (for_each_chunk([&](uint32_t high, const Chunk& chunk) { visit_chunk(high, chunk, visit); })) return;
    const uint32_t size = set()->size.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < size; i++) visit(set()->slots()[i].load(std::memory_order_relaxed));
  }

 private:
  bool is_single() const { return (word_ & 1) != 0; }
  const SlotSet* set() const { return reinterpret_cast<const SlotSet*>(word_); }
  const Chunk* chunk_at(uint32_t high) const;

  template <class Visit>
  static void visit_chunk(uint32_t high, const Chunk& chunk, const Visit& visit) {
    const uint32_t base = high << 16;
    if (chunk.capacity > 0) {
      const uint32_t size = chunk.size.load(std::memory_order_acquire);
      for (uint32_t i = 0; i < size; i++) visit(base | chunk.values()[i].load(std::memory_order_relaxed));
      return;
    }
    for (uint32_t i = 0; i < kChunkWords; i++) {
      for (uint32_t word = chunk.words()[i].load(std::memory_order_relaxed); word != 0; word &= word - 1) {
        visit(base | (i * 32 + uint32_t(__builtin_ctz(word))));
      }
    }
  }

  uint64_t word_;
};

}  // namespace quiver
