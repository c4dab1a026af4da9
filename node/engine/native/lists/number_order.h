#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "heap.h"
#include "number_column.h"

namespace quiver {

/**
 * The slots of a NumberColumn by their numbers: in blocks of some hundred slots, which lie one after the other in the
 * order of (number, slot) and hold their slots in any (a B-tree of two levels). So a range is two searches in the
 * directory of blocks, its size is known at once, but for the two blocks at its ends, and a rare one costs what it
 * holds. Some 5 bytes a slot.
 *
 * One writer; `range` and what it answers for any thread, as for a Posting. A slot is added where there is room in its
 * block; a block that is full or that has lost most of its slots, and a directory with another block, are copied.
 */
class NumberOrder {
  struct Block {
    uint32_t capacity;
    std::atomic<uint32_t>& slot(uint32_t i) const {
      return reinterpret_cast<std::atomic<uint32_t>*>(const_cast<Block*>(this) + 1)[i];
    }
    static size_t bytes(size_t capacity) { return sizeof(Block) + capacity * sizeof(uint32_t); }
  };
  // A block, and the least (number, slot) that belongs there.
  struct Entry {
    double low;
    uint32_t low_slot;
    std::atomic<uint32_t> size;
    std::atomic<Block*> block;

    // The block, and how many of its slots to look at. The size is loaded before the block, which may have grown since;
    // or it was replaced by a smaller one, whose room is the limit then.
    std::pair<const Block&, uint32_t> slots() const {
      const uint32_t count = size.load(std::memory_order_acquire);
      const Block& loaded = *block.load(std::memory_order_acquire);
      return {loaded, std::min(count, loaded.capacity)};
    }
    bool is_after(double number, uint32_t slot) const { return low > number || (low == number && low_slot > slot); }
  };
  struct Directory {
    uint32_t count;
    uint32_t padding;
    Entry& entry(uint32_t i) const { return reinterpret_cast<Entry*>(const_cast<Directory*>(this) + 1)[i]; }
    static size_t bytes(size_t count) { return sizeof(Directory) + count * sizeof(Entry); }
  };

 public:
  explicit NumberOrder(Heap& heap);
  // When no reader is left.
  ~NumberOrder();
  NumberOrder(const NumberOrder&) = delete;
  NumberOrder& operator=(const NumberOrder&) = delete;

  // A slot that is not there, whose number is in the column.
  void add(const NumberColumn& column, uint32_t slot);
  // Before its number leaves the column.
  void remove(double number, uint32_t slot);
  // From now on readers may see it.
  void publish() { is_seen_ = true; }

  // Where the numbers of an interval are.
  class Range {
   public:
    // How many there are: at most, and about.
    size_t at_most() const { return at_most_; }
    size_t about() const { return inside_ + (at_most_ - inside_) / 2; }

    // Calls visit(slot) for every slot whose number is in the interval, and has been since the range was asked for.
    template <class Visit>
    void for_each(const NumberColumn& column, const Visit& visit) const {
      for (uint32_t i = first_; i < end_; i++) {
        const Entry& entry = directory_->entry(i);
        const auto [block, size] = entry.slots();
        const bool inside = is_inside(i);
        for (uint32_t j = 0; j < size; j++) {
          const uint32_t slot = block.slot(j).load(std::memory_order_relaxed);
          if (inside || column.has(slot, interval_)) visit(slot);
        }
      }
    }

    // Calls visit(slot) for about `count` of them, which lie evenly.
    template <class Visit>
    void for_some(size_t count, const NumberColumn& column, const Visit& visit) const {
      const size_t step = at_most_ / count + 1;
      size_t next = step / 2, before = 0;
      for (uint32_t i = first_; i < end_; i++) {
        const Entry& entry = directory_->entry(i);
        const auto [block, size] = entry.slots();
        const bool inside = is_inside(i);
        for (; next < before + size; next += step) {
          const uint32_t slot = block.slot(uint32_t(next - before)).load(std::memory_order_relaxed);
          if (inside || column.has(slot, interval_)) visit(slot);
        }
        before += size;
      }
    }

   private:
    friend class NumberOrder;
    bool is_inside(uint32_t i) const {
      return directory_->entry(i).low >= interval_.low && i + 1 < directory_->count &&
             directory_->entry(i + 1).low <= interval_.high;
    }

    Interval interval_;
    const Directory* directory_ = nullptr;
    // Its blocks.
    uint32_t first_ = 0, end_ = 0;
    size_t at_most_ = 0, inside_ = 0;
  };

  Range range(const Interval& interval) const;

 private:
  // The block where a slot belongs.
  static uint32_t place_of(const Directory& directory, double number, uint32_t slot);
  Block* new_block(size_t capacity);
  void drop(void* block, size_t bytes);
  void resize(Entry& entry, size_t capacity);
  void divide(const NumberColumn& column, uint32_t place, uint32_t slot);
  // A copy of the directory with `added` more entries at `place`, which the caller fills, or without that one.
  Directory* copied(uint32_t place, int added);
  void replace(Directory* directory);
  size_t block_max() const;

  Heap& heap_;
  std::atomic<Directory*> directory_;
  size_t count_ = 0;
  bool is_seen_ = false;
};

}  // namespace quiver
