#include "signs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quiver {

namespace {

// How many deviations above its estimate a key may be. Fewer would leave out more rows, and lose some that matter:
// walks then have to go farther for the recall that was promised. From 1 to 2 it takes about as long.
constexpr float kSlack = 1.5f;

}  // namespace

Signs::Signs(Metric metric, size_t dim, size_t padded, const Kernels& kernels, unsigned shift)
    : metric_(metric),
      dim_(dim),
      padded_(padded),
      bytes_((sizeof(Bound) + padded / 8 + kAlignment - 1) / kAlignment * kAlignment),
      kernels_(kernels),
      rotation_(dim, kernels),
      records_(bytes_, shift) {}

void Signs::encode(size_t row, const float* vector, double norm, bool sound) {
  uint8_t* record = records_.at(row);
  Bound& bound = *reinterpret_cast<Bound*>(record);
  if (!sound || norm == 0) {
    // Never left out.
    bound = {0, std::numeric_limits<float>::infinity(), 0};
    return;
  }
  thread_local std::vector<float> rotated;
  rotated.assign(vector, vector + dim_);
  rotation_.apply(rotated.data());
  const double product = kernels_.take_signs(rotated.data(), dim_, padded_, record + sizeof(Bound));
  const double inverse_cosine = norm * std::sqrt(double(dim_)) / product;
  const double tangent = std::sqrt(std::max(0.0, inverse_cosine * inverse_cosine - 1));
  const double length = metric_ == Metric::kCosine ? 1 : norm;
  bound = {float(length * norm / product), float(length * tangent / std::sqrt(double(dim_ - 1))),
           metric_ == Metric::kL2 ? float(norm * norm / 2) : 0};
}

SignQuery::SignQuery(const Signs& signs, const Kernels& kernels, const float* vector, size_t dim, size_t padded,
                     float norm)
    : code_(padded), slack_(kSlack * norm) {
  if (norm == 0) return;
  thread_local std::vector<float> rotated;
  thread_local std::vector<uint8_t> bytes;
  rotated.assign(vector, vector + dim);
  bytes.resize(padded);
  signs.rotation().apply(rotated.data());
  const float largest = kernels.max_abs(rotated.data(), dim);
  offset_ = kernels.quantise(rotated.data(), dim, 127 / largest, bytes.data());
  for (size_t j = 0; j < dim; j++) code_[j] = int8_t(int(bytes[j]) - 128);
  scale_ = largest / 127;
}

}  // namespace quiver
