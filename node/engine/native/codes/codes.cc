#include "codes.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace quiver {

namespace {

// Magnitudes between these keep squares, and sums of up to 16,384 products, well within the range of float32.
constexpr float kLargest = 1e15f;
constexpr float kSmallest = 1e-15f;
// The largest signed code of half a byte.
constexpr int kNibbleMax = 7;

// At most 64 Ki rows, and no block above 64 MiB, whatever the quantization: blocks of originals go by it, too.
unsigned shift_for(size_t padded) {
  unsigned shift = 16;
  while (shift > 10 && (padded << shift) > (size_t(64) << 20)) shift--;
  return shift;
}

size_t bytes_for(Quantization quantization, size_t padded) {
  return quantization == Quantization::kInt8 ? padded : quantization == Quantization::kInt4 ? padded / 2 : padded / 8;
}

DotCodes dot_of(Quantization quantization, const Kernels& kernels) {
  return quantization == Quantization::kInt8   ? kernels.dot_codes
         : quantization == Quantization::kInt4 ? kernels.dot_nibbles
                                               : kernels.dot_bits;
}

int32_t offset_of(Quantization quantization) {
  return quantization == Quantization::kInt8 ? 128 : quantization == Quantization::kInt4 ? 8 : 1;
}

// What encoding a rotated vector needs, per thread.
struct Scratch {
  std::vector<float> rotated, floats;
  std::vector<uint8_t> bytes;
};

}  // namespace

bool out_of_range(float magnitude) { return magnitude != 0 && !(magnitude >= kSmallest && magnitude <= kLargest); }

Codes::Codes(Metric metric, Quantization quantization, size_t dim, const Kernels& kernels, bool with_signs)
    : metric(metric),
      quantization(quantization),
      dim(dim),
      padded(padded_dim(dim)),
      bytes(bytes_for(quantization, padded)),
      kernels(kernels),
      dot(dot_of(quantization, kernels)),
      offset(offset_of(quantization)),
      shift_(shift_for(padded)),
      codes_(bytes, shift_) {
  if (quantization != Quantization::kInt8) rotation_.emplace(dim, kernels);
  if (with_signs) signs_.emplace(metric, dim, padded, kernels, shift_);
}

void Codes::reserve(size_t rows) {
  codes_.reserve(rows);
  meta_.reserve(rows);
  if (quantization == Quantization::kInt8) code_sums_.reserve(rows);
  if (signs_.has_value()) signs_->reserve(rows);
}

bool Codes::encode(size_t row, const float* vector) {
  uint8_t* code = codes_.at(row);
  const float largest = kernels.max_abs(vector, dim);
  const bool extreme = out_of_range(largest);
  double square = 0;
  if (!extreme && largest != 0) {
    square = kernels.dot(vector, vector, dim);
  } else if (extreme) {
    for (size_t j = 0; j < dim; j++) square += double(vector[j]) * vector[j];
  }
  const double norm = std::sqrt(square);
  float scale;
  if (quantization == Quantization::kInt8) {
    int32_t sum = 0;
    scale = encode_bytes(vector, largest, extreme, code, sum);
    if (metric == Metric::kCosine) scale = largest == 0 ? 0 : float(largest / norm / 127);
    code_sums_[row] = sum;
  } else {
    scale = encode_rotated(vector, largest, extreme, norm, code);
  }
  RowMeta& m = meta_[row];
  m.scale = scale;
  if (metric == Metric::kCosine) {
    // Codes of normalised vectors rank well at any length; for exact scores, RowStore::is_extreme decides.
    m.norm = largest == 0 ? 0 : float(std::min(1 / norm, 1e38));
  } else {
    m.norm = float(std::min(metric == Metric::kIp ? norm : square / 2, 1e38));
  }
  if (signs_.has_value()) signs_->encode(row, vector, norm, !extreme);
  return extreme;
}

float Codes::encode_bytes(const float* vector, float largest, bool extreme, uint8_t* code, int32_t& sum) const {
  if (largest == 0) {
    std::memset(code, 128, dim);
  } else if (!extreme) {
    sum = kernels.quantise(vector, dim, 127 / largest, code);
  } else {
    for (size_t j = 0; j < dim; j++) {
      const int32_t signed_code = int32_t(std::lrint(vector[j] * (127 / double(largest))));
      sum += signed_code;
      code[j] = uint8_t(signed_code + 128);
    }
  }
  std::memset(code + dim, 128, padded - dim);
  return largest / 127;
}

// The scale of the row; for cosine that of the normalised vector.
float Codes::encode_rotated(const float* vector, float largest, bool extreme, double norm, uint8_t* code) const {
  thread_local Scratch scratch;
  scratch.rotated.resize(padded);
  scratch.floats.resize(padded);
  scratch.bytes.resize(padded);
  float* rotated = scratch.rotated.data();
  float* floats = scratch.floats.data();
  // Behind `dim`, codes are met by queries of 0.
  std::fill(rotated + dim, rotated + padded, 0.0f);
  std::memset(code, 0, bytes);
  if (largest == 0) return 0;
  // Only directions matter from here to the scale, so that vectors of any length can be rotated in float32.
  const double unit = extreme ? largest : 1;
  for (size_t j = 0; j < dim; j++) rotated[j] = extreme ? float(vector[j] / unit) : vector[j];
  rotation_->apply(rotated);
  // Of the code and the vector.
  double product;
  if (quantization == Quantization::kInt4) {
    uint8_t* offset_codes = scratch.bytes.data();
    const float rotated_max = kernels.max_abs(rotated, dim);
    kernels.quantise(rotated, dim, float(kNibbleMax) / rotated_max, offset_codes);
    for (size_t j = 0; j < dim; j++) floats[j] = float(int(offset_codes[j]) - 128);
    product = kernels.dot(floats, rotated, dim);
    std::memset(offset_codes + dim, 128, padded - dim);
    // Blocks of 64 dimensions: the first 32 of them are in the low halves of 32 bytes, the others in the high ones.
    for (size_t j = 0; j < padded; j += 64) {
      for (size_t i = 0; i < 32; i++) {
        code[j / 2 + i] = uint8_t((offset_codes[j + i] - 120) | (offset_codes[j + 32 + i] - 120) << 4);
      }
    }
  } else {
    product = kernels.take_signs(rotated, dim, padded, code);
  }
  const double length = norm / unit;
  const double scale = length * length / product;
  return float(metric == Metric::kCosine ? scale / length : scale * unit);
}

size_t Codes::memory_bytes(size_t rows) const {
  const size_t signs = signs_.has_value() ? signs_->bytes() : 0;
  return rows * (bytes + sizeof(RowMeta) + (quantization == Quantization::kInt8 ? sizeof(int32_t) : 0) + signs);
}

}  // namespace quiver
