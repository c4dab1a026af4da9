#include "utf8.h"

#include <cstdint>
#include <cstring>

namespace quiver {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080;

bool in(unsigned char byte, unsigned char from, unsigned char to) { return byte >= from && byte <= to; }

}  // namespace

bool is_utf8(const char* text, size_t size) {
  const auto* at = reinterpret_cast<const unsigned char*>(text);
  const auto* end = at + size;
  while (at < end) {
    // Most texts are ASCII, all or nearly.
    uint64_t words[4];
    while (end - at >= 32 &&
           (std::memcpy(words, at, 32), ((words[0] | words[1] | words[2] | words[3]) & kHighBits) == 0))
      at += 32;
    if (at == end) break;
    uint64_t eight;
    if (end - at >= 8 && (std::memcpy(&eight, at, 8), (eight & kHighBits) == 0)) {
      at += 8;
      continue;
    }
    const unsigned char first = *at;
    if (first < 0x80) {
      ++at;
      continue;
    }
    // Table 3-7 of the Unicode standard: only the second byte's range depends on the first.
    const int following = in(first, 0xC2, 0xDF) ? 1 : in(first, 0xE0, 0xEF) ? 2 : in(first, 0xF0, 0xF4) ? 3 : 0;
    if (following == 0 || end - at <= following) return false;
    const unsigned char from = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char to = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (!in(at[1], from, to)) return false;
    for (int i = 2; i <= following; ++i) {
      if (!in(at[i], 0x80, 0xBF)) return false;
    }
    at += following + 1;
  }
  return true;
}

}  // namespace quiver
