#pragma once

#include <rocksdb/slice.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace quiver {

/**
 * Calls `take(key, value)` for entries as node/engine/kv/packed-entries.ts writes them: u32 key bytes, u32 value bytes
 * (little-endian), key, value, one after the other. Throws std::invalid_argument where they are cut.
 */
template <class Take>
void for_each_entry(const char* bytes, size_t size, const Take& take) {
  constexpr size_t kHeadBytes = 2 * sizeof(uint32_t);
  for (size_t at = 0; at < size;) {
    uint32_t lengths[2];
    if (size - at < kHeadBytes) throw std::invalid_argument("an entry is cut");
    std::memcpy(lengths, bytes + at, kHeadBytes);
    at += kHeadBytes;
    if (size - at < size_t(lengths[0]) + lengths[1]) throw std::invalid_argument("an entry is cut");
    take(rocksdb::Slice(bytes + at, lengths[0]), rocksdb::Slice(bytes + at + lengths[0], lengths[1]));
    at += size_t(lengths[0]) + lengths[1];
  }
}

}  // namespace quiver
