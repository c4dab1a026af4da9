#pragma once

#include <cstdint>

#include "filter/filter_words.h"
#include "heap.h"

namespace quiver {

/**
 * The two kinds of keys of a ValueDictionary. A stored key is one word: a number's bits, or the address of a string.
 * Hashes are secret for the life of the process, so that nobody can choose values that collide.
 */
struct NumberKeys {
  using Key = double;
  static uint32_t hash(double key);
  static uint32_t stored_hash(uint64_t stored) { return hash(key_of(stored)); }
  static bool equal(uint64_t stored, double key) { return key_of(stored) == key; }
  // Below 0, 0 or above 0: the stored key compared with `key`.
  static int compare(uint64_t stored, double key) {
    const double own = key_of(stored);
    return own < key ? -1 : own > key ? 1 : 0;
  }
  static bool is_long(double) { return false; }
  static uint64_t store(Heap&, double key);
  static void release(Heap&, uint64_t) {}
  static void retire(Heap&, uint64_t) {}
  static double key_of(uint64_t stored) {
    double key;
    std::memcpy(&key, &stored, sizeof key);
    return key;
  }
};

/// Strings are compared by UTF-16 code units, as JavaScript does. A stored key 0 is one that is gone, taken for "".
struct StringKeys {
  // Characters that the key of a long string keeps, before its digest of 32; shared/contract/shard/value-key.ts has
  // the same.
  static constexpr uint32_t kKeptCharacters = 128;

  using Key = Characters;
  static uint32_t hash(const Characters& key);
  static uint32_t stored_hash(uint64_t stored);
  static bool equal(uint64_t stored, const Characters& key);
  static int compare(uint64_t stored, const Characters& key);
  static int compare(const Characters& a, const Characters& b);
  // The beginning of the stored key, as long as the prefix, compared with it.
  static int compare_beginning(uint64_t stored, const Characters& prefix);
  // Whether the key has the beginning of its string alone.
  static bool is_long(const Characters& key) { return key.count > kKeptCharacters; }
  static uint64_t store(Heap& heap, const Characters& key);
  static void release(Heap& heap, uint64_t stored);
  static void retire(Heap& heap, uint64_t stored);
  static Characters key_of(uint64_t stored);
};

}  // namespace quiver
