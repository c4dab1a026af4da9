#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace quiver {

// Characters somewhere else: one byte for each if all are below U+0100, otherwise UTF-16. Each string has one form.
struct Characters {
  const uint8_t* data = nullptr;
  uint32_t count = 0;
  bool wide = false;

  size_t bytes() const { return wide ? size_t(count) * 2 : count; }
  uint16_t at(uint32_t i) const {
    if (!wide) return data[i];
    uint16_t unit;
    std::memcpy(&unit, data + size_t(i) * 2, 2);
    return unit;
  }
};

/**
 * Reads what node/engine/filter/filter-words.ts writes: words of 32 bits, with strings as (characters × 2 + wide) and
 * their bytes, and numbers as two words. Throws std::invalid_argument at the end.
 */
class WordReader {
 public:
  WordReader(const uint32_t* words, size_t count) : at_(words), end_(words + count) {}

  bool at_end() const { return at_ == end_; }
  uint32_t next() { return *skip(1); }
  // So many of them.
  const uint32_t* some(size_t count) { return skip(count); }
  double number() {
    double value;
    std::memcpy(&value, skip(2), sizeof value);
    return value;
  }
  Characters characters() {
    const uint32_t head = next();
    Characters text;
    text.count = head >> 1;
    text.wide = (head & 1) != 0;
    text.data = reinterpret_cast<const uint8_t*>(skip((text.bytes() + 3) / 4));
    return text;
  }

 private:
  const uint32_t* skip(size_t count) {
    if (size_t(end_ - at_) < count) throw std::invalid_argument("words end early");
    const uint32_t* from = at_;
    at_ += count;
    return from;
  }

  const uint32_t* at_;
  const uint32_t* end_;
};

}  // namespace quiver
