// The operations of a bulk write, divided among the shards of its collection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quiver {

// What goes to one shard.
struct BulkPart {
  uint32_t shard = 0;
  // Bytes of its write.
  size_t size = 0;
  // Which operations of the whole write it has, ascending.
  std::vector<uint32_t> places;
};

// MurmurHash3 of the id's UTF-16 code units: the same number as hashExternalId of shared/contract/shard/shard-of.ts.
// `id` is UTF-8, and well-formed, or UTF-16LE.
uint32_t hash_of_id(const char* id, size_t size, bool is_utf16);

// Divides a write of upserts, as encode_bulk makes it, among so many shards: each item goes to the shard of its id.
// Parts without operations are left out; the others ascend by shard. Operations stay as they are, and in order; with a
// `ttl_ms` (0: none), each says that its item expires after so long, unless it has a time of its own.
class BulkDivision {
 public:
  // At least one shard.
  BulkDivision(const char* write, size_t size, uint32_t shards, double ttl_ms)
      : write_(write), size_(size), shards_(shards), ttl_ms_(ttl_ms) {}

  // False if the write is not of that form; nothing is to be made of it then.
  bool divide();
  const std::vector<BulkPart>& parts() const { return parts_; }
  // Writes a part's `size` bytes to `target`.
  void write_part(const BulkPart& part, char* target) const;

 private:
  const char* const write_;
  const size_t size_;
  const uint32_t shards_;
  const double ttl_ms_;
  // Where each operation begins, and last the end.
  std::vector<size_t> starts_;
  std::vector<BulkPart> parts_;
};

}  // namespace quiver
