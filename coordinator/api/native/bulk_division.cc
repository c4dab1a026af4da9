#include "bulk_division.h"

#include <cstring>
#include <utility>

#include "utf8.h"

namespace quiver {
namespace {

// operation-format.ts has the same numbers.
constexpr uint32_t kTimedVersion = 5;
constexpr size_t kHeaderBytes = 16;
constexpr size_t kUpsertBytes = 28;
constexpr size_t kNumberBytes = 8;
constexpr uint32_t kTypeUpsert = 1;
constexpr uint32_t kFlagIdUtf16 = 4;
constexpr uint32_t kFlagTtl = 8192;
// Metadata, text, and which strings are UTF-16.
constexpr uint32_t kItemFlags = 31;

// The host is little-endian, as the format is.
uint32_t get32(const char* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

void put32(char* at, uint32_t value) { std::memcpy(at, &value, sizeof value); }

uint32_t rotated(uint32_t value, int bits) { return (value << bits) | (value >> (32 - bits)); }

// Takes the code units one by one.
class UnitHash {
 public:
  void add(uint32_t unit) {
    if (count_++ % 2 == 0) {
      first_ = unit;
      return;
    }
    hash_ = rotated(hash_ ^ mixed(first_ | unit << 16), 13) * 5 + 0xe6546b64;
  }

  uint32_t end() const {
    uint32_t hash = count_ % 2 == 0 ? hash_ : hash_ ^ mixed(first_);
    hash ^= count_ * 2;
    hash = (hash ^ hash >> 16) * 0x85ebca6b;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35;
    return hash ^ hash >> 16;
  }

 private:
  static uint32_t mixed(uint32_t block) { return rotated(block * 0xcc9e2d51, 15) * 0x1b873593; }

  uint32_t hash_ = 0;
  uint32_t first_ = 0;
  uint32_t count_ = 0;
};

}  // namespace

uint32_t hash_of_id(const char* id, size_t size, bool is_utf16) {
  const auto* at = reinterpret_cast<const unsigned char*>(id);
  const auto* end = at + size;
  UnitHash hash;
  if (is_utf16) {
    for (; end - at >= 2; at += 2) hash.add(at[0] | static_cast<uint32_t>(at[1]) << 8);
    return hash.end();
  }
  while (at < end) {
    const uint32_t first = *at++;
    if (first < 0x80) {
      hash.add(first);
      continue;
    }
    const int following = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    uint32_t point = first & (0x3F >> following);
    for (int i = 0; i < following && at < end; ++i) point = point << 6 | (*at++ & 0x3F);
    if (point < 0x10000) {
      hash.add(point);
    } else {
      hash.add(0xD800 + ((point - 0x10000) >> 10));
      hash.add(0xDC00 + ((point - 0x10000) & 0x3FF));
    }
  }
  return hash.end();
}

bool BulkDivision::divide() {
  if (size_ < kHeaderBytes || get32(write_) != kTimedVersion) return false;
  const size_t count = get32(write_ + 4);
  if (count > (size_ - kHeaderBytes) / kUpsertBytes) return false;
  const size_t more = ttl_ms_ > 0 ? kNumberBytes : 0;
  std::vector<BulkPart> all(shards_);
  starts_.reserve(count + 1);
  size_t at = kHeaderBytes;
  for (size_t i = 0; i < count; ++i) {
    if (size_ - at < kUpsertBytes) return false;
    const char* head = write_ + at;
    const uint32_t kind = get32(head);
    const uint32_t flags = kind >> 8;
    if ((kind & 0xFF) != kTypeUpsert || (flags & ~kItemFlags) != 0) return false;
    const size_t id_bytes = get32(head + 4);
    const size_t vector_bytes = static_cast<size_t>(get32(head + 16)) * sizeof(float);
    const size_t bytes = (kUpsertBytes + vector_bytes + id_bytes + get32(head + 20) + get32(head + 24) + 3) / 4 * 4;
    if (bytes > size_ - at) return false;
    const char* id = head + kUpsertBytes + vector_bytes;
    const bool is_utf16 = (flags & kFlagIdUtf16) != 0;
    if (is_utf16 ? id_bytes % 2 != 0 : !is_utf8(id, id_bytes)) return false;
    BulkPart& part = all[shards_ == 1 ? 0 : hash_of_id(id, id_bytes, is_utf16) % shards_];
    part.places.push_back(static_cast<uint32_t>(i));
    part.size += bytes + more;
    starts_.push_back(at);
    at += bytes;
  }
  starts_.push_back(at);
  if (at != size_) return false;
  for (uint32_t shard = 0; shard < shards_; ++shard) {
    if (all[shard].places.empty()) continue;
    all[shard].shard = shard;
    all[shard].size += kHeaderBytes;
    parts_.push_back(std::move(all[shard]));
  }
  return true;
}

void BulkDivision::write_part(const BulkPart& part, char* target) const {
  std::memcpy(target, write_, kHeaderBytes);
  put32(target + 4, static_cast<uint32_t>(part.places.size()));
  char* at = target + kHeaderBytes;
  for (const uint32_t place : part.places) {
    const size_t bytes = starts_[place + 1] - starts_[place];
    std::memcpy(at, write_ + starts_[place], bytes);
    if (ttl_ms_ > 0) {
      put32(at, get32(at) | kFlagTtl << 8);
      std::memcpy(at + bytes, &ttl_ms_, sizeof ttl_ms_);
      at += kNumberBytes;
    }
    at += bytes;
  }
}

}  // namespace quiver
