// One pass over the text of a JSON request body. It checks the body before anything is built from it, and extracts the
// number arrays of vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quiver {

// What a body may hold, and where its parts are.
struct ScanBounds {
  // Key, with its quotes, of the root's member whose elements are parsed one by one; empty if there is none.
  std::string list;
  // Elements beyond this number are checked and counted, but not kept.
  size_t list_length_max;
  // Numbers kept of a vector, less one.
  size_t vector_length_max;
  // Nesting of objects and arrays.
  size_t depth_max;
  // Values, at any depth, of one element of the list, and of all the rest; the numbers of vectors do not count.
  size_t values_max;
  // The same for members of objects. Each costs many times as much as a plain value, because V8 keeps keys once for the
  // whole process.
  size_t keys_max;
  // Bytes of one element of the list, and of all the rest of a body that has one.
  size_t bytes_max;
};

// What is wrong with a body. body-scanner.ts uses the same numbers.
enum class Flaw { kNone = 0, kEncoding = 1, kSyntax = 2, kDepth = 3, kValues = 4, kBytes = 5, kKeys = 6 };

// A body that was judged. Without a flaw:
//   `root` is the body with every vector replaced by the JSON string "<nonce><start>:<end>", which says that the vector
//   is floats[start .. end), and the list by the JSON string "<nonce>". `elements` is the text of the list's elements,
//   likewise; elements[parts[2i] .. parts[2i+1]) is a run of whole elements with the commas between them.
struct ScannedBody {
  Flaw flaw = Flaw::kNone;
  // The byte at which the flaw was found, and whether it is inside the list: then list_length is the element's index.
  size_t at = 0;
  bool is_in_list = false;
  std::string root;
  bool has_list = false;
  size_t list_length = 0;
  std::string elements;
  std::vector<uint32_t> parts;
  std::vector<float> floats;
  // A number outside of vectors is written with so many digits that a double may not hold it, if it is a whole one.
  bool has_long_integers = false;
};

// Checks `text` from left to right: UTF-8 first, then the grammar of RFC 8259 (what JSON.parse accepts) and the bounds,
// so that JSON.parse can't fail on any text that this returns. Extracts the arrays at root.vector and list[*].vector
// that hold only numbers; each number becomes the nearest float32 (one rounding; infinity beyond the range). Of
// repeated lists the last one counts, because JSON.parse keeps the last of repeated members; of repeated vectors only
// the first is extracted. A key written with escapes counts as another key. What stays in the text for these reasons,
// the caller finds as arrays in the result of JSON.parse. Time is linear and memory bounded in the size of the text,
// whatever it holds. Does not recurse, and keeps no state between calls: it may run on any thread.
ScannedBody scan_body(const char* text, size_t size, const std::string& nonce, const ScanBounds& bounds);

// Appends the array as JSON text, each number as the shortest decimal that gives the same float32 (non-finite: null).
void format_vector(const float* values, size_t count, std::string& out);

}  // namespace quiver
