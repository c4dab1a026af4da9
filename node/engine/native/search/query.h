#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "rows/row_store.h"

namespace quiver {

/**
 * A query prepared for one row store: its code, and the numbers that turn code products into keys (see RowMeta).
 * Searching maximises keys; callers see scores.
 */
class Query {
 public:
  Query(const RowStore& rows, const float* vector) : Query(rows, rows.codes(), vector) {}
  // For codes of the same rows of another kind.
  Query(const RowStore& rows, const Codes& codes, const float* vector);

  const int8_t* code() const { return code_.data(); }
  // Null where the codes have no signs.
  const SignQuery* by_signs() const { return by_signs_.has_value() ? &*by_signs_ : nullptr; }

  // Approximate key of a row, from the product that Codes::dot gives for it.
  float key(int32_t product, const RowMeta& meta) const {
    const float dot = scale_ * meta.scale * float(product - offset_);
    return is_l2_ ? dot - meta.norm : dot;
  }
  /**
   * About one standard deviation of the approximate key's error, estimated high. The error of bytes and half bytes
   * comes from rounding both sides: each element has a uniform error of variance scale² / 12. That of signs is
   * tan(x, signs) × |x| × |query| / √(dim − 1) (RaBitQ). The tangent follows from the row's scale; its tangent line
   * where most rows are is never below it, so that the whole is a sum for all kinds of codes.
   */
  float deviation(const RowMeta& meta) const {
    const float row_norm = is_cosine_ ? 1 : is_l2_ ? std::sqrt(2 * meta.norm) : meta.norm;
    return std::max(0.0f, per_scale_ * meta.scale + per_norm_ * row_norm);
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
  // The score of a row with this key, and the least key of a row with this score: up to the rounding of exact ones.
  double score_of(float key) const {
    if (is_l2_) return 1 / (1 + std::sqrt(std::max(0.0, 2 * (double(half_square_) - double(key)))));
    return is_cosine_ ? std::clamp(double(key) * inverse_norm_, -1.0, 1.0) : double(key);
  }
  float key_of(double score) const {
    if (!is_l2_) return float(is_cosine_ ? score * norm_ : score);
    if (score <= 0) return -std::numeric_limits<float>::infinity();
    const double distance = std::max(0.0, 1 / score - 1);
    return float(half_square_ - distance * distance / 2);
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
  double score_in_double(size_t row) const;

  const RowStore& rows_;
  std::vector<float> vector_;
  std::vector<int8_t> code_;
  float scale_ = 0;
  int32_t offset_ = 0;
  bool is_l2_;
  bool is_cosine_;
  bool extreme_ = false;
  // Weights of the row's scale and norm in deviations.
  float per_scale_ = 0, per_norm_ = 0;
  float norm_ = 0;
  float inverse_norm_ = 0;
  float half_square_ = 0;
  std::optional<SignQuery> by_signs_;
};

}  // namespace quiver
