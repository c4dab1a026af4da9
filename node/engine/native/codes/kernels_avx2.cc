#include "kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cmath>

#define QUIVER_TARGET __attribute__((target("avx2,fma")))

namespace quiver {

namespace {

// How many rows ahead of the one being summed are prefetched.
constexpr size_t kPrefetchRows = 4;
// The same of rows whose codes are bits, in a cache line or two.
constexpr size_t kPrefetchRecords = 16;

QUIVER_TARGET inline void prefetch_row(const uint8_t* code, size_t padded) {
  for (size_t j = 0; j < padded; j += 64) _mm_prefetch(reinterpret_cast<const char*>(code + j), _MM_HINT_T0);
}

QUIVER_TARGET inline int32_t sum_epi32(__m256i x) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
  return _mm_cvtsi128_si32(sum);
}

QUIVER_TARGET inline float sum_ps(__m256 x) {
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  sum = _mm_add_ss(sum, _mm_shuffle_ps(sum, sum, 1));
  return _mm_cvtss_f32(sum);
}

// Adds the sum of 32 products of signed bytes in −127…127 to `sum`. |a| × sign(b, a) keeps each pair of products within
// 2 · 127², so that maddubs does not saturate, as it would with codes offset by 128.
QUIVER_TARGET inline __m256i add_signed_products(__m256i sum, __m256i a, __m256i b) {
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

QUIVER_TARGET inline __m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

QUIVER_TARGET void dot_codes(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded,
                             int32_t* out) {
  const __m256i flip = _mm256_set1_epi8(char(0x80)), ones = _mm256_set1_epi8(1);
  // By the table's contract, the result is the product with the offset codes: the signed product plus 128 · Σ query.
  __m256i query_sum = _mm256_setzero_si256();
  for (size_t j = 0; j < padded; j += 32) query_sum = add_signed_products(query_sum, ones, load(query + j));
  const int32_t offset = 128 * sum_epi32(query_sum);
  for (size_t i = 0; i < count && i < kPrefetchRows; i++) prefetch_row(codes[i], padded);
  for (size_t i = 0; i < count; i++) {
    if (i + kPrefetchRows < count) prefetch_row(codes[i + kPrefetchRows], padded);
    __m256i sum0 = _mm256_setzero_si256(), sum1 = sum0;
    for (size_t j = 0; j < padded; j += 64) {
      sum0 = add_signed_products(sum0, load(query + j), _mm256_xor_si256(flip, load(codes[i] + j)));
      sum1 = add_signed_products(sum1, load(query + j + 32), _mm256_xor_si256(flip, load(codes[i] + j + 32)));
    }
    out[i] = sum_epi32(_mm256_add_epi32(sum0, sum1)) + offset;
  }
}

QUIVER_TARGET void dot_nibbles(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded,
                               int32_t* out) {
  const size_t bytes = padded / 2;
  const __m256i low = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
  for (size_t i = 0; i < count && i < kPrefetchRows; i++) prefetch_row(codes[i], bytes);
  for (size_t i = 0; i < count; i++) {
    if (i + kPrefetchRows < count) prefetch_row(codes[i + kPrefetchRows], bytes);
    __m256i sum = _mm256_setzero_si256();
    for (size_t j = 0; j < padded; j += 64) {
      const __m256i block = load(codes[i] + j / 2);
      // Four products of 15 · 127 at most: maddubs and the sum of two of its results do not saturate.
      const __m256i first = _mm256_maddubs_epi16(_mm256_and_si256(block, low), load(query + j));
      const __m256i second =
          _mm256_maddubs_epi16(_mm256_and_si256(_mm256_srli_epi16(block, 4), low), load(query + j + 32));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_add_epi16(first, second), ones));
    }
    out[i] = sum_epi32(sum);
  }
}

QUIVER_TARGET void dot_bits(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded,
                            int32_t* out) {
  const size_t bytes = padded / 8;
  const __m256i twos = _mm256_set1_epi8(2), ones = _mm256_set1_epi16(1);
  // Byte n / 8 for each n, and its bit n % 8.
  const __m256i spread = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
  const __m256i bit = _mm256_set1_epi64x(int64_t(0x8040201008040201));
  for (size_t i = 0; i < count && i < kPrefetchRecords; i++) prefetch_row(codes[i], bytes);
  for (size_t i = 0; i < count; i++) {
    if (i + kPrefetchRecords < count) prefetch_row(codes[i + kPrefetchRecords], bytes);
    __m256i sum = _mm256_setzero_si256();
    for (size_t j = 0; j < padded; j += 32) {
      int32_t bits;
      __builtin_memcpy(&bits, codes[i] + j / 8, sizeof bits);
      const __m256i bytes_of_bits = _mm256_and_si256(_mm256_shuffle_epi8(_mm256_set1_epi32(bits), spread), bit);
      const __m256i kept = _mm256_and_si256(_mm256_cmpeq_epi8(bytes_of_bits, bit), load(query + j));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(twos, kept), ones));
    }
    out[i] = sum_epi32(sum);
  }
}

QUIVER_TARGET void sum_lookups(const uint8_t* bytes, size_t count, const uint8_t* tables, uint16_t* out) {
  const __m256i low = _mm256_set1_epi8(15);
  // Of two halves of the rows: sums of pairs as they lie, and of the second of each pair; the first is the difference.
  __m256i pairs[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()}, seconds[2] = {pairs[0], pairs[0]};
  for (size_t j = 0; j < count; j++, bytes += kSketchRows, tables += 32) {
    const __m256i first = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(tables)));
    const __m256i second = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(tables + 16)));
    for (size_t half = 0; half < 2; half++) {
      const __m256i codes = load(bytes + 32 * half);
      const __m256i found =
          _mm256_add_epi8(_mm256_shuffle_epi8(first, _mm256_and_si256(codes, low)),
                          _mm256_shuffle_epi8(second, _mm256_and_si256(_mm256_srli_epi16(codes, 4), low)));
      pairs[half] = _mm256_add_epi16(pairs[half], found);
      seconds[half] = _mm256_add_epi16(seconds[half], _mm256_srli_epi16(found, 8));
    }
  }
  for (size_t half = 0; half < 2; half++) {
    const __m256i firsts = _mm256_sub_epi16(pairs[half], _mm256_slli_epi16(seconds[half], 8));
    // Eight rows of each lane.
    const __m256i lower = _mm256_unpacklo_epi16(firsts, seconds[half]),
                  upper = _mm256_unpackhi_epi16(firsts, seconds[half]);
    __m256i* rows = reinterpret_cast<__m256i*>(out + 32 * half);
    _mm256_storeu_si256(rows, _mm256_permute2x128_si256(lower, upper, 0x20));
    _mm256_storeu_si256(rows + 1, _mm256_permute2x128_si256(lower, upper, 0x31));
  }
}

QUIVER_TARGET uint64_t reach_floor(const uint16_t* sums, const float* scales, const float* norms,
                                   const SketchLine& line, float floor) {
  const __m256 weight = _mm256_set1_ps(line.weight), base = _mm256_set1_ps(line.base);
  const __m256 per_norm = _mm256_set1_ps(line.per_norm), per_square = _mm256_set1_ps(line.per_square),
               floors = _mm256_set1_ps(floor);
  uint64_t reaching = 0;
  for (size_t row = 0; row < kSketchRows; row += 8) {
    const __m256i sum = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(sums + row)));
    const __m256 norm = _mm256_loadu_ps(norms + row);
    const __m256 of_norm = _mm256_mul_ps(norm, _mm256_fnmadd_ps(norm, per_square, per_norm));
    const __m256 bound =
        _mm256_fmadd_ps(_mm256_loadu_ps(scales + row), _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), weight, base), of_norm);
    reaching |= uint64_t(unsigned(_mm256_movemask_ps(_mm256_cmp_ps(bound, floors, _CMP_NLT_UQ)))) << row;
  }
  return reaching;
}

QUIVER_TARGET int32_t dot_code_pair(const uint8_t* a, const uint8_t* b, size_t padded) {
  const __m256i flip = _mm256_set1_epi8(char(0x80)), ones = _mm256_set1_epi8(1);
  __m256i sum = _mm256_setzero_si256(), b_sum = sum;
  for (size_t j = 0; j < padded; j += 32) {
    const __m256i b_codes = _mm256_xor_si256(flip, load(b + j));
    sum = add_signed_products(sum, b_codes, _mm256_xor_si256(flip, load(a + j)));
    b_sum = add_signed_products(b_sum, ones, b_codes);
  }
  return sum_epi32(sum) + 128 * sum_epi32(b_sum);
}

QUIVER_TARGET float dot(const float* a, const float* b, size_t dim) {
  __m256 sum0 = _mm256_setzero_ps(), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  size_t j = 0;
  for (; j + 32 <= dim; j += 32) {
    sum0 = _mm256_fmadd_ps(_mm256_loadu_ps(a + j), _mm256_loadu_ps(b + j), sum0);
    sum1 = _mm256_fmadd_ps(_mm256_loadu_ps(a + j + 8), _mm256_loadu_ps(b + j + 8), sum1);
    sum2 = _mm256_fmadd_ps(_mm256_loadu_ps(a + j + 16), _mm256_loadu_ps(b + j + 16), sum2);
    sum3 = _mm256_fmadd_ps(_mm256_loadu_ps(a + j + 24), _mm256_loadu_ps(b + j + 24), sum3);
  }
  for (; j + 8 <= dim; j += 8) sum0 = _mm256_fmadd_ps(_mm256_loadu_ps(a + j), _mm256_loadu_ps(b + j), sum0);
  float sum = sum_ps(_mm256_add_ps(_mm256_add_ps(sum0, sum1), _mm256_add_ps(sum2, sum3)));
  for (; j < dim; j++) sum += a[j] * b[j];
  return sum;
}

QUIVER_TARGET float square_distance(const float* a, const float* b, size_t dim) {
  __m256 sum0 = _mm256_setzero_ps(), sum1 = sum0;
  size_t j = 0;
  for (; j + 16 <= dim; j += 16) {
    const __m256 d0 = _mm256_sub_ps(_mm256_loadu_ps(a + j), _mm256_loadu_ps(b + j));
    const __m256 d1 = _mm256_sub_ps(_mm256_loadu_ps(a + j + 8), _mm256_loadu_ps(b + j + 8));
    sum0 = _mm256_fmadd_ps(d0, d0, sum0);
    sum1 = _mm256_fmadd_ps(d1, d1, sum1);
  }
  float sum = sum_ps(_mm256_add_ps(sum0, sum1));
  for (; j < dim; j++) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

QUIVER_TARGET float max_abs(const float* x, size_t dim) {
  const __m256 sign = _mm256_set1_ps(-0.0f);
  __m256 largest = _mm256_setzero_ps();
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) largest = _mm256_max_ps(largest, _mm256_andnot_ps(sign, _mm256_loadu_ps(x + j)));
  alignas(32) float lanes[8];
  _mm256_store_ps(lanes, largest);
  float result = 0;
  for (float lane : lanes) result = std::fmax(result, lane);
  for (; j < dim; j++) result = std::fmax(result, std::fabs(x[j]));
  return result;
}

QUIVER_TARGET int32_t quantise(const float* x, size_t dim, float factor, uint8_t* out) {
  const __m256 factors = _mm256_set1_ps(factor);
  __m256i sums = _mm256_setzero_si256();
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) {
    const __m256i codes = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + j), factors));
    sums = _mm256_add_epi32(sums, codes);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
    const __m128i bytes = _mm_xor_si128(_mm_set1_epi8(char(0x80)), _mm_packs_epi16(words, words));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + j), bytes);
  }
  int32_t sum = sum_epi32(sums);
  for (; j < dim; j++) {
    const int32_t code = int32_t(std::lrintf(x[j] * factor));
    sum += code;
    out[j] = uint8_t(code + 128);
  }
  return sum;
}

QUIVER_TARGET float take_signs(const float* x, size_t dim, size_t padded, uint8_t* out) {
  const __m256 sign = _mm256_set1_ps(-0.0f), zero = _mm256_setzero_ps();
  __builtin_memset(out, 0, padded / 8);
  __m256 sums = zero;
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) {
    const __m256 part = _mm256_loadu_ps(x + j);
    out[j / 8] = uint8_t(_mm256_movemask_ps(_mm256_cmp_ps(part, zero, _CMP_GE_OQ)));
    sums = _mm256_add_ps(sums, _mm256_andnot_ps(sign, part));
  }
  float sum = sum_ps(sums);
  for (; j < dim; j++) {
    out[j / 8] |= uint8_t((x[j] >= 0 ? 1 : 0) << (j & 7));
    sum += std::fabs(x[j]);
  }
  return sum;
}

QUIVER_TARGET void transform(float* x, size_t count) {
  if (count < 8) return plain_kernels()->transform(x, count);
  // Within a register: each number and the one that it is paired with, as sum or as difference.
  const __m256 odd1 = _mm256_setr_ps(1, -1, 1, -1, 1, -1, 1, -1), odd2 = _mm256_setr_ps(1, 1, -1, -1, 1, 1, -1, -1);
  const __m256 odd4 = _mm256_setr_ps(1, 1, 1, 1, -1, -1, -1, -1);
  for (size_t j = 0; j < count; j += 8) {
    __m256 part = _mm256_loadu_ps(x + j);
    part = _mm256_fmadd_ps(part, odd1, _mm256_permute_ps(part, 0xb1));
    part = _mm256_fmadd_ps(part, odd2, _mm256_permute_ps(part, 0x4e));
    part = _mm256_fmadd_ps(part, odd4, _mm256_permute2f128_ps(part, part, 1));
    _mm256_storeu_ps(x + j, part);
  }
  for (size_t half = 8; half < count; half *= 2) {
    for (size_t first = 0; first < count; first += 2 * half) {
      for (size_t j = first; j < first + half; j += 8) {
        const __m256 a = _mm256_loadu_ps(x + j), b = _mm256_loadu_ps(x + j + half);
        _mm256_storeu_ps(x + j, _mm256_add_ps(a, b));
        _mm256_storeu_ps(x + j + half, _mm256_sub_ps(a, b));
      }
    }
  }
}

}  // namespace

const Kernels* avx2_kernels() {
  static const Kernels kernels = {"avx2",      dot_codes,     dot_nibbles, dot_bits,        sum_lookups,
                                  reach_floor, dot_code_pair, dot,         square_distance, max_abs,
                                  quantise,    take_signs,    transform};
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kernels : nullptr;
}

}  // namespace quiver

#else

namespace quiver {

const Kernels* avx2_kernels() { return nullptr; }

}  // namespace quiver

#endif
