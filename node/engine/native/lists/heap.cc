#include "heap.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

namespace quiver {

namespace {

// Threads that may read at the same time: front threads are at most 16, and each reads one thing at a time.
constexpr size_t kSeats = 64;
// Retired memory that may wait, so that a writer looks at the seats once for many blocks.
constexpr size_t kRetiredBytes = size_t(64) << 10;
// What the allocator keeps beside a block.
constexpr size_t kBlockOverhead = 8;

// Each on a cache line of its own.
struct alignas(64) Seat {
  // The epoch in which its reader began; 0: free.
  std::atomic<uint64_t> epoch{0};
};

// Of the whole process. Trivially destroyed, because a thread may still be reading while the process ends.
Seat seats[kSeats];
std::atomic<uint64_t> now{1};
// Above every seat ever taken.
std::atomic<size_t> seats_used{0};

}  // namespace

Reading::Reading() : seat_(nullptr) {
  const uint64_t epoch = now.load();
  for (size_t i = 0; i < kSeats; i++) {
    uint64_t free = 0;
    if (seats[i].epoch.load(std::memory_order_relaxed) != 0) continue;
    // Counted first, so that whoever does not count this seat has unlinked what he frees before its reader begins.
    size_t used = seats_used.load();
    while (used <= i && !seats_used.compare_exchange_weak(used, i + 1)) {
    }
    if (!seats[i].epoch.compare_exchange_strong(free, epoch)) continue;
    seat_ = &seats[i].epoch;
    return;
  }
}

Reading::~Reading() {
  if (seat_ != nullptr) seat_->store(0);
}

Heap::~Heap() {
  // Destroying an object may release further blocks, but retires none.
  for (const Retired& retired : retired_) free_now(retired);
}

void* Heap::allocate(size_t bytes) {
  void* block = std::calloc(1, bytes);
  if (block == nullptr) throw std::bad_alloc();
  bytes_ += bytes + kBlockOverhead;
  return block;
}

void Heap::release(void* block, size_t bytes) {
  if (block == nullptr) return;
  bytes_ -= bytes + kBlockOverhead;
  std::free(block);
}

void Heap::retire(void* block, size_t bytes) {
  if (block == nullptr) return;
  retired_.push_back({block, bytes, nullptr, now.load()});
  retired_bytes_ += bytes;
}

void Heap::retire(void* object, void (*destroy)(void*)) {
  retired_.push_back({object, 0, destroy, now.load()});
  // Objects are few, and their size is not known here.
  retired_bytes_ += kRetiredBytes;
}

void Heap::collect() {
  if (retired_bytes_ < kRetiredBytes) return;
  // Whoever holds a retired block began in the epoch in which it was retired, or before.
  now.fetch_add(1);
  uint64_t oldest = std::numeric_limits<uint64_t>::max();
  for (size_t i = 0, used = seats_used.load(); i < used; i++) {
    const uint64_t epoch = seats[i].epoch.load();
    if (epoch != 0) oldest = std::min(oldest, epoch);
  }
  size_t freed = 0;
  while (freed < retired_.size() && retired_[freed].epoch < oldest) free_now(retired_[freed++]);
  retired_.erase(retired_.begin(), retired_.begin() + ptrdiff_t(freed));
  retired_bytes_ = 0;
  // What is left waits for the next round, which comes after as much again.
}

void Heap::free_now(const Retired& retired) {
  if (retired.destroy != nullptr) retired.destroy(retired.block);
  else release(retired.block, retired.bytes);
}

}  // namespace quiver
