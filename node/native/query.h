#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "row_store.h"

namespace quiver {

/**
 * A query prepared for one row store: its code, and the numbers that turn code products into keys (see RowMeta).
 * Searching maximises keys; callers see scores.
 */
class Query {
 public:
  Query(const RowStore& rows, const float* vector);

  const int8_t* code() const { return code_.data(); }

  // Approximate key of a row, from the product that Kernels::dot_codes gives for it.
  float key(int32_t product, const RowMeta& meta) const {
    const float dot = scale_ * meta.scale * float(product - offset_);
    return is_l2_ ? dot - meta.norm : dot;
  }
  /**
   * About one standard deviation of the approximate key's error, estimated high. The error comes from rounding both
   * sides to codes: each element has a uniform error of variance scale² / 12.
   */
  float deviation(const RowMeta& meta) const {
    const float row_norm = is_cosine_ ? 1 : is_l2_ ? std::sqrt(2 * meta.norm) : meta.norm;
    return kInverseSqrt12 * (meta.scale * norm_ + scale_ * row_norm);
  }
  /**
   * The key of a row at no distance, so that keys become distances: d² = 2 (zero_distance_key − key). Of vectors under
   * cosine that is the distance of the normalised row, in units of the query's norm. ip has none, and takes that of
   * vectors that get another dimension, so that all have the same norm, `largest_norm` (Neyshabur & Srebro,
   * arXiv:1410.5518): keys go with it in the same way.
   */
  float zero_distance_key(float largest_norm) const {
    return is_l2_ ? half_square_ : is_cosine_ ? norm_ : norm_ * largest_norm;
  }
  struct Exact {
    // Normally float32 arithmetic; double if that would overflow or vanish.
    double score;
    float key;
  };
  Exact exact(size_t row) const;
  // Whether codes can't rank rows for this query.
  bool needs_exact_scan() const { return extreme_; }

 private:
  static constexpr float kInverseSqrt12 = 0.28867513f;

  double score_in_double(size_t row) const;

  const RowStore& rows_;
  std::vector<float> vector_;
  std::vector<int8_t> code_;
  float scale_ = 0;
  int32_t offset_ = 0;
  bool is_l2_;
  bool is_cosine_;
  bool extreme_ = false;
  float norm_ = 0;
  float inverse_norm_ = 0;
  float half_square_ = 0;
};

}  // namespace quiver
