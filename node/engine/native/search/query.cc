#include "query.h"

#include <algorithm>

namespace quiver {

namespace {

constexpr float kLargest = 1e15f;
constexpr float kSmallest = 1e-15f;
constexpr float kInverseSqrt12 = 0.28867513f;
// Signs of a vector whose components are normally distributed have the cosine √(2 / π) with it. The tangent of u = 1 /
// cos there, √(u² − 1), and its slope u / tan.
constexpr float kUsualInverseCosine = 1.2533141f, kUsualTangent = 0.7555106f;
constexpr float kSlope = kUsualInverseCosine / kUsualTangent;
// By how much more the error of signs is estimated: it is nearly normal, and has no bound that its deviation would
// exceed.
constexpr float kHigh = 4.0f / 3;

}  // namespace

Query::Query(const RowStore& rows, const Codes& codes, const float* vector)
    : rows_(rows),
      vector_(vector, vector + rows.dim),
      code_(codes.padded),
      is_l2_(rows.metric == Metric::kL2),
      is_cosine_(rows.metric == Metric::kCosine) {
  const Kernels& kernels = rows.kernels;
  const float largest = kernels.max_abs(vector, rows.dim);
  extreme_ = rows.has_extreme_rows() || (largest != 0 && !(largest >= kSmallest && largest <= kLargest));
  if (largest == 0 || extreme_) return;
  const float* coded = vector;
  float coded_largest = largest;
  std::vector<float> rotated;
  if (const Rotation* rotation = codes.rotation()) {
    rotated = vector_;
    rotation->apply(rotated.data());
    coded = rotated.data();
    coded_largest = kernels.max_abs(coded, rows.dim);
  }
  std::vector<uint8_t> code(codes.padded, 128);
  offset_ = codes.offset * kernels.quantise(coded, rows.dim, 127 / coded_largest, code.data());
  for (size_t j = 0; j < codes.padded; j++) code_[j] = int8_t(int(code[j]) - 128);
  scale_ = coded_largest / 127;
  const float square = kernels.dot(vector, vector, rows.dim);
  norm_ = std::sqrt(square);
  inverse_norm_ = 1 / norm_;
  half_square_ = square / 2;
  per_scale_ = kInverseSqrt12 * norm_;
  per_norm_ = kInverseSqrt12 * scale_;
  if (const Signs* signs = codes.signs()) by_signs_.emplace(*signs, kernels, vector, rows.dim, codes.padded, norm_);
  if (codes.quantization == Quantization::kBinary) {
    const float dim = float(rows.dim);
    const float error = kHigh * norm_ / std::sqrt(std::max(1.0f, dim - 1));
    per_scale_ = error * kSlope * std::sqrt(dim);
    per_norm_ += error * (kUsualTangent - kSlope * kUsualInverseCosine);
  }
}

Query::Exact Query::exact(size_t row) const {
  if (extreme_ || rows_.is_extreme(row)) {
    const double score = score_in_double(row);
    return {score, float(is_cosine_ ? score * norm_ : score)};
  }
  const float* x = rows_.original(row);
  if (is_l2_) {
    const float square = rows_.kernels.square_distance(vector_.data(), x, rows_.dim);
    return {1 / (1 + std::sqrt(double(square))), half_square_ - square / 2};
  }
  const float dot = rows_.kernels.dot(vector_.data(), x, rows_.dim);
  if (!is_cosine_) return {dot, dot};
  const float key = dot * rows_.meta(row).norm;
  return {std::min(1.0, std::max(-1.0, double(key) * inverse_norm_)), key};
}

double Query::score_in_double(size_t row) const {
  const float* x = rows_.original(row);
  double dot = 0, query_square = 0, row_square = 0, distance = 0;
  for (size_t j = 0; j < rows_.dim; j++) {
    const double q = vector_[j], r = x[j];
    dot += q * r;
    query_square += q * q;
    row_square += r * r;
    distance += (q - r) * (q - r);
  }
  if (is_l2_) return 1 / (1 + std::sqrt(distance));
  if (!is_cosine_) return dot;
  // Two square roots: the product of the squares may exceed the range of doubles, which each square alone can't.
  if (query_square == 0 || row_square == 0) return 0;
  return std::min(1.0, std::max(-1.0, dot / (std::sqrt(query_square) * std::sqrt(row_square))));
}

}  // namespace quiver
