#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

// CRC-32C (Castagnoli, as in RFC 3720) of more bytes, continuing from `crc`, which starts at 0. In hardware where there
// is an instruction for it.
uint32_t crc32c(uint32_t crc, const void* data, size_t bytes);

}  // namespace quiver
