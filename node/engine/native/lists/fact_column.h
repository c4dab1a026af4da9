#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "heap.h"

namespace quiver {

/**
 * Something that is known of each value of a dictionary, by id, from when it is first asked for. A `Fact` is one or two
 * words of 64 bits; `Fact::unknown()` says of a value that it has to be looked at. One writer; `facts` and what it
 * answers for any thread, as for a Posting.
 */
template <class Fact>
class FactColumn {
 public:
  class Block {
   public:
    // Ids below have a fact.
    uint32_t covered() const { return covered_.load(std::memory_order_acquire); }
    Fact at(uint32_t id) const {
      uint64_t words[kWords];
      for (size_t i = 0; i < kWords; i++) words[i] = word(id, i).load(std::memory_order_relaxed);
      Fact fact;
      std::memcpy(static_cast<void*>(&fact), words, sizeof fact);
      return fact;
    }

   private:
    friend class FactColumn;
    void set(uint32_t id, const Fact& fact) {
      uint64_t words[kWords];
      std::memcpy(words, &fact, sizeof fact);
      for (size_t i = 0; i < kWords; i++) word(id, i).store(words[i], std::memory_order_relaxed);
    }
    std::atomic<uint64_t>& word(uint32_t id, size_t i) const {
      return reinterpret_cast<std::atomic<uint64_t>*>(const_cast<Block*>(this) + 1)[size_t(id) * kWords + i];
    }
    static size_t bytes(uint32_t capacity) { return sizeof(Block) + size_t(capacity) * kWords * sizeof(uint64_t); }

    uint32_t capacity_;
    std::atomic<uint32_t> covered_;
  };

  explicit FactColumn(Heap& heap) : heap_(heap) {}
  // When no reader is left.
  ~FactColumn() {
    Block* block = block_.load(std::memory_order_relaxed);
    if (block != nullptr) heap_.release(block, Block::bytes(block->capacity_));
  }
  FactColumn(const FactColumn&) = delete;
  FactColumn& operator=(const FactColumn&) = delete;

  // Null before the first `make_some`.
  const Block* facts() const { return block_.load(); }

  // The id is given to another value.
  void forget(uint32_t id) {
    Block* block = block_.load(std::memory_order_relaxed);
    if (block == nullptr || id >= block->covered_.load(std::memory_order_relaxed)) return;
    block->set(id, Fact::unknown());
    forgotten_.push_back(id);
  }

  // Makes up to so many more facts of ids below `limit`, by `make(id)`. Answers how many are still to be made.
  template <class Make>
  uint32_t make_some(uint32_t limit, uint32_t count, const Make& make) {
    Block* block = block_.load(std::memory_order_relaxed);
    if (block == nullptr ||
        (block->capacity_ < limit && block->covered_.load(std::memory_order_relaxed) == block->capacity_))
      block = grow(block, limit);
    for (; count > 0 && !forgotten_.empty(); count--) {
      block->set(forgotten_.back(), make(forgotten_.back()));
      forgotten_.pop_back();
    }
    const uint32_t end = std::min(limit, block->capacity_);
    uint32_t id = block->covered_.load(std::memory_order_relaxed);
    for (; count > 0 && id < end; count--, id++) {
      block->set(id, make(id));
      block->covered_.store(id + 1, std::memory_order_release);
    }
    return limit - std::min(limit, id) + uint32_t(forgotten_.size());
  }

 private:
  static constexpr size_t kWords = sizeof(Fact) / sizeof(uint64_t);

  Block* grow(Block* before, uint32_t limit) {
    const uint32_t capacity = limit + limit / 4;
    Block* grown = static_cast<Block*>(heap_.allocate(Block::bytes(capacity)));
    grown->capacity_ = capacity;
    if (before != nullptr) {
      const uint32_t covered = before->covered_.load(std::memory_order_relaxed);
      for (uint32_t id = 0; id < covered; id++) grown->set(id, before->at(id));
      grown->covered_.store(covered, std::memory_order_relaxed);
    }
    block_.store(grown);
    if (before != nullptr) heap_.retire(before, Block::bytes(before->capacity_));
    return grown;
  }

  Heap& heap_;
  std::atomic<Block*> block_{nullptr};
  // Ids that were given again since they had a fact.
  std::vector<uint32_t> forgotten_;
};

}  // namespace quiver
