#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <mutex>

#include "best_keys.h"

namespace quiver {

/// The best keys that the searches of several stores have met so far: what each of them has to reach. Any thread.
class SharedBest {
 public:
  explicit SharedBest(size_t wanted) : wanted_(wanted), best_(wanted) {}

  size_t wanted() const { return wanted_; }
  // The last of as many as are wanted; minus infinity before there are as many. It only rises.
  float last() const { return last_.load(std::memory_order_relaxed); }
  void add(const float* keys, size_t count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < count; i++) best_.add(keys[i]);
    if (best_.full()) last_.store(best_.last(), std::memory_order_relaxed);
  }

 private:
  const size_t wanted_;
  std::mutex mutex_;
  BestKeys best_;
  std::atomic<float> last_{-std::numeric_limits<float>::infinity()};
};

}  // namespace quiver
