#pragma once

#include <cstdint>

namespace quiver {

enum class Metric { kCosine, kIp, kL2 };

/**
 * How a row's code holds its vector, which a search walks or scans by; the originals are beside it in any case. kInt8:
 * a byte per dimension. kInt4: half a byte, of the rotated vector. kBinary: the signs of the rotated vector (RaBitQ,
 * arXiv:2405.12497).
 */
enum class Quantization { kInt8, kInt4, kBinary };

}  // namespace quiver
