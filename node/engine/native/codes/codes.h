#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rows/block_array.h"
#include "kernels.h"
#include "quantization.h"
#include "rotation.h"
#include "signs.h"

namespace quiver {

/**
 * What turns a row's code product into its approximate key. All searching maximises the key: the dot product with the
 * normalised vector (cosine), the dot product (ip), or the dot product less half the square norm (l2).
 */
struct RowMeta {
  // What a product with the row's signed code is multiplied by. kInt8: the vector is about scale × code. Otherwise
  // |x|² / ⟨code, x⟩, which makes the product right on average (RaBitQ's estimator). For cosine: of the normalised vector.
  float scale;
  /// cosine: 1 / norm, 0 for a zero vector; ip: the norm; l2: half the square norm.
  float norm;
};

/**
 * The codes of rows, by which these are compared with queries. Grows in blocks that never move: one thread writes a
 * row, others read it once it was published to them.
 */
class Codes {
 public:
  // `with_signs`: rows get signs, too.
  Codes(Metric metric, Quantization quantization, size_t dim, const Kernels& kernels, bool with_signs = false);

  const Metric metric;
  const Quantization quantization;
  const size_t dim;
  // Length of a query's code: dim rounded up to kCodePadding.
  const size_t padded;
  // Bytes of a row's code.
  const size_t bytes;
  const Kernels& kernels;
  // out[i] = Σ (signed code of row i)[j] · query[j], plus offset · Σ query: what kernels.h says of this kind of code.
  const DotCodes dot;
  const int32_t offset;

  // Makes rows 0 … rows − 1 addressable. Throws std::bad_alloc.
  void reserve(size_t rows);
  // Writes the code of a row. Answers whether float32 sums over the vector may overflow or vanish.
  bool encode(size_t row, const float* vector);

  const uint8_t* code(size_t row) const { return codes_.at(row); }
  const RowMeta& meta(size_t row) const { return meta_[row]; }
  // kInt8: Σ of the row's signed codes; needed if both sides are stored rows.
  int32_t code_sum(size_t row) const { return code_sums_[row]; }
  // By which walks leave out rows before they compare codes; null where there are none.
  const Signs* signs() const { return signs_.has_value() ? &*signs_ : nullptr; }
  // By which vectors and queries are rotated before they become codes; null for kInt8.
  const Rotation* rotation() const { return rotation_.has_value() ? &*rotation_ : nullptr; }
  // Of so many rows.
  size_t memory_bytes(size_t rows) const;
  // Takes into a file what holds rows below `rows` alone. As BlockArray::spill.
  void spill(size_t rows, SpillFile& file) {
    codes_.spill(rows, file);
    meta_.spill(rows, file);
    if (quantization == Quantization::kInt8) code_sums_.spill(rows, file);
  }
  void spill_all(SpillFile& file) {
    codes_.spill(codes_.capacity(), file);
    meta_.spill(meta_.capacity(), file);
    if (quantization == Quantization::kInt8) code_sums_.spill(code_sums_.capacity(), file);
  }
  // Rows whose codes are in a file: the first ones.
  size_t spilled() const { return codes_.spilled(); }
  // log2 of the rows per block of memory.
  unsigned shift() const { return shift_; }

 private:
  float encode_bytes(const float* vector, float largest, bool extreme, uint8_t* code, int32_t& sum) const;
  float encode_rotated(const float* vector, float largest, bool extreme, double norm, uint8_t* code) const;

  std::optional<Rotation> rotation_;
  unsigned shift_;
  BlockArray codes_;
  Table<RowMeta> meta_;
  Table<int32_t> code_sums_;
  std::optional<Signs> signs_;
};

// Whether float32 arithmetic over a vector whose largest component is this may overflow or vanish.
bool out_of_range(float magnitude);

}  // namespace quiver
