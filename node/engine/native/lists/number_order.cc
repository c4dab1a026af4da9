#include "number_order.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace quiver {

namespace {

// Slots of a block: what lies at the ends of a range is looked at one by one, and what is put or removed looks through
// a block.
constexpr size_t kBlockSlots = 512;
// With more blocks than this, they become larger, because a directory is copied for each that is divided.
constexpr size_t kBlocks = 8'192;
constexpr size_t kBlockSlotsMax = 8'192;
// Of a new block; how much one grows at a time.
constexpr size_t kFirstSlots = 16;
constexpr double kGrowth = 1.125;
// A block with fewer slots than one in this many of its room is copied.
constexpr size_t kSpareShare = 4;

}  // namespace

NumberOrder::NumberOrder(Heap& heap) : heap_(heap), directory_(nullptr) {
  Directory* directory = static_cast<Directory*>(heap_.allocate(Directory::bytes(1)));
  directory->count = 1;
  directory->entry(0).low = -std::numeric_limits<double>::infinity();
  directory->entry(0).block.store(new_block(kFirstSlots));
  directory_.store(directory);
}

NumberOrder::~NumberOrder() {
  Directory* directory = directory_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < directory->count; i++) {
    Block* block = directory->entry(i).block.load(std::memory_order_relaxed);
    heap_.release(block, Block::bytes(block->capacity));
  }
  heap_.release(directory, Directory::bytes(directory->count));
}

NumberOrder::Range NumberOrder::range(const Interval& interval) const {
  Range range;
  range.interval_ = interval;
  const Directory* directory = range.directory_ = directory_.load();
  if (!(interval.low <= interval.high)) return range;
  uint32_t from = 0, to = directory->count;
  while (from < to) {
    const uint32_t middle = (from + to) / 2;
    if (directory->entry(middle).low < interval.low) from = middle + 1;
    else to = middle;
  }
  range.first_ = range.end_ = from == 0 ? 0 : from - 1;
  for (to = directory->count; range.end_ < to && directory->entry(range.end_).low <= interval.high; range.end_++) {
    const size_t size = directory->entry(range.end_).size.load(std::memory_order_acquire);
    range.at_most_ += size;
    if (range.is_inside(range.end_)) range.inside_ += size;
  }
  return range;
}

void NumberOrder::add(const NumberColumn& column, uint32_t slot) {
  const double number = column.at(slot).load(std::memory_order_relaxed);
  uint32_t place = place_of(*directory_.load(std::memory_order_relaxed), number, slot);
  if (directory_.load(std::memory_order_relaxed)->entry(place).size.load(std::memory_order_relaxed) >= block_max()) {
    divide(column, place, slot);
    place = place_of(*directory_.load(std::memory_order_relaxed), number, slot);
  }
  Entry& entry = directory_.load(std::memory_order_relaxed)->entry(place);
  const uint32_t size = entry.size.load(std::memory_order_relaxed);
  const size_t capacity = entry.block.load(std::memory_order_relaxed)->capacity;
  if (size == capacity) resize(entry, std::max(size_t(double(capacity) * kGrowth), capacity + kFirstSlots));
  entry.block.load(std::memory_order_relaxed)->slot(size).store(slot, std::memory_order_relaxed);
  entry.size.store(size + 1, std::memory_order_release);
  count_++;
}

void NumberOrder::remove(double number, uint32_t slot) {
  const Directory& directory = *directory_.load(std::memory_order_relaxed);
  const uint32_t place = place_of(directory, number, slot);
  Entry& entry = directory.entry(place);
  const Block& block = *entry.block.load(std::memory_order_relaxed);
  const uint32_t size = entry.size.load(std::memory_order_relaxed);
  uint32_t at = 0;
  while (at < size && block.slot(at).load(std::memory_order_relaxed) != slot) at++;
  if (at == size) return;
  // Readers may miss the last one for this: they are told that something was removed.
  block.slot(at).store(block.slot(size - 1).load(std::memory_order_relaxed), std::memory_order_relaxed);
  entry.size.store(size - 1, std::memory_order_release);
  count_--;
  if (size == 1 && directory.count > 1) {
    Block* gone = entry.block.load(std::memory_order_relaxed);
    Directory* without = copied(place, -1);
    without->entry(0).low = -std::numeric_limits<double>::infinity();
    without->entry(0).low_slot = 0;
    replace(without);
    drop(gone, Block::bytes(gone->capacity));
  } else if (block.capacity > kFirstSlots && size_t(size) * kSpareShare < block.capacity) {
    resize(entry, std::max(kFirstSlots, size_t(size) * 2));
  }
}

uint32_t NumberOrder::place_of(const Directory& directory, double number, uint32_t slot) {
  uint32_t from = 1, to = directory.count;
  while (from < to) {
    const uint32_t middle = (from + to) / 2;
    if (directory.entry(middle).is_after(number, slot)) to = middle;
    else from = middle + 1;
  }
  return from - 1;
}

NumberOrder::Block* NumberOrder::new_block(size_t capacity) {
  Block* block = static_cast<Block*>(heap_.allocate(Block::bytes(capacity)));
  block->capacity = uint32_t(capacity);
  return block;
}

void NumberOrder::drop(void* block, size_t bytes) {
  if (is_seen_) heap_.retire(block, bytes);
  else heap_.release(block, bytes);
}

void NumberOrder::resize(Entry& entry, size_t capacity) {
  Block* before = entry.block.load(std::memory_order_relaxed);
  Block* block = new_block(capacity);
  const uint32_t size = entry.size.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < size; i++)
    block->slot(i).store(before->slot(i).load(std::memory_order_relaxed), std::memory_order_relaxed);
  entry.block.store(block);
  drop(before, Block::bytes(before->capacity));
}

// Makes room for a slot in a block that is full.
void NumberOrder::divide(const NumberColumn& column, uint32_t place, uint32_t slot) {
  using Pair = std::pair<double, uint32_t>;
  const Directory& directory = *directory_.load(std::memory_order_relaxed);
  const Entry& entry = directory.entry(place);
  const Pair added{column.at(slot).load(std::memory_order_relaxed), slot};
  Block* before = entry.block.load(std::memory_order_relaxed);
  std::vector<Pair> pairs(entry.size.load(std::memory_order_relaxed));
  for (uint32_t i = 0; i < pairs.size(); i++) {
    const uint32_t own = before->slot(i).load(std::memory_order_relaxed);
    pairs[i] = {column.at(own).load(std::memory_order_relaxed), own};
  }
  // What rises, as times do, leaves blocks that stay full.
  const bool rises = place + 1 == directory.count &&
                     std::all_of(pairs.begin(), pairs.end(), [&](const Pair& pair) { return pair < added; });
  const auto middle = rises ? pairs.end() : pairs.begin() + ptrdiff_t(pairs.size() / 2);
  std::nth_element(pairs.begin(), middle, pairs.end());
  const Pair low = rises ? added : *middle;
  Directory* with = copied(place + 1, 1);
  with->entry(place + 1).low = low.first;
  with->entry(place + 1).low_slot = low.second;
  const auto fill = [&](Entry& half, auto from, auto end) {
    // As many as there are, so that what is divided takes no more room; it grows when one comes.
    Block* block = new_block(std::max(kFirstSlots, size_t(end - from)));
    for (uint32_t i = 0; from != end; i++, from++) block->slot(i).store(from->second, std::memory_order_relaxed);
    half.block.store(block, std::memory_order_relaxed);
  };
  fill(with->entry(place + 1), middle, pairs.end());
  with->entry(place + 1).size.store(uint32_t(pairs.end() - middle), std::memory_order_relaxed);
  if (!rises) {
    fill(with->entry(place), pairs.begin(), middle);
    with->entry(place).size.store(uint32_t(middle - pairs.begin()), std::memory_order_relaxed);
  }
  replace(with);
  if (!rises) drop(before, Block::bytes(before->capacity));
}

NumberOrder::Directory* NumberOrder::copied(uint32_t place, int added) {
  const Directory& before = *directory_.load(std::memory_order_relaxed);
  const uint32_t count = uint32_t(int64_t(before.count) + added);
  Directory* directory = static_cast<Directory*>(heap_.allocate(Directory::bytes(count)));
  directory->count = count;
  const auto copy = [&](uint32_t from, uint32_t to) {
    const Entry& own = before.entry(from);
    Entry& other = directory->entry(to);
    other.low = own.low;
    other.low_slot = own.low_slot;
    other.size.store(own.size.load(std::memory_order_relaxed), std::memory_order_relaxed);
    other.block.store(own.block.load(std::memory_order_relaxed), std::memory_order_relaxed);
  };
  for (uint32_t i = 0; i < place; i++) copy(i, i);
  for (uint32_t i = added < 0 ? place + 1 : place; i < before.count; i++) copy(i, uint32_t(int64_t(i) + added));
  return directory;
}

void NumberOrder::replace(Directory* directory) {
  Directory* before = directory_.load(std::memory_order_relaxed);
  directory_.store(directory);
  drop(before, Directory::bytes(before->count));
}

size_t NumberOrder::block_max() const { return std::clamp(count_ / kBlocks, kBlockSlots, kBlockSlotsMax); }

}  // namespace quiver
