// Conversions between JSON numbers and float32, both exact: to the nearest float, and to the shortest decimal.
#pragma once

#include <string>

namespace quiver {

// Reads one JSON number (RFC 8259: no sign but '-', no leading zeros, digits on both sides of a point) that starts at
// `at`. Sets `value` to the float32 nearest to the decimal, ties to even; infinity beyond the range, a signed zero
// below it. Answers the first byte after the number, or null if there is no JSON number at `at`.
const char* parse_json_number(const char* at, const char* end, float& value);

// Appends the shortest decimal that parses back to `value`; "null" if JSON has no number for it.
void append_shortest(float value, std::string& out);

}  // namespace quiver
