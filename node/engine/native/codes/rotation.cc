#include "rotation.h"

#include <cmath>

namespace quiver {

namespace {

constexpr size_t kRounds = 3;

// A sequence that looks random and never changes, for codes must mean the same in every version (SplitMix64).
uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace

Rotation::Rotation(size_t dim, const Kernels& kernels) : dim_(dim), block_(1), kernels_(kernels) {
  while (block_ * 2 <= dim) block_ *= 2;
  const float factor = float(1 / std::sqrt(double(block_)));
  uint64_t state = dim;
  factors_.resize(kRounds * dim);
  for (size_t round = 0; round < kRounds; round++) {
    for (size_t j = 0; j < dim; j++) {
      const float sign = (next_random(state) >> 63) != 0 ? -1.0f : 1.0f;
      factors_[round * dim + j] = j < block_ ? sign * factor : sign;
    }
  }
}

void Rotation::apply(float* x) const {
  const float factor = float(1 / std::sqrt(double(block_)));
  for (size_t round = 0; round < kRounds; round++) {
    const float* factors = factors_.data() + round * dim_;
    for (size_t j = 0; j < dim_; j++) x[j] *= factors[j];
    kernels_.transform(x, block_);
    if (block_ == dim_) continue;
    float* last = x + (dim_ - block_);
    for (size_t j = 0; j < block_; j++) last[j] *= factor;
    kernels_.transform(last, block_);
  }
}

}  // namespace quiver
