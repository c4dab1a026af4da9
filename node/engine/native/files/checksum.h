#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

// What becomes of checksums by so many bytes more: crc32c(crc, data, bytes) is of(crc) ^ crc32c(0, data, bytes).
class ChecksumShift {
 public:
  explicit ChecksumShift(size_t bytes);

  uint32_t of(uint32_t crc) const {
    uint32_t shifted = 0;
    for (size_t i = 0; i < kNibbles; i++) shifted ^= parts_[i][crc >> (4 * i) & 15];
    return shifted;
  }

 private:
  static constexpr size_t kNibbles = 8;
  uint32_t parts_[kNibbles][16];
};

/**
 * CRC-32C of rows of one length. Three parts of a row are summed side by side, because each step waits for the one
 * before it: that takes about a third of the time.
 */
class RowChecksum {
 public:
  explicit RowChecksum(size_t row_bytes);

  uint32_t of(const void* row) const;
  // That of what has `crc` and then a row, which has `row`.
  uint32_t appended(uint32_t crc, uint32_t row) const { return by_row_.of(crc) ^ row; }

 private:
  size_t bytes_;
  // Of each of the three parts; what is left of a row comes behind them.
  size_t words_;
  ChecksumShift by_part_, by_row_;
};

}  // namespace quiver
