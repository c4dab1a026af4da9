#include "checksum.h"

#include <cstring>
#include <vector>

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace quiver {

namespace {

#if defined(__SSE4_2__)
inline uint32_t step8(uint32_t crc, uint64_t word) { return uint32_t(_mm_crc32_u64(crc, word)); }
inline uint32_t step1(uint32_t crc, uint8_t byte) { return _mm_crc32_u8(crc, byte); }
#elif defined(__ARM_FEATURE_CRC32)
inline uint32_t step8(uint32_t crc, uint64_t word) { return __crc32cd(crc, word); }
inline uint32_t step1(uint32_t crc, uint8_t byte) { return __crc32cb(crc, byte); }
#else
struct ByteTable {
  uint32_t entries[256];
  constexpr ByteTable() : entries() {
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
      entries[i] = crc;
    }
  }
};
constexpr ByteTable kTable;
inline uint32_t step1(uint32_t crc, uint8_t byte) { return (crc >> 8) ^ kTable.entries[(crc ^ byte) & 0xff]; }
inline uint32_t step8(uint32_t crc, uint64_t word) {
  for (int i = 0; i < 8; i++) crc = step1(crc, uint8_t(word >> (8 * i)));
  return crc;
}
#endif

inline uint64_t word_at(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

// Continues a checksum that is not complemented.
uint32_t continued(uint32_t crc, const uint8_t* p, size_t bytes) {
  for (; bytes >= 8; bytes -= 8, p += 8) crc = step8(crc, word_at(p));
  for (; bytes > 0; bytes--, p++) crc = step1(crc, *p);
  return crc;
}

}  // namespace

uint32_t crc32c(uint32_t crc, const void* data, size_t bytes) {
  return ~continued(~crc, static_cast<const uint8_t*>(data), bytes);
}

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
