#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace quiver {

namespace crc32c_detail {

constexpr std::array<uint32_t, 256> table() {
  std::array<uint32_t, 256> entries{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
    entries[i] = crc;
  }
  return entries;
}

inline constexpr std::array<uint32_t, 256> kTable = table();

}  // namespace crc32c_detail

// CRC-32C of bytes that follow those of which `before` is the CRC-32C; 0: they are the first.
inline uint32_t crc32c(const void* data, size_t size, uint32_t before = 0) {
  uint32_t crc = ~before;
  for (size_t i = 0; i < size; i++)
    crc = (crc >> 8) ^ crc32c_detail::kTable[(crc ^ static_cast<const uint8_t*>(data)[i]) & 0xff];
  return ~crc;
}

}  // namespace quiver
