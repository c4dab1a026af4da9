#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lists/heap.h"
#include "lists/number_column.h"
#include "lists/number_order.h"
#include "lists/posting.h"
#include "lists/slot_numbers.h"
#include "lists/value_dictionary.h"

namespace quiver {

// What scalars of a field a change is about; the numbers are those of node/engine/filter/filter-words.ts.
enum class ValueKind : uint32_t { kNone, kNull, kTrue, kFalse, kNumber, kString, kComposite };

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
  // The slots of the column in the order of their numbers; null until they are all in it. Readers load it before the
  // column.
  std::atomic<NumberOrder*> order{nullptr};
  // Numbers, and times that texts say (time_of_text.h), by slot; null until somebody asks.
  std::atomic<SlotNumbers*> slot_numbers{nullptr}, slot_times{nullptr};
  // Whether the writer has decided about a column since there were many numbers. Until then a reader leaves a range
  // over them to the writer's thread.
  std::atomic<bool> is_prepared{false};

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
  /// Makes some more of `slot_numbers` or `slot_times`. Answers whether there is more to make.
  bool make_slot_numbers(uint32_t slot_limit);
  bool make_slot_times(uint32_t slot_limit);
  // Whether the column has no order yet.
  bool wants_order() const;
  // Takes up to so many more slots of the column into its order.
  void order_some(uint32_t slots);

  // With fewer distinct numbers than this there is never a column.
  static constexpr uint32_t kColumnNumbersMin = 4'096;

 private:
  void drop_column();
  void drop_order();
  void drop_by_slot(std::atomic<SlotNumbers*>& by_slot);
  void add_by_slot(std::atomic<SlotNumbers*>& by_slot, double number, uint32_t slot);
  void add_to_order(const NumberColumn& of, uint32_t slot);

  Heap& heap_;
  // Some slot has, or had, several numbers: no column can hold them.
  bool has_elements_ = false;
  // The order that is being made, which has the slots below `ordered_`.
  std::unique_ptr<NumberOrder> next_order_;
  uint32_t ordered_ = 0;
};

}  // namespace quiver
