#include "graph.h"

#include <algorithm>
#include <cstring>

namespace quiver {

namespace {

LinkWidth width_for(size_t rows, bool compact) {
  // All ones stand for −1.
  if (compact && rows < (size_t(1) << 20)) return LinkWidth::kBits20;
  if (compact && rows < (size_t(1) << 24)) return LinkWidth::kBits24;
  return LinkWidth::kBits32;
}

size_t stride_for(size_t degree, LinkWidth width) {
  if (width == LinkWidth::kBits32) return degree * sizeof(int32_t);
  const size_t high_bytes = width == LinkWidth::kBits20 ? (degree + 1) / 2 : degree;
  return ((degree * 2 + 7) / 8 + (high_bytes + 7) / 8) * 8;
}

}  // namespace

Graph::Graph(size_t rows, size_t degree, size_t upper_degree, bool compact)
    : rows_(rows),
      degree_(degree),
      upper_degree_(upper_degree),
      width_(width_for(rows, compact)),
      stride_(stride_for(degree, width_)),
      pages_(rows * stride_ + 8) {}

template <LinkWidth kWidth>
void Graph::read_narrow(size_t row, int32_t* out) const {
  uint64_t copy[kWordsMax];
  const uint64_t* from = reinterpret_cast<const uint64_t*>(packed(row));
  const size_t count = words();
  for (size_t i = 0; i < count; i++) copy[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(copy);
  const uint8_t* high = bytes + low_words() * 8;
  const uint32_t rows = uint32_t(rows_);
  const auto link_of = [&](size_t j, uint32_t top) {
    uint16_t low;
    std::memcpy(&low, bytes + 2 * j, sizeof low);
    const uint32_t link = uint32_t(low) | top << 16;
    // −1 is no row, and neither is what a writer has half written.
    out[j] = link < rows ? int32_t(link) : -1;
  };
  if (kWidth == LinkWidth::kBits24) {
    for (size_t j = 0; j < degree_; j++) link_of(j, high[j]);
  } else {
    // The first half of the links has the low halves of the bytes.
    const size_t half = (degree_ + 1) / 2;
    for (size_t j = 0; j < half; j++) link_of(j, high[j] & 15u);
    for (size_t j = half; j < degree_; j++) link_of(j, uint32_t(high[j - half] >> 4));
  }
}

template void Graph::read_narrow<LinkWidth::kBits20>(size_t row, int32_t* out) const;
template void Graph::read_narrow<LinkWidth::kBits24>(size_t row, int32_t* out) const;

void Graph::read_list(size_t row, int32_t* out) const {
  if (width_ == LinkWidth::kBits20) return read_narrow<LinkWidth::kBits20>(row, out);
  if (width_ == LinkWidth::kBits24) return read_narrow<LinkWidth::kBits24>(row, out);
  for (size_t j = 0; j < degree_; j++) out[j] = __atomic_load_n(&links(row)[j], __ATOMIC_RELAXED);
}

void Graph::write_list(size_t row, const int32_t* list) {
  if (width_ == LinkWidth::kBits32) {
    for (size_t j = 0; j < degree_; j++) __atomic_store_n(&links(row)[j], list[j], __ATOMIC_RELAXED);
    return;
  }
  uint64_t copy[kWordsMax] = {};
  uint8_t* bytes = reinterpret_cast<uint8_t*>(copy);
  uint8_t* high = bytes + low_words() * 8;
  const size_t half = (degree_ + 1) / 2;
  for (size_t j = 0; j < degree_; j++) {
    const uint32_t link = uint32_t(list[j]);
    const uint16_t low = uint16_t(link);
    std::memcpy(bytes + 2 * j, &low, sizeof low);
    if (width_ == LinkWidth::kBits24) {
      high[j] = uint8_t(link >> 16);
    } else if (j < half) {
      high[j] = uint8_t(link >> 16 & 15);
    } else {
      high[j - half] |= uint8_t((link >> 16 & 15) << 4);
    }
  }
  uint64_t* to = reinterpret_cast<uint64_t*>(pages_.data() + row * stride_);
  for (size_t i = 0; i < words(); i++) {
    if (to[i] != copy[i]) __atomic_store_n(&to[i], copy[i], __ATOMIC_RELAXED);
  }
}

size_t Graph::memory_bytes() const {
  return rows_ * stride_ + upper.size() * sizeof(UpperNode) + upper_links.size() * sizeof(int32_t);
}

}  // namespace quiver
