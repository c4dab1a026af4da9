#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heap.h"
#include "posting.h"
#include "value_dictionary.h"

namespace quiver {

// What scalars of a field a change is about; the numbers are those of node/filter/filter-words.ts.
enum class ValueKind : uint32_t { kNone, kNull, kTrue, kFalse, kNumber, kString, kComposite };

/**
 * The numbers of a field by slot, for ranges over keys with nearly as many values as items (times, prices): a range is one
 * pass over 8 bytes per slot.
 */
struct NumberColumn {
  // Slots there is room for; their numbers follow, NaN where there is none.
  uint32_t capacity;
  uint32_t padding;

  std::atomic<double>& at(uint32_t slot) const { return reinterpret_cast<std::atomic<double>*>(const_cast<NumberColumn*>(this) + 1)[slot]; }
  static size_t bytes(size_t capacity) { return sizeof(NumberColumn) + capacity * 8; }
};

/**
 * One metadata key at one place of the nesting: the slots that have it, by value. One writer (the index's thread); the
 * members that readers use are atomic.
 */
class FilterField {
 public:
  explicit FilterField(Heap& heap);
  ~FilterField();
  FilterField(const FilterField&) = delete;
  FilterField& operator=(const FilterField&) = delete;

  Posting present{0}, nulls{0}, trues{0}, falses{0};
  std::atomic<NumberDictionary*> numbers{nullptr};
  std::atomic<StringDictionary*> strings{nullptr};
  // Objects and arrays as a whole, by composite key.
  std::atomic<StringDictionary*> composites{nullptr};
  std::atomic<NumberColumn*> column{nullptr};

  // A scalar of a slot; `is_element`: of an array. Answers whether the value is new.
  bool add_number(double value, uint32_t slot, bool is_element);
  bool add_text(std::atomic<StringDictionary*>& dictionary, const Characters& text, uint32_t slot);
  // Answers whether the value is gone.
  bool remove_number(double value, uint32_t slot);
  bool remove_text(std::atomic<StringDictionary*>& dictionary, const Characters& text, uint32_t slot);

  NumberDictionary& made_numbers();
  StringDictionary& made(std::atomic<StringDictionary*>& dictionary);

  // Removes the slots of a bitmap from every value; answers how many values are gone.
  uint32_t remove_everywhere(const std::vector<uint32_t>& bitmap);

  /// Before a range over numbers: makes the column if it is worth its memory, or frees it.
  void prepare_numbers(uint32_t slot_limit);

 private:
  void drop_column();

  Heap& heap_;
  // Some slot has, or had, several numbers: no column can hold them.
  bool has_elements_ = false;
};

}  // namespace quiver
