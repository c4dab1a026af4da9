#include "kernels.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#define QUIVER_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#if defined(__clang__)
#undef QUIVER_TARGET
#define QUIVER_TARGET __attribute__((target("dotprod")))
#endif

namespace quiver {

namespace {

// How many rows ahead of the one being summed are prefetched.
constexpr size_t kPrefetchRows = 4;
// The same of rows whose codes are bits, in a cache line or two.
constexpr size_t kPrefetchRecords = 16;

inline void prefetch_row(const uint8_t* code, size_t padded) {
  for (size_t j = 0; j < padded; j += 64) __builtin_prefetch(code + j);
}

QUIVER_TARGET inline int8x16_t load_signed(const uint8_t* codes) {
  return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(codes), vdupq_n_u8(0x80)));
}

QUIVER_TARGET void dot_codes(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded,
                             int32_t* out) {
  // The product instruction takes signed bytes, so the offset of 128 is added back as 128 · Σ query.
  int32x4_t query_sum = vdupq_n_s32(0);
  for (size_t j = 0; j < padded; j += 16) query_sum = vdotq_s32(query_sum, vdupq_n_s8(1), vld1q_s8(query + j));
  const int32_t offset = 128 * vaddvq_s32(query_sum);
  for (size_t i = 0; i < count && i < kPrefetchRows; i++) prefetch_row(codes[i], padded);
  for (size_t i = 0; i < count; i++) {
    if (i + kPrefetchRows < count) prefetch_row(codes[i + kPrefetchRows], padded);
    int32x4_t sum0 = vdupq_n_s32(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    for (size_t j = 0; j < padded; j += 64) {
      sum0 = vdotq_s32(sum0, load_signed(codes[i] + j), vld1q_s8(query + j));
      sum1 = vdotq_s32(sum1, load_signed(codes[i] + j + 16), vld1q_s8(query + j + 16));
      sum2 = vdotq_s32(sum2, load_signed(codes[i] + j + 32), vld1q_s8(query + j + 32));
      sum3 = vdotq_s32(sum3, load_signed(codes[i] + j + 48), vld1q_s8(query + j + 48));
    }
    out[i] = vaddvq_s32(vaddq_s32(vaddq_s32(sum0, sum1), vaddq_s32(sum2, sum3))) + offset;
  }
}

QUIVER_TARGET void dot_nibbles(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded,
                               int32_t* out) {
  const size_t bytes = padded / 2;
  const uint8x16_t low = vdupq_n_u8(15);
  for (size_t i = 0; i < count && i < kPrefetchRows; i++) prefetch_row(codes[i], bytes);
  for (size_t i = 0; i < count; i++) {
    if (i + kPrefetchRows < count) prefetch_row(codes[i + kPrefetchRows], bytes);
    int32x4_t sum0 = vdupq_n_s32(0), sum1 = sum0;
    for (size_t j = 0; j < padded; j += 64) {
      const uint8x16_t a = vld1q_u8(codes[i] + j / 2), b = vld1q_u8(codes[i] + j / 2 + 16);
      // Below 16, so they are the same as signed bytes.
      sum0 = vdotq_s32(sum0, vreinterpretq_s8_u8(vandq_u8(a, low)), vld1q_s8(query + j));
      sum1 = vdotq_s32(sum1, vreinterpretq_s8_u8(vandq_u8(b, low)), vld1q_s8(query + j + 16));
      sum0 = vdotq_s32(sum0, vreinterpretq_s8_u8(vshrq_n_u8(a, 4)), vld1q_s8(query + j + 32));
      sum1 = vdotq_s32(sum1, vreinterpretq_s8_u8(vshrq_n_u8(b, 4)), vld1q_s8(query + j + 48));
    }
    out[i] = vaddvq_s32(vaddq_s32(sum0, sum1));
  }
}

QUIVER_TARGET void dot_bits(const uint8_t* const* codes, size_t count, const int8_t* query, size_t padded,
                            int32_t* out) {
  const size_t bytes = padded / 8;
  const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
  const int8x16_t twos = vdupq_n_s8(2);
  for (size_t i = 0; i < count && i < kPrefetchRecords; i++) prefetch_row(codes[i], bytes);
  for (size_t i = 0; i < count; i++) {
    if (i + kPrefetchRecords < count) prefetch_row(codes[i + kPrefetchRecords], bytes);
    int32x4_t sum = vdupq_n_s32(0);
    for (size_t j = 0; j < padded; j += 16) {
      const uint8x16_t spread = vcombine_u8(vdup_n_u8(codes[i][j / 8]), vdup_n_u8(codes[i][j / 8 + 1]));
      const int8x16_t set = vreinterpretq_s8_u8(vtstq_u8(spread, bit));
      sum = vdotq_s32(sum, twos, vandq_s8(set, vld1q_s8(query + j)));
    }
    out[i] = vaddvq_s32(sum);
  }
}

void sum_lookups(const uint8_t* bytes, size_t count, const uint8_t* tables, uint16_t* out) {
  const uint8x16_t low = vdupq_n_u8(15);
  uint16x8_t sums[8];
  for (uint16x8_t& sum : sums) sum = vdupq_n_u16(0);
  for (size_t j = 0; j < count; j++, bytes += kSketchRows, tables += 32) {
    const uint8x16_t first = vld1q_u8(tables), second = vld1q_u8(tables + 16);
    for (size_t part = 0; part < 4; part++) {
      const uint8x16_t codes = vld1q_u8(bytes + 16 * part);
      const uint8x16_t found =
          vaddq_u8(vqtbl1q_u8(first, vandq_u8(codes, low)), vqtbl1q_u8(second, vshrq_n_u8(codes, 4)));
      sums[2 * part] = vaddw_u8(sums[2 * part], vget_low_u8(found));
      sums[2 * part + 1] = vaddw_u8(sums[2 * part + 1], vget_high_u8(found));
    }
  }
  for (size_t part = 0; part < 8; part++) vst1q_u16(out + 8 * part, sums[part]);
}

QUIVER_TARGET int32_t dot_code_pair(const uint8_t* a, const uint8_t* b, size_t padded) {
  int32x4_t sum = vdupq_n_s32(0), b_sum = sum;
  for (size_t j = 0; j < padded; j += 16) {
    const int8x16_t b_codes = load_signed(b + j);
    sum = vdotq_s32(sum, load_signed(a + j), b_codes);
    b_sum = vdotq_s32(b_sum, vdupq_n_s8(1), b_codes);
  }
  return vaddvq_s32(sum) + 128 * vaddvq_s32(b_sum);
}

float dot(const float* a, const float* b, size_t dim) {
  float32x4_t sum0 = vdupq_n_f32(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  size_t j = 0;
  for (; j + 16 <= dim; j += 16) {
    sum0 = vfmaq_f32(sum0, vld1q_f32(a + j), vld1q_f32(b + j));
    sum1 = vfmaq_f32(sum1, vld1q_f32(a + j + 4), vld1q_f32(b + j + 4));
    sum2 = vfmaq_f32(sum2, vld1q_f32(a + j + 8), vld1q_f32(b + j + 8));
    sum3 = vfmaq_f32(sum3, vld1q_f32(a + j + 12), vld1q_f32(b + j + 12));
  }
  float sum = vaddvq_f32(vaddq_f32(vaddq_f32(sum0, sum1), vaddq_f32(sum2, sum3)));
  for (; j < dim; j++) sum += a[j] * b[j];
  return sum;
}

float square_distance(const float* a, const float* b, size_t dim) {
  float32x4_t sum0 = vdupq_n_f32(0), sum1 = sum0;
  size_t j = 0;
  for (; j + 8 <= dim; j += 8) {
    const float32x4_t d0 = vsubq_f32(vld1q_f32(a + j), vld1q_f32(b + j));
    const float32x4_t d1 = vsubq_f32(vld1q_f32(a + j + 4), vld1q_f32(b + j + 4));
    sum0 = vfmaq_f32(sum0, d0, d0);
    sum1 = vfmaq_f32(sum1, d1, d1);
  }
  float sum = vaddvq_f32(vaddq_f32(sum0, sum1));
  for (; j < dim; j++) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

bool has_dot_product() {
#if defined(__APPLE__)
  return true;  // every Apple processor that runs arm64 macOS has it
#elif defined(__linux__)
  constexpr unsigned long kHwcapAsimdDp = 1UL << 20;  // HWCAP_ASIMDDP in asm/hwcap.h, absent from old headers
  return (getauxval(AT_HWCAP) & kHwcapAsimdDp) != 0;
#else
  return false;
#endif
}

}  // namespace

const Kernels* neon_kernels() {
  // Both loops over single floats are simple enough for the compiler to vectorise, because NEON is the baseline here.
  const Kernels& plain = *plain_kernels();
  static const Kernels kernels = {
      "neon", dot_codes,       dot_nibbles,   dot_bits,       sum_lookups,      plain.reach_floor, dot_code_pair,
      dot,    square_distance, plain.max_abs, plain.quantise, plain.take_signs, plain.transform};
  return has_dot_product() ? &kernels : nullptr;
}

}  // namespace quiver

#else

namespace quiver {

const Kernels* neon_kernels() { return nullptr; }

}  // namespace quiver

#endif
