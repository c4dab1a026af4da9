#include "decimal_float.h"

#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <locale.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif

namespace quiver {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 10^22 is the last power of ten that a double holds exactly.
constexpr int kExactPower = 22;
// Numbers are collected here before they are added to a vector.
constexpr size_t kBatch = 64;
constexpr int64_t kExponentMax = int64_t{1} << 50;
constexpr double kPowers[kExactPower + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// strtof is exact, but slow, and depends on the locale of the process; strtof_l uses this one, "C". Made once; lives as
// long as the process.
locale_t c_locale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

float parse_any(const char* begin, const char* end) {
#if defined(__cpp_lib_to_chars)
  float value;
  const auto result = std::from_chars(begin, end, value);
  if (result.ec == std::errc() && result.ptr == end) return value;
#endif
  // Beyond the range of float32, where from_chars reports only that, or with a library that has no from_chars for
  // floats.
  return strtof_l(std::string(begin, end).c_str(), nullptr, c_locale());
}

// Clinger's way ("How to read floating point numbers accurately", 1990) in double, then one rounding to float. The
// digits and the quotient are each rounded once, by half a unit in their last place (2^-53), so that the double lies
// within two units in its last place of the decimal, however many digits that has. Then both round to the same float,
// unless the middle between two floats lies between them (bit 28 set and none below it). Near a middle, and outside
// float's normal range, this answers false.
bool parse_fast(uint64_t digits, int64_t exponent, float& value) {
  if (exponent < -kExactPower || exponent > kExactPower) return false;
  const double wide = exponent <= 0 ? static_cast<double>(digits) / kPowers[-exponent]
                                    : static_cast<double>(digits) * kPowers[exponent];
  uint64_t bits;
  std::memcpy(&bits, &wide, sizeof bits);
  constexpr uint64_t kMiddle = 0x10000000;
  // Twice as many as it may be.
  constexpr uint64_t kNear = 4;
  if ((bits & (2 * kMiddle - 1)) - (kMiddle - kNear) <= 2 * kNear || !(wide >= FLT_MIN && wide <= FLT_MAX)) {
    value = 0;
    return wide == 0;
  }
  value = static_cast<float>(wide);
  return true;
}

// Without a branch: half of the numbers are negative, and nobody can say which.
float with_sign(float value, bool negative) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits |= static_cast<uint32_t>(negative) << 31;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

constexpr uint64_t kTens[17] = {1,
                                10,
                                100,
                                1000,
                                10000,
                                100000,
                                1000000,
                                10000000,
                                100000000,
                                1000000000,
                                10000000000,
                                100000000000,
                                1000000000000,
                                10000000000000,
                                100000000000000,
                                1000000000000000,
                                10000000000000000};
constexpr uint64_t kZeros = 0x3030303030303030;

// The number that eight digits say, the first of them in the lowest byte: pairs, then fours, then all (Lemire, "Number
// parsing at a gigabyte per second", 2021).
uint64_t eight_digits(uint64_t text) {
  text -= kZeros;
  text = text * 10 + (text >> 8);
  constexpr uint64_t kMask = 0x000000FF000000FF;
  return (((text & kMask) * 0x000F424000000064) + (((text >> 16) & kMask) * 0x0000271000000001)) >> 32;
}

#if defined(__SSE4_1__)
// From the byte at n on: shuffles n bytes to the end of sixteen, behind zeros.
alignas(16) constexpr int8_t kToTheEnd[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                              0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15};

// The number that those of sixteen bytes say that are digits, before the first that is none, and how many they are. No
// branch depends on that.
inline uint64_t digits_of_sixteen(const char* at, int& count) {
  const __m128i digits = _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), _mm_set1_epi8('0'));
  const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
  count = __builtin_ctz(~static_cast<unsigned>(_mm_movemask_epi8(is_digit)));
  const __m128i aligned =
      _mm_shuffle_epi8(digits, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kToTheEnd + count)));
  const __m128i pairs = _mm_maddubs_epi16(aligned, _mm_set1_epi16(1 << 8 | 10));
  const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
  const uint64_t both = static_cast<uint64_t>(_mm_cvtsi128_si64(eights));
  return (both & 0xFFFFFFFF) * kTens[8] + (both >> 32);
}
#endif

// The digits of a decimal, without its point, as one number.
struct Digits {
  uint64_t value = 0;
  // There were more than 64 bits hold.
  bool overflowed = false;

  // Takes the digits from `at` on, sixteen or eight bytes at a time, and answers where they end.
  const char* read(const char* at, const char* end) {
#if defined(__SSE4_1__)
    if (end - at >= 16) {
      int count;
      const uint64_t more = digits_of_sixteen(at, count);
      append(more, count);
      if (count < 16) return at + count;
      at += 16;
    }
#endif
    while (end - at >= 8) {
      uint64_t text;
      std::memcpy(&text, at, 8);
      // A byte is a digit if its high half is 3, and stays 3 when 6 is added. The lowest bit that is set is that of the
      // first byte that is none.
      const uint64_t others =
          ((text & 0xF0F0F0F0F0F0F0F0) ^ kZeros) | (((text + 0x0606060606060606) & 0xF0F0F0F0F0F0F0F0) ^ kZeros);
      if (others == 0) {
        append(eight_digits(text), 8);
        at += 8;
        continue;
      }
      const int count = __builtin_ctzll(others) / 8;
      // Zeros in front of fewer digits. Not asked whether there are any: what can't be predicted costs more than adding
      // nothing.
      append(eight_digits(text << 8 << (56 - count * 8) | kZeros >> (count * 8)), count);
      return at + count;
    }
    for (; at < end && is_digit(*at); ++at) append(static_cast<uint64_t>(*at - '0'), 1);
    return at;
  }

 private:
  void append(uint64_t more, int count) {
    overflowed |= __builtin_mul_overflow(value, kTens[count], &value);
    overflowed |= __builtin_add_overflow(value, more, &value);
  }
};

// Parses one number. Answers the byte behind it; null if none begins at `at`, or if it is not as JSON has it.
inline const char* parse_number(const char* at, const char* end, float& value) {
  const char* begin = at;
  const bool negative = at < end && *at == '-';
  at += negative;
  if (at == end || !is_digit(*at)) return nullptr;

  Digits digits;
  int64_t exponent = 0;
  if (*at == '0') {
    ++at;
  } else {
    at = digits.read(at, end);
  }
  if (at < end && *at == '.') {
    const char* fraction = ++at;
    at = digits.read(at, end);
    if (at == fraction) return nullptr;
    exponent = -static_cast<int64_t>(at - fraction);
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    ++at;
    const bool down = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) ++at;
    const char* power = at;
    int64_t written = 0;
    for (; at < end && is_digit(*at); ++at) {
      // Saturates far above any number of digits that a body can hold, so that the sum below can't come back into
      // range.
      if (written < kExponentMax) written = written * 10 + (*at - '0');
    }
    if (at == power) return nullptr;
    exponent += down ? -written : written;
  }
  if (!digits.overflowed && parse_fast(digits.value, exponent, value)) {
    value = with_sign(value, negative);
  } else {
    value = parse_any(begin, at);
  }
  return at;
}

// `keep` takes numbers, and how many, as often as a batch is full.
template <typename Keep>
inline NumberRun read_run(const char* at, const char* end, size_t kept_max, Keep keep) {
  NumberRun run{at, 0};
  float batch[kBatch];
  size_t filled = 0;
  const auto flush = [&] {
    keep(batch, filled);
    filled = 0;
  };
  for (float value; (at = parse_number(at, end, value)) != nullptr;) {
    run.end = at;
    if (run.count++ < kept_max) {
      batch[filled++] = value;
      if (filled == kBatch) flush();
    }
    if (at == end || *at != ',') break;
    ++at;
    // A branch: some clients write it always, all others never, and whoever waits for `at` waits for all.
    if (at < end && __builtin_expect(*at == ' ', 0)) ++at;
  }
  flush();
  return run;
}

}  // namespace

NumberRun parse_json_numbers(const char* at, const char* end, size_t kept_max, std::vector<float>& kept) {
  return read_run(at, end, kept_max,
                  [&kept](const float* numbers, size_t count) { kept.insert(kept.end(), numbers, numbers + count); });
}

NumberRun parse_json_numbers(const char* at, const char* end, size_t kept_max, char* kept) {
  return read_run(at, end, kept_max, [&kept](const float* numbers, size_t count) {
    std::memcpy(kept, numbers, count * sizeof(float));
    kept += count * sizeof(float);
  });
}

void append_shortest(float value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  // The longest looks like -1.17549435e-38.
  char text[32];
#if defined(__cpp_lib_to_chars)
  // Above 2^24 the fixed form would write digits that float32 does not hold (1234567040 for 1234567000).
  const bool is_large = std::fabs(value) > 16777216.0f;
  const auto result = is_large ? std::to_chars(text, text + sizeof text, value, std::chars_format::scientific)
                               : std::to_chars(text, text + sizeof text, value);
  out.append(text, result.ptr - text);
#else
  for (int precision = 1; precision <= 9; ++precision) {
    const int size = snprintf_l(text, sizeof text, c_locale(), "%.*g", precision, static_cast<double>(value));
    if (precision == 9 || strtof_l(text, nullptr, c_locale()) == value) {
      out.append(text, size);
      return;
    }
  }
#endif
}

}  // namespace quiver
