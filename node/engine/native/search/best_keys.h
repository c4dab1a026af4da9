#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace quiver {

/// The k best keys seen: how good a row has to be.
class BestKeys {
 public:
  explicit BestKeys(size_t k) : k_(k) {}

  void add(float key) {
    if (keys_.size() == k_ && key <= keys_.front()) return;
    if (keys_.size() == k_) {
      std::pop_heap(keys_.begin(), keys_.end(), std::greater<float>());
      keys_.pop_back();
    }
    keys_.push_back(key);
    std::push_heap(keys_.begin(), keys_.end(), std::greater<float>());
  }
  bool full() const { return keys_.size() == k_; }
  float last() const { return keys_.front(); }

 private:
  const size_t k_;
  std::vector<float> keys_;
};

}  // namespace quiver
