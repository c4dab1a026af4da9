#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "heap.h"
#include "value_dictionary.h"

namespace quiver {

/**
 * The number of a field that each slot has, for who asks slot by slot (boosts): 8 bytes a slot, made of a dictionary
 * when somebody first asks, whatever its values are. A slot with several different numbers is marked: who needs them
 * all reads its metadata.
 *
 * One writer; `column` and what it answers for any thread, as for a Posting.
 */
class SlotNumbers {
 public:
  // What stands for no number, and for several. No number of metadata has these bits.
  static constexpr uint64_t kNone = 0x7ff8'0000'0000'0000, kSeveral = 0x7ff8'0000'0000'0001;

  struct Column {
    // Slots there is room for, whose numbers follow.
    uint32_t capacity;
    // All numbers lie between these; of numbers that are gone, too. The first is above the second: there is none.
    std::atomic<double> least, most;

    uint64_t bits(uint32_t slot) const { return slot < capacity ? at(slot).load(std::memory_order_relaxed) : kNone; }
    std::atomic<uint64_t>& at(uint32_t slot) const {
      return reinterpret_cast<std::atomic<uint64_t>*>(const_cast<Column*>(this) + 1)[slot];
    }
    static size_t bytes(size_t capacity) { return sizeof(Column) + capacity * sizeof(uint64_t); }
  };

  // Room for the slots below `slot_limit`, and for more that come. Throws std::bad_alloc.
  SlotNumbers(Heap& heap, uint32_t slot_limit);
  // When no reader is left.
  ~SlotNumbers();
  SlotNumbers(const SlotNumbers&) = delete;
  SlotNumbers& operator=(const SlotNumbers&) = delete;

  // Null until all slots of the dictionary are in it.
  const Column* column() const {
    return is_whole_.load(std::memory_order_acquire) ? column_.load() : nullptr;
  }

  // The rest is the writer's. A slot that has the number already stays as it is.
  void add(double number, uint32_t slot);
  // Before a slot gets other numbers: it has none of those that it had.
  void clear(uint32_t slot);

  // Takes some more values of the dictionary: `number_of(key)`, NaN for none. Answers whether there are more.
  template <class Dictionary, class NumberOf>
  bool make_some(const Dictionary* values, const NumberOf& number_of) {
    if (is_whole_.load(std::memory_order_relaxed)) return false;
    int64_t next = values == nullptr ? -1 : int64_t(next_id_);
    // A value may have many slots, and many values may have none.
    for (size_t looked = 0; next >= 0 && looked < kLookedAtOnce; looked += kValuesAtOnce) {
      next = values->page(uint32_t(next), kValuesAtOnce, [&](const auto& key, const PostingView& posting) {
        const double number = number_of(key);
        if (number != number) return;
        posting.for_each([&](uint32_t slot) { add(number, slot); });
        looked += posting.size();
      });
    }
    if (next < 0) is_whole_.store(true, std::memory_order_release);
    else next_id_ = uint32_t(next);
    return next >= 0;
  }

 private:
  // About a millisecond.
  static constexpr size_t kLookedAtOnce = 65'536;
  static constexpr uint32_t kValuesAtOnce = 256;

  Column* new_column(size_t capacity);

  Heap& heap_;
  std::atomic<Column*> column_{nullptr};
  std::atomic<bool> is_whole_{false};
  uint32_t next_id_ = 0;
};

}  // namespace quiver
