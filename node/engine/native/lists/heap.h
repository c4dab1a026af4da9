#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quiver {

/**
 * A thread that reads what a Heap holds, for as long as this object lives: nothing that it can see is freed meanwhile.
 * Any thread; it waits for nobody. Epochs as in Fraser, "Practical lock-freedom" (2004).
 */
class Reading {
 public:
  Reading();
  ~Reading();
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  // False if too many threads are reading; then nothing may be read.
  bool admitted() const { return seat_ != nullptr; }

 private:
  std::atomic<uint64_t>* seat_;
};

/**
 * Memory that one thread writes and any number of threads read without locks. The writer takes a block out of all
 * readers' reach (by a store to the atomic pointer that led to it) before it retires the block. Pointers between blocks
 * are stored and loaded with sequential consistency, on which Reading relies. Writer's thread only.
 */
class Heap {
 public:
  Heap() = default;
  // No reader may be left.
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Zeroed. Throws std::bad_alloc.
  void* allocate(size_t bytes);
  // Frees a block at once: no reader has ever seen it, or none is left.
  void release(void* block, size_t bytes);
  // Frees a block, or calls `destroy` for it, when no reader can hold it any more.
  void retire(void* block, size_t bytes);
  void retire(void* object, void (*destroy)(void*));
  // Frees what can be freed, unless that is hardly worth the look at the readers.
  void collect();

  // Bytes of all blocks, with what the allocator adds to each.
  size_t bytes() const { return bytes_; }

 private:
  struct Retired {
    void* block;
    size_t bytes;
    void (*destroy)(void*);
    uint64_t epoch;
  };

  void free_now(const Retired& retired);

  size_t bytes_ = 0;
  size_t retired_bytes_ = 0;
  // In the order of their epochs.
  std::vector<Retired> retired_;
};

}  // namespace quiver
