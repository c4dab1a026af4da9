#include "filter_field.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "time_of_text.h"

namespace quiver {

namespace {

// A column is worth its memory with more than one distinct number for this many slots: visiting a number and its slots
// costs several times as much as examining one slot of a column.
constexpr uint32_t kColumnSlotsPerNumber = 8;

NumberColumn* new_column(Heap& heap, size_t capacity) {
  NumberColumn* column = static_cast<NumberColumn*>(heap.allocate(NumberColumn::bytes(capacity)));
  column->capacity = uint32_t(capacity);
  column->is_ranked.store(0, std::memory_order_relaxed);
  column->has_bounds = 0;
  for (uint32_t slot = 0; slot < capacity; slot++) column->clear(slot);
  return column;
}

// The same with more room.
NumberColumn* grown_column(Heap& heap, const NumberColumn& column, size_t capacity) {
  NumberColumn* grown = new_column(heap, capacity);
  std::memcpy(static_cast<void*>(grown + 1), &column + 1, size_t(column.capacity) * 8);
  std::memcpy(static_cast<void*>(&grown->rank(0)), static_cast<const void*>(&column.rank(0)), column.capacity);
  std::copy(std::begin(column.bounds), std::end(column.bounds), grown->bounds);
  grown->has_bounds = column.has_bounds;
  grown->is_ranked.store(column.is_ranked.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return grown;
}

// The slots of a posting that are not in the bitmap; false if none is.
bool without(const Posting& posting, const std::vector<uint32_t>& bitmap, std::vector<uint32_t>& left) {
  left.clear();
  bool any = false;
  PostingView(posting).for_each([&](uint32_t slot) {
    if (slot / 32 < bitmap.size() && (bitmap[slot / 32] >> (slot % 32) & 1) != 0) any = true;
    else left.push_back(slot);
  });
  return any;
}

}  // namespace

FilterField::FilterField(Heap& heap) : heap_(heap) {}

FilterField::~FilterField() {
  for (Posting* posting : {&present, &nulls, &trues, &falses}) free_slots(heap_, *posting);
  delete numbers.load(std::memory_order_relaxed);
  delete strings.load(std::memory_order_relaxed);
  delete composites.load(std::memory_order_relaxed);
  NumberColumn* last = column.load(std::memory_order_relaxed);
  if (last != nullptr) heap_.release(last, NumberColumn::bytes(last->capacity));
  delete order.load(std::memory_order_relaxed);
  delete slot_numbers.load(std::memory_order_relaxed);
  delete slot_times.load(std::memory_order_relaxed);
}

NumberDictionary& FilterField::made_numbers() {
  NumberDictionary* made = numbers.load(std::memory_order_relaxed);
  if (made == nullptr) numbers.store(made = new NumberDictionary(heap_));
  return *made;
}

StringDictionary& FilterField::made(std::atomic<StringDictionary*>& dictionary) {
  StringDictionary* made = dictionary.load(std::memory_order_relaxed);
  if (made == nullptr) dictionary.store(made = new StringDictionary(heap_));
  return *made;
}

bool FilterField::add_number(double value, uint32_t slot, bool is_element) {
  if (is_element && !has_elements_) {
    has_elements_ = true;
    drop_column();
  }
  const bool is_new = made_numbers().add(value, slot);
  add_by_slot(slot_numbers, value, slot);
  NumberColumn* present_column = column.load(std::memory_order_relaxed);
  if (present_column == nullptr) return is_new;
  if (slot >= present_column->capacity) {
    NumberColumn* grown = grown_column(heap_, *present_column,
                                       std::max<size_t>(size_t(slot) + 1, size_t(present_column->capacity) * 5 / 4));
    grown->set(slot, value);
    column.store(grown);
    heap_.retire(present_column, NumberColumn::bytes(present_column->capacity));
    present_column = grown;
  } else {
    present_column->set(slot, value);
  }
  add_to_order(*present_column, slot);
  return is_new;
}

bool FilterField::add_text(std::atomic<StringDictionary*>& dictionary, const Characters& text, uint32_t slot) {
  if (&dictionary == &strings && slot_times.load(std::memory_order_relaxed) != nullptr) {
    const double time = time_of_text(text);
    if (!std::isnan(time)) add_by_slot(slot_times, time, slot);
  }
  return made(dictionary).add(text, slot);
}

// What is removed of a slot is all that it has.
bool FilterField::remove_number(double value, uint32_t slot) {
  if (SlotNumbers* own = slot_numbers.load(std::memory_order_relaxed)) own->clear(slot);
  NumberColumn* present_column = column.load(std::memory_order_relaxed);
  if (present_column != nullptr && slot < present_column->capacity) {
    NumberOrder* last = order.load(std::memory_order_relaxed);
    if (last != nullptr) last->remove(value, slot);
    else if (next_order_ != nullptr && slot < ordered_) next_order_->remove(value, slot);
    present_column->clear(slot);
  }
  NumberDictionary* dictionary = numbers.load(std::memory_order_relaxed);
  return dictionary != nullptr && dictionary->remove(value, slot);
}

bool FilterField::remove_text(std::atomic<StringDictionary*>& dictionary, const Characters& text, uint32_t slot) {
  SlotNumbers* times = &dictionary == &strings ? slot_times.load(std::memory_order_relaxed) : nullptr;
  if (times != nullptr) times->clear(slot);
  StringDictionary* present_one = dictionary.load(std::memory_order_relaxed);
  return present_one != nullptr && present_one->remove(text, slot);
}

uint32_t FilterField::remove_everywhere(const std::vector<uint32_t>& bitmap) {
  drop_column();
  drop_by_slot(slot_numbers);
  drop_by_slot(slot_times);
  is_prepared.store(false);
  std::vector<uint32_t> left;
  const auto change = [&](Posting& posting) {
    if (without(posting, bitmap, left)) set_slots(heap_, posting, left);
  };
  for (Posting* posting : {&present, &nulls, &trues, &falses}) change(*posting);
  uint32_t gone = 0;
  if (numbers.load() != nullptr) gone += numbers.load()->change_all(change);
  if (strings.load() != nullptr) gone += strings.load()->change_all(change);
  if (composites.load() != nullptr) gone += composites.load()->change_all(change);
  return gone;
}

void FilterField::prepare_numbers(uint32_t slot_limit) {
  const NumberDictionary* dictionary = numbers.load(std::memory_order_relaxed);
  const uint32_t count = dictionary == nullptr ? 0 : dictionary->size();
  is_prepared.store(count >= kColumnNumbersMin);
  if (has_elements_ || count < kColumnNumbersMin || count < slot_limit / kColumnSlotsPerNumber) {
    drop_column();
    return;
  }
  if (column.load(std::memory_order_relaxed) != nullptr) return;
  NumberColumn* made = new_column(heap_, slot_limit);
  bool several = false;
  dictionary->page(0, UINT32_MAX, [&](double value, const PostingView& posting) {
    posting.for_each([&](uint32_t slot) {
      if (slot >= slot_limit || !std::isnan(made->at(slot).load(std::memory_order_relaxed))) several = true;
      else made->at(slot).store(value, std::memory_order_relaxed);
    });
  });
  if (!several) {
    column.store(made);
    return;
  }
  has_elements_ = true;
  heap_.release(made, NumberColumn::bytes(made->capacity));
}

bool FilterField::make_slot_numbers(uint32_t slot_limit) {
  SlotNumbers* own = slot_numbers.load(std::memory_order_relaxed);
  if (own == nullptr) slot_numbers.store(own = new SlotNumbers(heap_, slot_limit));
  return own->make_some(numbers.load(std::memory_order_relaxed), [](double number) { return number; });
}

bool FilterField::make_slot_times(uint32_t slot_limit) {
  SlotNumbers* own = slot_times.load(std::memory_order_relaxed);
  if (own == nullptr) slot_times.store(own = new SlotNumbers(heap_, slot_limit));
  return own->make_some(strings.load(std::memory_order_relaxed), time_of_text);
}

// What lacks a number would be wrong, so without memory there is none.
void FilterField::add_by_slot(std::atomic<SlotNumbers*>& by_slot, double number, uint32_t slot) {
  SlotNumbers* own = by_slot.load(std::memory_order_relaxed);
  if (own == nullptr) return;
  try {
    own->add(number, slot);
  } catch (const std::bad_alloc&) {
    drop_by_slot(by_slot);
  }
}

void FilterField::drop_by_slot(std::atomic<SlotNumbers*>& by_slot) {
  SlotNumbers* last = by_slot.load(std::memory_order_relaxed);
  if (last == nullptr) return;
  by_slot.store(nullptr);
  heap_.retire(last, [](void* object) { delete static_cast<SlotNumbers*>(object); });
}

bool FilterField::wants_order() const {
  return column.load(std::memory_order_relaxed) != nullptr && order.load(std::memory_order_relaxed) == nullptr;
}

void FilterField::order_some(uint32_t slots) {
  if (!wants_order()) return;
  NumberColumn& of = *column.load(std::memory_order_relaxed);
  if (of.has_bounds == 0) of.make_bounds();
  if (next_order_ == nullptr) {
    next_order_ = std::make_unique<NumberOrder>(heap_);
    ordered_ = 0;
  }
  const uint32_t end = uint32_t(std::min<uint64_t>(of.capacity, uint64_t(ordered_) + slots));
  try {
    for (; ordered_ < end; ordered_++) {
      if (std::isnan(of.at(ordered_).load(std::memory_order_relaxed))) continue;
      of.set_rank(ordered_);
      next_order_->add(of, ordered_);
    }
  } catch (const std::bad_alloc&) {
    next_order_ = nullptr;
    throw;
  }
  if (end < of.capacity) return;
  of.is_ranked.store(1, std::memory_order_release);
  next_order_->publish();
  order.store(next_order_.release());
}

// A slot whose number is in the column now. An order that lacks a slot would be wrong, so without memory there is none.
void FilterField::add_to_order(const NumberColumn& of, uint32_t slot) {
  NumberOrder* last = order.load(std::memory_order_relaxed);
  try {
    if (last != nullptr) last->add(of, slot);
    else if (next_order_ != nullptr && slot < ordered_) next_order_->add(of, slot);
  } catch (const std::bad_alloc&) {
    drop_order();
  }
}

void FilterField::drop_order() {
  next_order_ = nullptr;
  NumberOrder* last = order.load(std::memory_order_relaxed);
  if (last == nullptr) return;
  order.store(nullptr);
  heap_.retire(last, [](void* object) { delete static_cast<NumberOrder*>(object); });
}

void FilterField::drop_column() {
  drop_order();
  NumberColumn* last = column.load(std::memory_order_relaxed);
  if (last == nullptr) return;
  column.store(nullptr);
  heap_.retire(last, NumberColumn::bytes(last->capacity));
}

}  // namespace quiver
