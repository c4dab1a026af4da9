#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

// Codes and their queries are padded with neutral values to a multiple of this many bytes: one AVX-512 register, one
// cache line.
constexpr size_t kCodePadding = 64;
constexpr size_t padded_dim(size_t dim) { return (dim + kCodePadding - 1) / kCodePadding * kCodePadding; }

// Products of rows' codes with a query's code; later rows are prefetched while earlier ones are summed.
using DotCodes = void (*)(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded, int32_t* out);

// Rows whose sketches lie together (sketches.h).
constexpr size_t kSketchRows = 64;

// What turns the sum of a row's lookups into a bound on its key: scale · (sum · weight + base) + norm · per_norm −
// norm² · per_square, with the row's own scale and norm.
struct SketchLine {
  float weight, base, per_norm, per_square;
};

/**
 * The inner loops, one table per instruction set; chosen once per index. Codes are unsigned bytes, the signed code plus
 * 128, so that VNNI's unsigned × signed product applies to them directly; queries are signed codes. `padded` is a
 * multiple of kCodePadding, and sums stay below 2^31 up to 16,384 dimensions × 4.
 */
struct Kernels {
  const char* name;
  /// out[i] = Σ codes[i][j] · query[j].
  DotCodes dot_codes;
  // The same of half bytes, the signed code plus 8, of padded / 2 bytes. In 32 bytes for 64 dimensions, the low halves
  // are the first 32 of them.
  DotCodes dot_nibbles;
  // out[i] = 2 · Σ query[j] over the bits j that are set in codes[i], of padded / 8 bytes, lowest bits first: the
  // product with signs, plus Σ query.
  DotCodes dot_bits;
  // Of kSketchRows rows: out[r] = Σ tables[32 j + (x & 15)] + tables[32 j + 16 + (x >> 4)] over j < count, with x =
  // bytes[64 j + r]. No table holds more than 127, and no sum exceeds 2^16 − 1.
  void (*sum_lookups)(const uint8_t* bytes, size_t count, const uint8_t* tables, uint16_t* out);
  // Bit r: the bound of row r is not below `floor`. NaN is not.
  uint64_t (*reach_floor)(const uint16_t* sums, const float* scales, const float* norms, const SketchLine& line,
                          float floor);
  /// Σ a[j] · (b[j] − 128).
  int32_t (*dot_code_pair)(const uint8_t* a, const uint8_t* b, size_t padded);
  /// Σ a[j] · b[j].
  float (*dot)(const float* a, const float* b, size_t dim);
  /// Σ (a[j] − b[j])².
  float (*square_distance)(const float* a, const float* b, size_t dim);
  /// max |x[j]|.
  float (*max_abs)(const float* x, size_t dim);
  /// out[j] = round(x[j] · factor) + 128 for j < dim; |x[j] · factor| ≤ 127. Returns Σ of the signed codes.
  int32_t (*quantise)(const float* x, size_t dim, float factor, uint8_t* out);
  // Bit j % 8 of out[j / 8] says whether x[j] ≥ 0, for j < dim; the bits behind them, up to padded, are 0. Returns Σ
  // |x[j]|.
  float (*take_signs)(const float* x, size_t dim, size_t padded, uint8_t* out);
  // The Walsh–Hadamard transform of `count` numbers, a power of two, in place and without a factor.
  void (*transform)(float* x, size_t count);
};

/**
 * The fastest table that this processor supports, or the one called `name` ("avx512", "avx2", "neon", "plain"). Throws
 * std::invalid_argument if that one is unknown or not supported here.
 */
const Kernels& select_kernels(const char* name);

// Names of the tables that this processor supports, best first, ended by nullptr.
const char* const* available_kernels();

// Each returns null if it was not compiled in or the processor does not support it.
const Kernels* avx512_kernels();
const Kernels* avx2_kernels();
const Kernels* neon_kernels();
const Kernels* plain_kernels();

}  // namespace quiver
