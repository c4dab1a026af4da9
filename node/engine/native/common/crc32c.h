#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

// CRC-32C (Castagnoli, as in RFC 3720), in hardware where there is an instruction for it.

namespace quiver {

namespace crc32c_steps {

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
inline constexpr ByteTable kTable;
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
inline uint32_t continued(uint32_t crc, const uint8_t* p, size_t bytes) {
  for (; bytes >= 8; bytes -= 8, p += 8) crc = step8(crc, word_at(p));
  for (; bytes > 0; bytes--, p++) crc = step1(crc, *p);
  return crc;
}

}  // namespace crc32c_steps

// The CRC-32C of what has `crc` and then these bytes; 0: these are the first.
inline uint32_t crc32c(uint32_t crc, const void* data, size_t bytes) {
  return ~crc32c_steps::continued(~crc, static_cast<const uint8_t*>(data), bytes);
}

}  // namespace quiver
