// Conversions between JSON numbers and float32, both exact: to the nearest float, and to the shortest decimal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace quiver {

struct NumberRun {
  // The byte behind the last of them.
  const char* end;
  size_t count;
};

// Reads JSON numbers (RFC 8259: no sign but '-', no leading zeros, digits on both sides of a point) from `at` on, as
// long as there is nothing but a comma, and one space at most, between one and the next. The first `kept_max` are added
// to `kept`, each as the float32 nearest to the decimal, ties to even; infinity beyond the range, a signed zero below
// it. A count of 0: at `at` there is no JSON number.
NumberRun parse_json_numbers(const char* at, const char* end, size_t kept_max, std::vector<float>& kept);

// The same; those that are kept are written to `kept`, which need not be aligned.
NumberRun parse_json_numbers(const char* at, const char* end, size_t kept_max, char* kept);

// Appends the shortest decimal that parses back to `value`; "null" if JSON has no number for it.
void append_shortest(float value, std::string& out);

}  // namespace quiver
