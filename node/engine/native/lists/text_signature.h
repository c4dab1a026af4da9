#pragma once

#include <cstddef>
#include <cstdint>

namespace quiver {

/**
 * Which trigrams a text has, about: a bit for each of them, by a hash. A text that has another text within has all its
 * bits (superimposed coding: Knuth, TAOCP 3, 6.5). Of the text without the difference of cases, so that one signature
 * serves both ways to compare.
 */
struct TextSignature {
  uint64_t low = 0, high = 0;

  void add(uint16_t a, uint16_t b, uint16_t c) {
    uint64_t hash = ((uint64_t(a) << 32) | (uint64_t(b) << 16) | c) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9ull;
    const uint32_t bit = uint32_t(hash >> 57);
    (bit < 64 ? low : high) |= uint64_t(1) << (bit % 64);
  }
  bool is_empty() const { return (low | high) == 0; }
  // Whether this one has all bits of the other.
  bool has(const TextSignature& other) const { return (other.low & ~low) == 0 && (other.high & ~high) == 0; }
  // Has all bits, so that nothing is left out.
  static TextSignature unknown() { return {~uint64_t(0), ~uint64_t(0)}; }
};

}  // namespace quiver
