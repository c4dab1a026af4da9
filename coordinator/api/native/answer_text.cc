#include "answer_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace quiver {

namespace {

// As in hit-codec.ts.
constexpr size_t kHeaderBytes = 8;
constexpr size_t kHitBytes = 20;
constexpr uint32_t kBytesEncoding = 2;

// What stands around the id, the score and the metadata of a hit.
constexpr char kBeforeId[] = "{\"external_id\":\"";
constexpr char kBeforeScore[] = "\",\"score\":";
constexpr char kBeforeMetadata[] = ",\"metadata\":";
// With the comma before, the brace behind, and the array's end: each of the three texts counts its zero, which is not
// written.
constexpr size_t kAroundBytes = sizeof kBeforeId + sizeof kBeforeScore + sizeof kBeforeMetadata;
// Of a character of an id: \u001f.
constexpr size_t kEscapeBytes = 6;

// Decimal digits of a positive number, without zeros at their ends: 0.d1d2… × 10^point.
struct Digits {
  char text[24];
  int count = 0;
  int point = 0;
};

// The shortest that read back as the same; of these, the nearest.
Digits shortest(double value) {
  char text[40];
#if defined(__cpp_lib_to_chars)
  const auto result = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific);
  const char* end = result.ptr;
#else
  int size = 0;
  for (int precision = 0; precision <= 16; ++precision) {
    size = std::snprintf(text, sizeof text, "%.*e", precision, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  const char* end = text + size;
#endif
  Digits digits;
  const char* at = text;
  for (; at < end && *at != 'e'; ++at) {
    // The point, which a locale may write otherwise.
    if (*at >= '0' && *at <= '9') digits.text[digits.count++] = *at;
  }
  while (digits.count > 1 && digits.text[digits.count - 1] == '0') --digits.count;
  // Not parsed as a whole: there is no end behind it.
  const bool is_negative = at + 1 < end && at[1] == '-';
  int exponent = 0;
  for (at += 2; at < end; ++at) exponent = exponent * 10 + (*at - '0');
  digits.point = (is_negative ? -exponent : exponent) + 1;
  return digits;
}

char* copied(const char* text, size_t size, char* target) {
  std::memcpy(target, text, size);
  return target + size;
}

template <size_t Size>
char* copied(const char (&text)[Size], char* target) {
  return copied(text, Size - 1, target);
}

char* zeros(int count, char* target) {
  std::memset(target, '0', count);
  return target + count;
}

// Whether JSON.stringify writes it otherwise.
bool is_escaped(unsigned char c) { return c < 0x20 || c == '"' || c == '\\'; }

char* write_escape(unsigned char c, char* target) {
  constexpr char kHex[] = "0123456789abcdef";
  *target++ = '\\';
  switch (c) {
    case '"':
    case '\\':
      *target++ = static_cast<char>(c);
      return target;
    case '\b':
      *target++ = 'b';
      return target;
    case '\t':
      *target++ = 't';
      return target;
    case '\n':
      *target++ = 'n';
      return target;
    case '\f':
      *target++ = 'f';
      return target;
    case '\r':
      *target++ = 'r';
      return target;
    default:
      target = copied("u00", target);
      *target++ = kHex[c >> 4];
      *target++ = kHex[c & 15];
      return target;
  }
}

uint32_t read_u32(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

char* write_number(double value, char* target) {
  if (value == 0 || std::isnan(value)) {
    *target++ = '0';
    return target;
  }
  if (value < 0) *target++ = '-';
  const double size = std::isinf(value) ? std::numeric_limits<double>::max() : std::fabs(value);
  const Digits digits = shortest(size);
  const auto& [text, count, point] = digits;
  if (count <= point && point <= 21) return zeros(point - count, copied(text, count, target));
  if (point > 0 && point <= 21) {
    target = copied(text, point, target);
    *target++ = '.';
    return copied(text + point, count - point, target);
  }
  if (point > -6 && point <= 0) return copied(text, count, zeros(-point, copied("0.", target)));
  *target++ = text[0];
  if (count > 1) {
    *target++ = '.';
    target = copied(text + 1, count - 1, target);
  }
  return target + std::snprintf(target, 7, "e%+d", point - 1);
}

size_t write_hits(const char* hits, size_t size, char* target, size_t at, size_t capacity) {
  if (size < kHeaderBytes || read_u32(hits + 4) != kBytesEncoding) return 0;
  const size_t count = read_u32(hits);
  if (count > (size - kHeaderBytes) / kHitBytes) return 0;
  const char* one = hits + kHeaderBytes;
  const char* text = one + count * kHitBytes;
  const char* const end = hits + size;
  char* out = target + at;
  char* const full = target + capacity;
  if (at > capacity || full - out < 2) return 0;
  *out++ = '[';
  for (size_t i = 0; i < count; ++i, one += kHitBytes) {
    double score;
    std::memcpy(&score, one, sizeof score);
    const size_t id_bytes = read_u32(one + 8);
    const size_t metadata_bytes = read_u32(one + 12);
    const size_t left = static_cast<size_t>(end - text);
    if (id_bytes > left || metadata_bytes > left - id_bytes) return 0;
    if (static_cast<size_t>(full - out) < kAroundBytes + kNumberBytesMax + id_bytes * kEscapeBytes + metadata_bytes)
      return 0;
    if (i > 0) *out++ = ',';
    out = copied(kBeforeId, out);
    for (size_t c = 0; c < id_bytes; ++c) {
      const unsigned char byte = static_cast<unsigned char>(text[c]);
      if (is_escaped(byte)) {
        out = write_escape(byte, out);
      } else {
        *out++ = static_cast<char>(byte);
      }
    }
    out = write_number(score, copied(kBeforeScore, out));
    out = copied(text + id_bytes, metadata_bytes, copied(kBeforeMetadata, out));
    *out++ = '}';
    text += id_bytes + metadata_bytes;
  }
  *out++ = ']';
  return static_cast<size_t>(out - target);
}

}  // namespace quiver
