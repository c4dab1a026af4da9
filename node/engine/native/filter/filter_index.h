#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "filter_field.h"
#include "filter_words.h"
#include "lists/heap.h"
#include "lists/posting.h"
#include "lists/value_dictionary.h"

namespace quiver {

/**
 * The fields of a shard's metadata, and for each the slots that have it, by value. JavaScript's FieldNode
 * (node/engine/filter/field-node.ts) takes metadata apart; this holds what a filter reads. One thread owns it; others
 * may call what is marked so, within a Reading. What those find is right for all slots that were put before they began,
 * unless a slot was removed meanwhile.
 */
class FilterIndex {
 public:
  FilterIndex();
  ~FilterIndex();
  FilterIndex(const FilterIndex&) = delete;
  FilterIndex& operator=(const FilterIndex&) = delete;

  static constexpr uint32_t kRoot = 0;

  // A field below another (kRoot for none); it must not be there. Answers its number.
  uint32_t add_field(uint32_t parent, const Characters& key);
  // Forgets a field without slots and without fields below it.
  void drop_field(uint32_t number);
  FilterField& field(uint32_t number) const;
  // Any thread. Null if there is none.
  const FilterField* child_of(const FilterField* parent, const Characters& key) const;

  // Puts or removes one slot: slot, 1 to put or 0 to remove, and for each value field × 16 + is_element × 8 + kind, and
  // the value itself if it is a number or a text.
  void apply(WordReader& words);
  // Removes the slots of a bitmap from everything.
  void remove_everywhere(const std::vector<uint32_t>& bitmap);
  // Whether a field that was asked for a range has a column without an order; said by `prepare_filter`.
  bool wants_orders = false;
  // Takes up to so many slots into such an order. Answers whether there is more to do.
  bool order_some(uint32_t slots);

  // Frees what no reader can hold any more.
  void collect() { heap_.collect(); }

  // Any thread: all slots, and a number above each of them.
  const Posting& all() const { return all_; }
  uint32_t slot_limit() const { return slot_limit_.load(std::memory_order_acquire); }
  // Any thread: rises when a change of the lists begins and when it ends, so it is odd meanwhile.
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
  // Any thread: whether the lists have not been changed since, after all that was read of them.
  bool is_unchanged(uint64_t since) { return changes_.fetch_add(0, std::memory_order_acq_rel) == since; }
  // The owner changes the lists for as long as this lives.
  class Change {
   public:
    explicit Change(FilterIndex& index) : index_(index) { index_.changes_.fetch_add(1, std::memory_order_acq_rel); }
    ~Change() { index_.changes_.fetch_add(1, std::memory_order_acq_rel); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

   private:
    FilterIndex& index_;
  };

  // Any thread: whether every item is in the lists. If not, no filter can be answered by them alone.
  bool is_whole() const { return unlisted_.load() == 0; }

  // Items that are in no list, by decision of the owner. Said before they leave the lists.
  void set_unlisted(uint32_t count) { unlisted_.store(count); }
  void set_slot_limit(uint32_t limit) { slot_limit_.store(limit, std::memory_order_release); }
  Posting& all_slots() { return all_; }
  Heap& heap() { return heap_; }
  // Number of fields and distinct values.
  uint64_t entries = 0;

  // By which other threads find it (index_registry.h); 0: they can't.
  uint64_t shared_number = 0;

 private:
  struct NumberedField : FilterField {
    NumberedField(Heap& heap, uint32_t number) : FilterField(heap), number(number) {}
    const uint32_t number;
    // By which its parent finds it.
    std::vector<uint16_t> key;
  };

  static Characters characters_of(const std::vector<uint16_t>& key);

  Heap heap_;
  Posting all_{0};
  std::atomic<uint32_t> slot_limit_{0};
  std::atomic<uint32_t> unlisted_{0};
  std::atomic<uint64_t> changes_{0};
  // (number of the parent, key) → address of the field.
  StringDictionary children_{heap_};
  // By number, from kRoot, which has none.
  std::vector<NumberedField*> fields_{nullptr};
  std::vector<uint32_t> free_numbers_;
};

}  // namespace quiver
