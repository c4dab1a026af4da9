#include "checksum.h"

#include <vector>

#include "crc32c.h"

namespace quiver {

using crc32c_steps::continued;
using crc32c_steps::step8;
using crc32c_steps::word_at;

ChecksumShift::ChecksumShift(size_t bytes) {
  // A sum, so that it is known by what becomes of each bit: zeros add nothing to it.
  const std::vector<uint8_t> zeros(bytes);
  for (size_t i = 0; i < kNibbles; i++) {
    parts_[i][0] = 0;
    for (uint32_t bit = 1; bit < 16; bit *= 2) {
      const uint32_t shifted = continued(bit << (4 * i), zeros.data(), bytes);
      for (uint32_t below = 0; below < bit; below++) parts_[i][bit + below] = shifted ^ parts_[i][below];
    }
  }
}

RowChecksum::RowChecksum(size_t row_bytes)
    : bytes_(row_bytes), words_(row_bytes / 24), by_part_(8 * words_), by_row_(row_bytes) {}

uint32_t RowChecksum::of(const void* row) const {
  const uint8_t* first = static_cast<const uint8_t*>(row);
  const uint8_t *second = first + 8 * words_, *third = second + 8 * words_, *rest = third + 8 * words_;
  const size_t left = bytes_ - 24 * words_;
  uint32_t a = ~uint32_t(0), b = 0, c = 0;
  for (size_t i = 0; i < words_; i++) {
    a = step8(a, word_at(first + 8 * i));
    b = step8(b, word_at(second + 8 * i));
    c = step8(c, word_at(third + 8 * i));
  }
  return ~continued(by_part_.of(by_part_.of(a) ^ b) ^ c, rest, left);
}

}  // namespace quiver
