// Answers as JSON text, written where they are sent from.
#pragma once

#include <cstddef>

namespace quiver {

// The most that write_number writes: -1.2345678901234567e-123.
constexpr size_t kNumberBytesMax = 25;

// Writes the number to `target` as JavaScript's String(value) does (ECMA-262, Number::toString), which is the shortest
// that reads back as the same. Infinity becomes the largest double, NaN 0. Answers the place behind it.
char* write_number(double value, char* target);

// Writes hits (shared/wire/codecs/hit-codec.ts, with texts of bytes) to `target` from `at` on, as a JSON array of
// objects with external_id, score and metadata, in the form of hitJson. Answers the place behind it; 0 where that would
// not fit before `capacity`, or where the hits are malformed.
size_t write_hits(const char* hits, size_t size, char* target, size_t at, size_t capacity);

}  // namespace quiver
