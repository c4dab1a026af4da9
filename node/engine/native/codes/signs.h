#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rows/block_array.h"
#include "kernels.h"
#include "quantization.h"
#include "rotation.h"

namespace quiver {

/**
 * A second, rough code of rows: the signs of the rotated vector, and what bounds the row's key by them (RaBitQ,
 * arXiv:2405.12497). A walk compares a query with many rows, and most of them are farther away than all it looks for.
 * Their signs tell that from one or two cache lines, where the codes would take one for each 64 dimensions. Grows as
 * Codes do.
 */
class Signs {
 public:
  // What a record begins with; the signs follow.
  struct Bound {
    // |x|² / ⟨signs, x⟩, for cosine of the normalised vector: what the product of the signs with a query is multiplied by.
    float scale;
    // About one standard deviation of the key's error for a query of length 1.
    float error;
    // What is taken from the key. l2: half the square norm; else 0.
    float less;
  };

  // Whether signs spare enough cache lines to be worth their memory.
  static bool pay(size_t padded) { return padded >= kLeastPadded; }

  // `shift` as for BlockArray.
  Signs(Metric metric, size_t dim, size_t padded, const Kernels& kernels, unsigned shift);

  void reserve(size_t rows) { records_.reserve(rows); }
  // Of a vector of this length. `sound`: sums over it in float32 neither overflow nor vanish.
  void encode(size_t row, const float* vector, double norm, bool sound);

  const Bound& bound(size_t row) const { return *reinterpret_cast<const Bound*>(records_.at(row)); }
  // Of padded / 8 bytes, in the cache lines of the bound.
  const uint8_t* of(size_t row) const { return records_.at(row) + sizeof(Bound); }
  const Rotation& rotation() const { return rotation_; }
  // Bytes of a row's record.
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kLeastPadded = 256;
  // Of records, so that the bound is in the first cache line of the signs.
  static constexpr size_t kAlignment = 16;

  const Metric metric_;
  const size_t dim_, padded_, bytes_;
  const Kernels& kernels_;
  const Rotation rotation_;
  BlockArray records_;
};

/// A query that rows' signs are compared with.
class SignQuery {
 public:
  // `norm`: the length of the vector. It may have no length, and is otherwise sound (Signs::encode).
  SignQuery(const Signs& signs, const Kernels& kernels, const float* vector, size_t dim, size_t padded, float norm);

  const int8_t* code() const { return code_.data(); }
  /// The largest key that is likely for a row, from the product of its signs with `code()` (Kernels::dot_bits).
  float highest(int32_t product, const Signs::Bound& bound) const {
    return scale_ * bound.scale * float(product - offset_) + slack_ * bound.error - bound.less;
  }

 private:
  std::vector<int8_t> code_;
  float scale_ = 0;
  int32_t offset_ = 0;
  float slack_;
};

}  // namespace quiver
