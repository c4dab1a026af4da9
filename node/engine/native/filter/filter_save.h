#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "filter_index.h"

namespace quiver {

/**
 * The saved form of what a field holds: parts of the file of node/engine/filter/filter-index-codec.ts, which says in
 * what order they come. All on the index's own thread.
 *
 * A slot set: u32 number of chunks, then for each u32 (high half × 2 + 1 for a bitmap), and either 2,048 words or u32
 * count and that many sorted u16. A posting: u8 0 for none, 1 with u32 for one slot, 2 with a slot set.
 */
std::string saved_slots(const Posting& posting);
// The postings of present, null, true and false.
std::string saved_postings(const FilterField& field);
/**
 * Up to `count` values of a kind with an id from `from` on: u32 count, the keys, the postings. Numbers are f64; strings
 * are u8 wide, a u32 length for each, and the characters of all. Empty if there are none. `next`: the id to continue
 * with, or −1.
 */
std::string saved_values(const FilterField& field, ValueKind kind, uint32_t from, uint32_t count, int64_t& next);

// Saved bytes as they are read. Throws std::invalid_argument where they end early.
struct SavedBytes {
  const uint8_t* data;
  size_t size;
  size_t at;

  const uint8_t* skip(size_t bytes);
  uint8_t u8() { return *skip(1); }
  uint32_t u32();
};

// Each reads what the function above wrote, and adds it to what is there. Throw std::invalid_argument on malformed
// bytes.
void load_slots(Heap& heap, Posting& posting, SavedBytes& bytes);
void load_postings(Heap& heap, FilterField& field, SavedBytes& bytes);
/// Without the count, which is given. Answers how many values are new.
uint32_t load_values(Heap& heap, FilterField& field, ValueKind kind, uint32_t count, SavedBytes& bytes);

}  // namespace quiver
