#include "slot_numbers.h"

#include <algorithm>
#include <limits>

namespace quiver {

SlotNumbers::SlotNumbers(Heap& heap, uint32_t slot_limit) : heap_(heap) {
  Column* column = new_column(slot_limit);
  column->least.store(std::numeric_limits<double>::infinity());
  column->most.store(-std::numeric_limits<double>::infinity());
  column_.store(column);
}

SlotNumbers::~SlotNumbers() {
  Column* column = column_.load(std::memory_order_relaxed);
  heap_.release(column, Column::bytes(column->capacity));
}

void SlotNumbers::add(double number, uint32_t slot) {
  Column* column = column_.load(std::memory_order_relaxed);
  if (slot >= column->capacity) {
    Column* grown = new_column(std::max(size_t(slot) + 1, size_t(column->capacity) * 5 / 4));
    for (uint32_t i = 0; i < column->capacity; i++)
      grown->at(i).store(column->at(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
    grown->least.store(column->least.load(std::memory_order_relaxed));
    grown->most.store(column->most.load(std::memory_order_relaxed));
    column_.store(grown);
    heap_.retire(column, Column::bytes(column->capacity));
    column = grown;
  }
  // Before the number is there.
  if (number < column->least.load(std::memory_order_relaxed)) column->least.store(number);
  if (number > column->most.load(std::memory_order_relaxed)) column->most.store(number);
  uint64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  std::atomic<uint64_t>& own = column->at(slot);
  const uint64_t before = own.load(std::memory_order_relaxed);
  own.store(before == kNone || before == bits ? bits : kSeveral, std::memory_order_release);
}

void SlotNumbers::clear(uint32_t slot) {
  const Column* column = column_.load(std::memory_order_relaxed);
  if (slot < column->capacity) column->at(slot).store(kNone, std::memory_order_relaxed);
}

SlotNumbers::Column* SlotNumbers::new_column(size_t capacity) {
  Column* column = static_cast<Column*>(heap_.allocate(Column::bytes(capacity)));
  column->capacity = uint32_t(capacity);
  for (uint32_t slot = 0; slot < capacity; slot++) column->at(slot).store(kNone, std::memory_order_relaxed);
  return column;
}

}  // namespace quiver
