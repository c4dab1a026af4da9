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

namespace quiver {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 10^22 is the last power of ten that a double holds exactly.
constexpr int kExactPower = 22;
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

// Clinger's fast path ("How to read floating point numbers accurately", 1990) in double, then one rounding to float. A
// correctly rounded double gives the correct float, unless it is exactly in the middle between two floats (bit 28 set
// and none below it). In that case, and outside float's normal range, this answers false.
bool parse_fast(uint64_t digits, int64_t exponent, float& value) {
  if (digits > (uint64_t{1} << 53) || exponent < -kExactPower || exponent > kExactPower) return false;
  const double wide = exponent < 0 ? static_cast<double>(digits) / kPowers[-exponent] : static_cast<double>(digits) * kPowers[exponent];
  if (wide == 0) {
    value = 0;
    return true;
  }
  uint64_t bits;
  std::memcpy(&bits, &wide, sizeof bits);
  if ((bits & 0x1FFFFFFF) == 0x10000000 || wide < FLT_MIN || wide > FLT_MAX) return false;
  value = static_cast<float>(wide);
  return true;
}

constexpr uint64_t kTens[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
constexpr uint64_t kZeros = 0x3030303030303030;

// The number that eight digits say, the first of them in the lowest byte: pairs, then fours, then all (Lemire, "Number
// parsing at a gigabyte per second", 2021).
uint64_t eight_digits(uint64_t text) {
  text -= kZeros;
  text = text * 10 + (text >> 8);
  constexpr uint64_t kMask = 0x000000FF000000FF;
  return (((text & kMask) * 0x000F424000000064) + (((text >> 16) & kMask) * 0x0000271000000001)) >> 32;
}

// The digits of a decimal, without its point, as one number.
struct Digits {
  uint64_t value = 0;
  // There were more than 64 bits hold.
  bool overflowed = false;

  // Takes the digits from `at` on, eight bytes at a time, and answers where they end.
  const char* read(const char* at, const char* end) {
    while (end - at >= 8) {
      uint64_t text;
      std::memcpy(&text, at, 8);
      // A byte is a digit if its high half is 3, and stays 3 when 6 is added. The lowest bit that is set is that of the
      // first byte that is none.
      const uint64_t others = ((text & 0xF0F0F0F0F0F0F0F0) ^ kZeros) | (((text + 0x0606060606060606) & 0xF0F0F0F0F0F0F0F0) ^ kZeros);
      if (others == 0) {
        append(eight_digits(text), 8);
        at += 8;
        continue;
      }
      const int count = __builtin_ctzll(others) / 8;
      // Zeros in front of fewer digits.
      if (count > 0) append(eight_digits(text << (64 - count * 8) | kZeros >> (count * 8)), count);
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

}  // namespace

const char* parse_json_number(const char* at, const char* end, float& value) {
  const char* begin = at;
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
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
    if (negative) value = -value;
  } else {
    value = parse_any(begin, at);
  }
  return at;
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
