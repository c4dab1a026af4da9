// One pass over the text of a JSON request body that judges it before anything is built of it, and takes the number
// arrays of vectors out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quiver {

// What a body may hold, and where its parts are.
struct ScanBounds {
  // Key, with its quotes, of the root's member whose elements are parsed one by one; empty when there is none.
  std::string list;
  // Of a longer list the elements beyond are judged and counted, but not kept.
  size_t list_length_max;
  // Numbers kept of a vector, less one.
  size_t vector_length_max;
  // Objects and arrays inside one another.
  size_t depth_max;
  // Values, at any depth, of one element of the list, and of all the rest; the numbers of vectors do not count.
  size_t values_max;
  // Likewise members of objects, each of which costs many times a plain value: keys are kept once for all the process.
  size_t keys_max;
  // Bytes of one element of the list, and of all the rest of a body that has one.
  size_t bytes_max;
};

// What is wrong with a body; the numbers are known to body-scanner.ts.
enum class Flaw { kNone = 0, kEncoding = 1, kSyntax = 2, kDepth = 3, kValues = 4, kBytes = 5, kKeys = 6 };

// A body that was judged. Without a flaw:
//   `root` is the body with every vector replaced by the JSON string "<nonce><start>:<end>", which says that the vector is
//   floats[start .. end), and the list by the JSON string "<nonce>". `elements` is the text of the list's elements,
//   likewise; elements[parts[2i] .. parts[2i+1]) is a run of whole elements with the commas between them.
struct ScannedBody {
  Flaw flaw = Flaw::kNone;
  // The byte at which the flaw was met, and whether that is within the list: then list_length is the element's index.
  size_t at = 0;
  bool is_in_list = false;
  std::string root;
  bool has_list = false;
  size_t list_length = 0;
  std::string elements;
  std::vector<uint32_t> parts;
  std::vector<float> floats;
};

// Judges `text` from left to right: UTF-8 first, then the grammar of RFC 8259 (what JSON.parse takes) and the bounds, so
// that JSON.parse can't fail on any text that it gives back. Takes out the arrays at root.vector and list[*].vector that
// hold nothing but numbers; each number becomes the nearest float32 (one rounding; infinity past the range). Of doubled
// lists the last is kept, as JSON.parse keeps the last of doubled members; of doubled vectors only the first is taken out.
// Keys that are written with escapes are taken for other keys. What is left in the text that way, the caller meets as
// arrays in what JSON.parse makes.
// Time is linear and memory bounded in the size of the text, whatever it holds. Does not recurse, and keeps no state
// between calls: it may run on any thread.
ScannedBody scan_body(const char* text, size_t size, const std::string& nonce, const ScanBounds& bounds);

// Appends the array as JSON text, each number as the shortest decimal that gives the same float32 (non-finite: null).
void format_vector(const float* values, size_t count, std::string& out);

}  // namespace quiver
