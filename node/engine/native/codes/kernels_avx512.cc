#include "kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define QUIVER_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

namespace quiver {

namespace {

// How many rows ahead of the one being summed are prefetched: enough to hide a memory access, few enough for the
// line-fill buffers.
constexpr size_t kPrefetchRows = 4;
// The same of rows whose codes are bits, in a cache line or two.
constexpr size_t kPrefetchRecords = 16;

QUIVER_TARGET inline void prefetch_row(const uint8_t* code, size_t padded) {
  for (size_t j = 0; j < padded; j += 64) _mm_prefetch(reinterpret_cast<const char*>(code + j), _MM_HINT_T0);
}

QUIVER_TARGET inline int32_t dot_code(const uint8_t* code, const int8_t* query, size_t padded) {
  __m512i sum0 = _mm512_setzero_si512(), sum1 = sum0;
  size_t j = 0;
  for (; j + 128 <= padded; j += 128) {
    sum0 = _mm512_dpbusd_epi32(sum0, _mm512_loadu_si512(code + j), _mm512_loadu_si512(query + j));
    sum1 = _mm512_dpbusd_epi32(sum1, _mm512_loadu_si512(code + j + 64), _mm512_loadu_si512(query + j + 64));
  }
  if (j < padded) sum0 = _mm512_dpbusd_epi32(sum0, _mm512_loadu_si512(code + j), _mm512_loadu_si512(query + j));
  return _mm512_reduce_add_epi32(_mm512_add_epi32(sum0, sum1));
}

QUIVER_TARGET void dot_codes(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded,
                             int32_t* out) {
  for (size_t i = 0; i < count && i < kPrefetchRows; i++) prefetch_row(codes[i], padded);
  for (size_t i = 0; i < count; i++) {
    if (i + kPrefetchRows < count) prefetch_row(codes[i + kPrefetchRows], padded);
    out[i] = dot_code(codes[i], query, padded);
  }
}

QUIVER_TARGET void dot_nibbles(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded,
                               int32_t* out) {
  const size_t bytes = padded / 2;
  const __m256i low = _mm256_set1_epi8(15);
  for (size_t i = 0; i < count && i < kPrefetchRows; i++) prefetch_row(codes[i], bytes);
  for (size_t i = 0; i < count; i++) {
    if (i + kPrefetchRows < count) prefetch_row(codes[i + kPrefetchRows], bytes);
    __m512i sum = _mm512_setzero_si512();
    for (size_t j = 0; j < padded; j += 64) {
      const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes[i] + j / 2));
      const __m256i first = _mm256_and_si256(block, low);
      const __m256i second = _mm256_and_si256(_mm256_srli_epi16(block, 4), low);
      const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
      sum = _mm512_dpbusd_epi32(sum, both, _mm512_loadu_si512(query + j));
    }
    out[i] = _mm512_reduce_add_epi32(sum);
  }
}

QUIVER_TARGET void dot_bits(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded,
                            int32_t* out) {
  const size_t bytes = padded / 8;
  // The sum of bytes, twice: the product with 2.
  const __m512i twos = _mm512_set1_epi8(2);
  for (size_t i = 0; i < count && i < kPrefetchRecords; i++) prefetch_row(codes[i], bytes);
  for (size_t i = 0; i < count; i++) {
    if (i + kPrefetchRecords < count) prefetch_row(codes[i + kPrefetchRecords], bytes);
    __m512i sum = _mm512_setzero_si512();
    for (size_t j = 0; j < padded; j += 64) {
      __mmask64 bits;
      __builtin_memcpy(&bits, codes[i] + j / 8, sizeof bits);
      sum = _mm512_dpbusd_epi32(sum, twos, _mm512_maskz_loadu_epi8(bits, query + j));
    }
    out[i] = _mm512_reduce_add_epi32(sum);
  }
}

QUIVER_TARGET void sum_lookups(const uint8_t* bytes, size_t count, const uint8_t* tables, uint16_t* out) {
  const __m512i low = _mm512_set1_epi8(15);
  // Sums of pairs of rows as they lie, and of the second of each pair: the first is the difference.
  __m512i pairs = _mm512_setzero_si512(), seconds = pairs;
  for (size_t j = 0; j < count; j++, bytes += kSketchRows, tables += 32) {
    const __m512i codes = _mm512_loadu_si512(bytes);
    const __m512i first = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(tables)));
    const __m512i second = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(tables + 16)));
    const __m512i found =
        _mm512_add_epi8(_mm512_shuffle_epi8(first, _mm512_and_si512(codes, low)),
                        _mm512_shuffle_epi8(second, _mm512_and_si512(_mm512_srli_epi16(codes, 4), low)));
    pairs = _mm512_add_epi16(pairs, found);
    seconds = _mm512_add_epi16(seconds, _mm512_srli_epi16(found, 8));
  }
  const __m512i firsts = _mm512_sub_epi16(pairs, _mm512_slli_epi16(seconds, 8));
  // Eight rows of each lane.
  const __m512i lower = _mm512_unpacklo_epi16(firsts, seconds), upper = _mm512_unpackhi_epi16(firsts, seconds);
  const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  _mm512_storeu_si512(out, _mm512_permutex2var_epi64(lower, left, upper));
  _mm512_storeu_si512(out + 32, _mm512_permutex2var_epi64(lower, right, upper));
}

QUIVER_TARGET uint64_t reach_floor(const uint16_t* sums, const float* scales, const float* norms,
                                   const SketchLine& line, float floor) {
  const __m512 weight = _mm512_set1_ps(line.weight), base = _mm512_set1_ps(line.base);
  const __m512 per_norm = _mm512_set1_ps(line.per_norm), per_square = _mm512_set1_ps(line.per_square),
               floors = _mm512_set1_ps(floor);
  uint64_t reaching = 0;
  for (size_t row = 0; row < kSketchRows; row += 16) {
    const __m512i sum = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + row)));
    const __m512 norm = _mm512_loadu_ps(norms + row);
    const __m512 of_norm = _mm512_mul_ps(norm, _mm512_fnmadd_ps(norm, per_square, per_norm));
    const __m512 bound =
        _mm512_fmadd_ps(_mm512_loadu_ps(scales + row), _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), weight, base), of_norm);
    reaching |= uint64_t(_mm512_cmp_ps_mask(bound, floors, _CMP_NLT_UQ)) << row;
  }
  return reaching;
}

QUIVER_TARGET int32_t dot_code_pair(const uint8_t* a, const uint8_t* b, size_t padded) {
  const __m512i flip = _mm512_set1_epi8(char(0x80));
  __m512i sum0 = _mm512_setzero_si512(), sum1 = sum0;
  size_t j = 0;
  for (; j + 128 <= padded; j += 128) {
    sum0 = _mm512_dpbusd_epi32(sum0, _mm512_loadu_si512(a + j), _mm512_xor_si512(flip, _mm512_loadu_si512(b + j)));
    sum1 = _mm512_dpbusd_epi32(sum1, _mm512_loadu_si512(a + j + 64),
                               _mm512_xor_si512(flip, _mm512_loadu_si512(b + j + 64)));
  }
  if (j < padded) {
    sum0 = _mm512_dpbusd_epi32(sum0, _mm512_loadu_si512(a + j), _mm512_xor_si512(flip, _mm512_loadu_si512(b + j)));
  }
  return _mm512_reduce_add_epi32(_mm512_add_epi32(sum0, sum1));
}

QUIVER_TARGET inline __mmask16 tail_mask(size_t left) { return left >= 16 ? 0xffff : (__mmask16(1) << left) - 1; }

QUIVER_TARGET float dot(const float* a, const float* b, size_t dim) {
  __m512 sum0 = _mm512_setzero_ps(), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  size_t j = 0;
  for (; j + 64 <= dim; j += 64) {
    sum0 = _mm512_fmadd_ps(_mm512_loadu_ps(a + j), _mm512_loadu_ps(b + j), sum0);
    sum1 = _mm512_fmadd_ps(_mm512_loadu_ps(a + j + 16), _mm512_loadu_ps(b + j + 16), sum1);
    sum2 = _mm512_fmadd_ps(_mm512_loadu_ps(a + j + 32), _mm512_loadu_ps(b + j + 32), sum2);
    sum3 = _mm512_fmadd_ps(_mm512_loadu_ps(a + j + 48), _mm512_loadu_ps(b + j + 48), sum3);
  }
  for (; j < dim; j += 16) {
    const __mmask16 mask = tail_mask(dim - j);
    sum0 = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, a + j), _mm512_maskz_loadu_ps(mask, b + j), sum0);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sum0, sum1), _mm512_add_ps(sum2, sum3)));
}

QUIVER_TARGET float square_distance(const float* a, const float* b, size_t dim) {
  __m512 sum0 = _mm512_setzero_ps(), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  size_t j = 0;
  for (; j + 64 <= dim; j += 64) {
    const __m512 d0 = _mm512_sub_ps(_mm512_loadu_ps(a + j), _mm512_loadu_ps(b + j));
    const __m512 d1 = _mm512_sub_ps(_mm512_loadu_ps(a + j + 16), _mm512_loadu_ps(b + j + 16));
    const __m512 d2 = _mm512_sub_ps(_mm512_loadu_ps(a + j + 32), _mm512_loadu_ps(b + j + 32));
    const __m512 d3 = _mm512_sub_ps(_mm512_loadu_ps(a + j + 48), _mm512_loadu_ps(b + j + 48));
    sum0 = _mm512_fmadd_ps(d0, d0, sum0);
    sum1 = _mm512_fmadd_ps(d1, d1, sum1);
    sum2 = _mm512_fmadd_ps(d2, d2, sum2);
    sum3 = _mm512_fmadd_ps(d3, d3, sum3);
  }
  for (; j < dim; j += 16) {
    const __mmask16 mask = tail_mask(dim - j);
    const __m512 d = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, a + j), _mm512_maskz_loadu_ps(mask, b + j));
    sum0 = _mm512_fmadd_ps(d, d, sum0);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sum0, sum1), _mm512_add_ps(sum2, sum3)));
}

QUIVER_TARGET float max_abs(const float* x, size_t dim) {
  __m512 largest = _mm512_setzero_ps();
  for (size_t j = 0; j < dim; j += 16) {
    largest = _mm512_max_ps(largest, _mm512_abs_ps(_mm512_maskz_loadu_ps(tail_mask(dim - j), x + j)));
  }
  return _mm512_reduce_max_ps(largest);
}

QUIVER_TARGET int32_t quantise(const float* x, size_t dim, float factor, uint8_t* out) {
  const __m512 factors = _mm512_set1_ps(factor);
  const __m128i flip = _mm_set1_epi8(char(0x80));
  __m512i sum = _mm512_setzero_si512();
  for (size_t j = 0; j < dim; j += 16) {
    const __mmask16 mask = tail_mask(dim - j);
    const __m512i codes = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x + j), factors));
    sum = _mm512_add_epi32(sum, codes);
    _mm_mask_storeu_epi8(out + j, mask, _mm_xor_si128(flip, _mm512_cvtepi32_epi8(codes)));
  }
  return _mm512_reduce_add_epi32(sum);
}

QUIVER_TARGET float take_signs(const float* x, size_t dim, size_t padded, uint8_t* out) {
  __builtin_memset(out, 0, padded / 8);
  __m512 sums = _mm512_setzero_ps();
  for (size_t j = 0; j < dim; j += 16) {
    const __mmask16 mask = tail_mask(dim - j);
    const __m512 part = _mm512_maskz_loadu_ps(mask, x + j);
    const __mmask16 signs = _mm512_mask_cmp_ps_mask(mask, part, _mm512_setzero_ps(), _CMP_GE_OQ);
    __builtin_memcpy(out + j / 8, &signs, sizeof signs);
    sums = _mm512_add_ps(sums, _mm512_abs_ps(part));
  }
  return _mm512_reduce_add_ps(sums);
}

QUIVER_TARGET void transform(float* x, size_t count) {
  if (count < 16) return plain_kernels()->transform(x, count);
  // Within a register: each number and the one that it is paired with, as sum or as difference.
  const __m512 plus = _mm512_set1_ps(1), minus = _mm512_set1_ps(-1);
  const __m512 odd1 = _mm512_mask_blend_ps(0xaaaa, plus, minus), odd2 = _mm512_mask_blend_ps(0xcccc, plus, minus);
  const __m512 odd4 = _mm512_mask_blend_ps(0xf0f0, plus, minus), odd8 = _mm512_mask_blend_ps(0xff00, plus, minus);
  for (size_t j = 0; j < count; j += 16) {
    __m512 part = _mm512_loadu_ps(x + j);
    part = _mm512_fmadd_ps(part, odd1, _mm512_permute_ps(part, 0xb1));
    part = _mm512_fmadd_ps(part, odd2, _mm512_permute_ps(part, 0x4e));
    part = _mm512_fmadd_ps(part, odd4, _mm512_shuffle_f32x4(part, part, 0xb1));
    part = _mm512_fmadd_ps(part, odd8, _mm512_shuffle_f32x4(part, part, 0x4e));
    _mm512_storeu_ps(x + j, part);
  }
  for (size_t half = 16; half < count; half *= 2) {
    for (size_t first = 0; first < count; first += 2 * half) {
      for (size_t j = first; j < first + half; j += 16) {
        const __m512 a = _mm512_loadu_ps(x + j), b = _mm512_loadu_ps(x + j + half);
        _mm512_storeu_ps(x + j, _mm512_add_ps(a, b));
        _mm512_storeu_ps(x + j + half, _mm512_sub_ps(a, b));
      }
    }
  }
}

}  // namespace

const Kernels* avx512_kernels() {
  static const Kernels kernels = {"avx512",    dot_codes,     dot_nibbles, dot_bits,        sum_lookups,
                                  reach_floor, dot_code_pair, dot,         square_distance, max_abs,
                                  quantise,    take_signs,    transform};
  __builtin_cpu_init();
  const bool runs = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vnni");
  return runs ? &kernels : nullptr;
}

}  // namespace quiver

#else

namespace quiver {

const Kernels* avx512_kernels() { return nullptr; }

}  // namespace quiver

#endif
