#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "files/spill_file.h"

namespace quiver {

// Rows and slots stay below this, so that 32-bit numbers have two bits left for marks.
constexpr size_t kItemLimit = size_t(1) << 30;

struct FreeTable {
  void operator()(uint8_t** p) const { std::free(p); }
  void operator()(const uint8_t** p) const { std::free(p); }
};

/**
 * Anonymous memory on whole pages, zeroed, and given back at the end. On huge pages if the system grants them, because
 * the walk reads it at random and would otherwise miss the TLB on every row. The first 2 MiB stay on small pages, so
 * that a small collection does not take a huge page per table. Throws std::bad_alloc.
 */
class Pages {
 public:
  explicit Pages(size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  uint8_t* data() const { return data_; }

 private:
  uint8_t* data_;
  size_t bytes_;
};

/**
 * An array of items of `stride` bytes that grows in blocks and never moves. One writer appends while readers read items
 * that were published to them before. New items are zero.
 */
class BlockArray {
 public:
  /// `shift`: log2 of the items per block.
  BlockArray(size_t stride, unsigned shift);

  // Makes items 0 … count − 1 addressable; on the writer's thread only. Throws std::bad_alloc.
  void reserve(size_t count);

  uint8_t* at(size_t i) const { return table_[i >> shift_] + (i & mask_) * stride_; }
  size_t capacity() const { return blocks_.size() << shift_; }
  // Takes into a file the blocks whose items are all below `count`, or all blocks if it is their capacity: nothing is
  // written to them any more. On the writer's thread; on StorageError the rest stays in memory.
  void spill(size_t count, SpillFile& file);
  // Items in blocks that are in a file.
  size_t spilled() const { return spilled_ << shift_; }

 private:
  size_t block_bytes() const;

  size_t stride_;
  unsigned shift_;
  size_t mask_;
  // Base address per block. Sized for kItemLimit items from the start, so it never moves either. From calloc, which
  // leaves the pages of unused entries untouched.
  std::unique_ptr<uint8_t*[], FreeTable> table_;
  std::vector<Pages> blocks_;
  // Blocks that are in a file: the first ones.
  size_t spilled_ = 0;
};

/// A BlockArray of plain values.
template <class T>
class Table {
 public:
  explicit Table(unsigned shift = 16) : array_(sizeof(T), shift) {}
  void reserve(size_t count) { array_.reserve(count); }
  size_t capacity() const { return array_.capacity(); }
  void spill(size_t count, SpillFile& file) { array_.spill(count, file); }
  T& operator[](size_t i) const { return *reinterpret_cast<T*>(array_.at(i)); }

 private:
  BlockArray array_;
};

}  // namespace quiver
