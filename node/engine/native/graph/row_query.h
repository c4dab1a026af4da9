#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codes/codes.h"

namespace quiver {

/// A stored row as the query of a walk over int8 codes.
class RowQuery {
 public:
  explicit RowQuery(const Codes& codes) : codes_(codes), code_(codes.padded) {}

  void set(uint32_t row);
  const int8_t* code() const { return code_.data(); }
  // Rows have signs for queries from outside alone.
  const SignQuery* by_signs() const { return nullptr; }
  // The negative distance: of cosines or products the product itself, of l2 half the square distance.
  float key(int32_t product, const RowMeta& meta) const {
    const float dot = meta_.scale * meta.scale * float(product - offset_);
    return codes_.metric == Metric::kL2 ? dot - meta.norm - meta_.norm : dot;
  }

 private:
  const Codes& codes_;
  std::vector<int8_t> code_;
  int32_t offset_ = 0;
  RowMeta meta_{};
};

}  // namespace quiver
