#include "dictionary_keys.h"

#include <algorithm>
#include <random>

namespace quiver {

namespace {

struct StoredString {
  uint32_t hash;
  // characters × 2 + wide; the characters follow.
  uint32_t head;
};

struct Secret {
  uint32_t seed;
  uint32_t multiplier;
  Secret() {
    std::random_device device;
    seed = device();
    multiplier = device() | 1;
  }
};

const Secret& secret() {
  static const Secret only;
  return only;
}

// The finaliser of MurmurHash3 (Appleby, 2011): every bit of the result depends on every bit of the input.
uint32_t mixed(uint32_t hash) {
  hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
  return hash ^ (hash >> 16);
}

const StoredString* string_at(uint64_t stored) { return reinterpret_cast<const StoredString*>(stored); }

size_t bytes_of(const Characters& key) { return sizeof(StoredString) + key.bytes(); }

}  // namespace

uint32_t NumberKeys::hash(double key) {
  // Adding 0 turns −0 into 0, which it must equal.
  const double normal = key + 0.0;
  uint64_t bits;
  std::memcpy(&bits, &normal, sizeof bits);
  const uint32_t hash = ((secret().seed ^ uint32_t(bits)) * secret().multiplier);
  return mixed(((hash ^ (hash >> 15)) ^ uint32_t(bits >> 32)) * secret().multiplier);
}

uint64_t NumberKeys::store(Heap&, double key) {
  uint64_t bits;
  std::memcpy(&bits, &key, sizeof bits);
  return bits;
}

uint32_t StringKeys::hash(const Characters& key) {
  uint32_t hash = secret().seed;
  const uint32_t multiplier = secret().multiplier;
  if (key.wide) {
    for (uint32_t i = 0; i < key.count; i++) hash = (hash ^ key.at(i)) * multiplier;
  } else {
    for (uint32_t i = 0; i < key.count; i++) hash = (hash ^ key.data[i]) * multiplier;
  }
  return mixed(hash);
}

uint32_t StringKeys::stored_hash(uint64_t stored) { return stored == 0 ? 0 : string_at(stored)->hash; }

Characters StringKeys::key_of(uint64_t stored) {
  if (stored == 0) return {};
  const StoredString* text = string_at(stored);
  return {reinterpret_cast<const uint8_t*>(text + 1), text->head >> 1, (text->head & 1) != 0};
}

bool StringKeys::equal(uint64_t stored, const Characters& key) {
  const Characters own = key_of(stored);
  return own.count == key.count && own.wide == key.wide &&
         (key.count == 0 || std::memcmp(own.data, key.data, key.bytes()) == 0);
}

int StringKeys::compare(const Characters& a, const Characters& b) {
  const uint32_t shared = std::min(a.count, b.count);
  if (!a.wide && !b.wide) {
    const int order = shared == 0 ? 0 : std::memcmp(a.data, b.data, shared);
    if (order != 0) return order;
  } else {
    for (uint32_t i = 0; i < shared; i++) {
      if (a.at(i) != b.at(i)) return a.at(i) < b.at(i) ? -1 : 1;
    }
  }
  return a.count < b.count ? -1 : a.count > b.count ? 1 : 0;
}

int StringKeys::compare(uint64_t stored, const Characters& key) { return compare(key_of(stored), key); }

int StringKeys::compare_beginning(uint64_t stored, const Characters& prefix) {
  Characters key = key_of(stored);
  key.count = std::min(key.count, prefix.count);
  return compare(key, prefix);
}

uint64_t StringKeys::store(Heap& heap, const Characters& key) {
  void* block = heap.allocate(bytes_of(key));
  StoredString* text = static_cast<StoredString*>(block);
  text->hash = hash(key);
  text->head = key.count * 2 + (key.wide ? 1 : 0);
  if (key.count > 0) std::memcpy(text + 1, key.data, key.bytes());
  return reinterpret_cast<uint64_t>(block);
}

void StringKeys::release(Heap& heap, uint64_t stored) {
  if (stored != 0) heap.release(reinterpret_cast<void*>(stored), bytes_of(key_of(stored)));
}

void StringKeys::retire(Heap& heap, uint64_t stored) {
  if (stored != 0) heap.retire(reinterpret_cast<void*>(stored), bytes_of(key_of(stored)));
}

}  // namespace quiver
