#include "kernels.h"

#include <cmath>
#include <cstring>

namespace quiver {

namespace {

void dot_codes(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded, int32_t* out) {
  for (size_t i = 0; i < count; i++) {
    int32_t sum = 0;
    for (size_t j = 0; j < padded; j++) sum += int32_t(codes[i][j]) * query[j];
    out[i] = sum;
  }
}

void dot_nibbles(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded, int32_t* out) {
  for (size_t i = 0; i < count; i++) {
    int32_t sum = 0;
    for (size_t j = 0; j < padded; j += 64) {
      const uint8_t* block = codes[i] + j / 2;
      for (size_t n = 0; n < 32; n++) {
        sum += int32_t(block[n] & 15) * query[j + n] + int32_t(block[n] >> 4) * query[j + 32 + n];
      }
    }
    out[i] = sum;
  }
}

void dot_bits(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded, int32_t* out) {
  for (size_t i = 0; i < count; i++) {
    int32_t sum = 0;
    for (size_t j = 0; j < padded; j++) sum += (codes[i][j / 8] >> (j & 7) & 1) * query[j];
    out[i] = 2 * sum;
  }
}

void sum_lookups(const uint8_t* bytes, size_t count, const uint8_t* tables, uint16_t* out) {
  for (size_t row = 0; row < kSketchRows; row++) out[row] = 0;
  for (size_t j = 0; j < count; j++, bytes += kSketchRows, tables += 32) {
    for (size_t row = 0; row < kSketchRows; row++) {
      out[row] = uint16_t(out[row] + tables[bytes[row] & 15] + tables[16 + (bytes[row] >> 4)]);
    }
  }
}

uint64_t reach_floor(const uint16_t* sums, const float* scales, const float* norms, const SketchLine& line,
                     float floor) {
  uint64_t reaching = 0;
  for (size_t row = 0; row < kSketchRows; row++) {
    const float norm = norms[row];
    const float bound =
        scales[row] * (float(sums[row]) * line.weight + line.base) + norm * (line.per_norm - norm * line.per_square);
    reaching |= uint64_t(!(bound < floor)) << row;
  }
  return reaching;
}

int32_t dot_code_pair(const uint8_t* a, const uint8_t* b, size_t padded) {
  int32_t sum = 0;
  for (size_t j = 0; j < padded; j++) sum += int32_t(a[j]) * (int32_t(b[j]) - 128);
  return sum;
}

float dot(const float* a, const float* b, size_t dim) {
  float sums[4] = {};
  size_t j = 0;
  for (; j + 4 <= dim; j += 4) {
    for (size_t lane = 0; lane < 4; lane++) sums[lane] += a[j + lane] * b[j + lane];
  }
  for (; j < dim; j++) sums[0] += a[j] * b[j];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

float square_distance(const float* a, const float* b, size_t dim) {
  float sums[4] = {};
  size_t j = 0;
  for (; j + 4 <= dim; j += 4) {
    for (size_t lane = 0; lane < 4; lane++) {
      const float difference = a[j + lane] - b[j + lane];
      sums[lane] += difference * difference;
    }
  }
  for (; j < dim; j++) sums[0] += (a[j] - b[j]) * (a[j] - b[j]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

float max_abs(const float* x, size_t dim) {
  float largest = 0;
  for (size_t j = 0; j < dim; j++) largest = std::fmax(largest, std::fabs(x[j]));
  return largest;
}

int32_t quantise(const float* x, size_t dim, float factor, uint8_t* out) {
  int32_t sum = 0;
  for (size_t j = 0; j < dim; j++) {
    const int32_t code = int32_t(std::lrintf(x[j] * factor));
    sum += code;
    out[j] = uint8_t(code + 128);
  }
  return sum;
}

float take_signs(const float* x, size_t dim, size_t padded, uint8_t* out) {
  std::memset(out, 0, padded / 8);
  float sum = 0;
  for (size_t j = 0; j < dim; j++) {
    out[j / 8] |= uint8_t((x[j] >= 0 ? 1 : 0) << (j & 7));
    sum += std::fabs(x[j]);
  }
  return sum;
}

void transform(float* x, size_t count) {
  for (size_t half = 1; half < count; half *= 2) {
    for (size_t first = 0; first < count; first += 2 * half) {
      float* a = x + first;
      float* b = a + half;
      for (size_t j = 0; j < half; j++) {
        const float sum = a[j] + b[j], difference = a[j] - b[j];
        a[j] = sum;
        b[j] = difference;
      }
    }
  }
}

}  // namespace

const Kernels* plain_kernels() {
  static const Kernels kernels = {"plain",     dot_codes,     dot_nibbles, dot_bits,        sum_lookups,
                                  reach_floor, dot_code_pair, dot,         square_distance, max_abs,
                                  quantise,    take_signs,    transform};
  return &kernels;
}

}  // namespace quiver
