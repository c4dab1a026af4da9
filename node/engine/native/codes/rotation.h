#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.h"

namespace quiver {

/**
 * A rotation of vectors that looks random, and is the same one for a dimension wherever it is made: signs are flipped
 * and Walsh–Hadamard transforms applied, three times. What a vector has in few dimensions is then spread over all, so
 * that few bits per dimension tell vectors apart whatever their components are (RaBitQ, arXiv:2405.12497, with the
 * transform that its authors use in place of a random matrix). Takes dim × log(dim) steps. Immutable; any thread.
 */
class Rotation {
 public:
  Rotation(size_t dim, const Kernels& kernels);

  // In place, `dim` numbers. Lengths and products are kept, but for rounding.
  void apply(float* x) const;

 private:
  size_t dim_;
  // The largest power of two that is not above `dim`: the transform covers so many dimensions, first the first ones,
  // then the last ones.
  size_t block_;
  const Kernels& kernels_;
  // Factors of each round: ±1 / √block for the first block, ±1 behind it.
  std::vector<float> factors_;
};

}  // namespace quiver
