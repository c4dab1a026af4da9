// One pass over the UTF-8 text of a JSON request body that takes the number arrays of vectors out of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace quiver {

// What a scan took out: `rest` is the body with every vector replaced by the JSON string "<nonce><start>:<end>", which
// says that the vector is floats[start .. end).
struct ScannedBody {
  std::string rest;
  std::vector<float> floats;
};

// Takes the arrays at root.vector, root.items[*].vector and root.queries[*].vector out of `text` where they hold
// nothing but JSON numbers; each number becomes the nearest float32 (one rounding; infinity past the range). Everything
// else is copied as it is, so what JSON.parse makes of `rest` is what it would have made of the body. Of an array
// longer than `length_max` only length_max + 1 elements are kept, enough to see that it is too long.
// False when the structure around the vectors is not that of a JSON object: the caller parses the body itself.
// Does not recurse into the body's nesting; uses no state beside its arguments.
bool scan_body(const char* text, size_t size, const std::string& nonce, size_t length_max, ScannedBody& out);

// Appends the array as JSON text, each number as the shortest decimal that gives the same float32 (non-finite: null).
void format_vector(const float* values, size_t count, std::string& out);

}  // namespace quiver
