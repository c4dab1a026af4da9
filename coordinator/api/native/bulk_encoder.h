// A bulk write's JSON body as the operations of a write, in one pass: what nearly all bulk writes look like never
// becomes an object of JavaScript for each of its items.
#pragma once

#include <cstddef>
#include <string>

#include "body_scanner.h"

namespace quiver {

// What an item may hold besides the bounds of the scan.
struct ItemBounds {
  // Of the metadata as JSON without spaces.
  size_t metadata_bytes_max;
  // Keys and elements of arrays, at any depth.
  size_t metadata_fields_max;
  // Nesting of objects and arrays; that of the metadata themselves counts.
  size_t metadata_depth_max;
  size_t id_characters_max;
};

struct EncodedBulk {
  // The body with "<nonce>" in the place of its list, as in a ScannedBody.
  std::string root;
  // Number of items.
  size_t count = 0;
  // Numbers in each vector.
  size_t dim = 0;
  // Bytes of the operations.
  size_t size = 0;
  // It gave up because the target was too small.
  bool is_full = false;
};

// Writes the items of the body's list to `target` as upserts in the format of
// shared/contract/writes/operation-format.ts: a write of version 5, whose moment and stamps are 0. Answers whether it
// did. It does so only if the body is one that scan_body accepts and each item has an id, a vector, perhaps metadata,
// and nothing else, all of them valid, and all vectors are of one length. It is strict instead of complete: escapes,
// names twice, numbers in unusual forms, any error, or an excess of a bound make it give up, and say nothing about the
// body. What it writes is to the byte what the long way stores: metadata are in the form of
// JSON.stringify(JSON.parse(…)). `target` may hold anything afterwards. Does not recurse deeper than
// metadata_depth_max, and keeps no state: it may run on any thread.
bool encode_bulk(const char* text, size_t size, const std::string& nonce, const ScanBounds& bounds,
                 const ItemBounds& items, char* target, size_t capacity, EncodedBulk& out);

}  // namespace quiver
