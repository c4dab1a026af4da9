#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace quiver {

/**
 * The sum of doubles without any rounding, whatever their order and size: a fixed-point number of 2,200 bits, as limbs
 * of 32 bits with room above for carries (Neal, "Fast exact summation using small and large superaccumulators", 2015).
 * Its unit is 2^-1074, the least double above 0.
 */
class ExactSum {
 public:
  static constexpr size_t kLimbs = 70;

  // The value `count` times; a value that is not finite is left out.
  void add(double value, uint32_t count) {
    if (!std::isfinite(value) || value == 0 || count == 0) return;
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const uint32_t biased = uint32_t(bits >> 52) & 0x7ff;
    const uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
    const uint64_t mantissa = biased == 0 ? fraction : fraction | uint64_t(1) << 52;
    const uint32_t position = biased == 0 ? 0 : biased - 1;
    // 53 bits, 32 of the count, and a shift by up to 31: four limbs, all of them, for no branch depends on the value.
    const unsigned __int128 term = (unsigned __int128)mantissa * count << (position % 32);
    const int64_t sign = (bits >> 63) != 0 ? -1 : 1;
    int64_t* limbs = &limbs_[position / 32];
    limbs[0] += sign * int64_t(uint32_t(term));
    limbs[1] += sign * int64_t(uint32_t(term >> 32));
    limbs[2] += sign * int64_t(uint32_t(term >> 64));
    limbs[3] += sign * int64_t(uint32_t(term >> 96));
    if (++terms_ == kTermsMax) carry();
  }

  // Limbs from the lowest on; all but the highest are in 0 … 2^32 − 1, and that has the sign.
  const std::array<int64_t, kLimbs>& limbs() {
    carry();
    return limbs_;
  }

 private:
  // A limb holds so many terms before it must be carried.
  static constexpr uint32_t kTermsMax = 1u << 30;

  void carry() {
    for (size_t i = 0; i + 1 < kLimbs; i++) {
      const int64_t above = limbs_[i] >> 32;
      limbs_[i] -= above * (int64_t(1) << 32);
      limbs_[i + 1] += above;
    }
    terms_ = 0;
  }

  std::array<int64_t, kLimbs> limbs_{};
  uint32_t terms_ = 0;
};

}  // namespace quiver
