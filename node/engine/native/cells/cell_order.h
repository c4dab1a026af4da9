#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "cells.h"
#include "files/disk_waits.h"
#include "search/query.h"
#include "rows/row_store.h"

namespace quiver {

/// Cells that are asked of the disk before they are looked through.
constexpr size_t kCellsAhead = 4;

/// A cell with the key of its centre.
struct RankedCell {
  float key;
  uint32_t number;
};

/// What an order of cells needs, kept between searches.
struct CellScratch {
  std::vector<float> keys, sample;
  std::vector<RankedCell> part, taken;
};

/**
 * The cells of a search in the order of their centres' keys, best first. Most are never asked for, so they are sorted
 * in parts: a few at first, and then those that can still matter, roughly.
 */
class CellOrder {
 public:
  CellOrder(const Cells& cells, const Query& query, CellScratch& scratch)
      : keys_(scratch.keys), part_(scratch.part), taken_(scratch.taken) {
    const Codes& centres = cells.centres();
    keys_.resize(cells.count());
    const uint8_t* codes[kTogether] = {};
    int32_t products[kTogether];
    for (size_t first = 0; first < keys_.size(); first += kTogether) {
      const size_t count = std::min(kTogether, keys_.size() - first);
      for (size_t j = 0; j < count; j++) codes[j] = centres.code(first + j);
      centres.dot(codes, count, query.code(), centres.padded, products);
      for (size_t j = 0; j < count; j++) keys_[first + j] = query.key(products[j], centres.meta(first + j));
    }
    std::vector<float>& sample = scratch.sample;
    sample.clear();
    for (size_t i = kSampled / 2; i < keys_.size(); i += kSampled) sample.push_back(keys_[i]);
    std::sort(sample.begin(), sample.end(), std::greater<float>());
    sample_ = sample.data();
    sampled_ = sample.size();
    part_.clear();
  }

  // The next one whose key is `least` or more. Others are left for good.
  const RankedCell* next(float least) {
    while (true) {
      while (place_ < part_.size() && part_[place_].key < least) place_++;
      if (place_ < part_.size()) return &part_[place_++];
      if (lowest_ <= least) return nullptr;
      take_part(least);
    }
  }

  // What `next` will answer after so many others, unless that is in another part.
  const RankedCell* ahead(size_t others) const {
    return place_ + others < part_.size() ? &part_[place_ + others] : nullptr;
  }
  // Whether the last one was the first of its part.
  bool is_first() const { return place_ == 1; }

  // How many more there are down to `least`.
  size_t left(float least) const {
    const size_t below =
        size_t(std::count_if(keys_.begin(), keys_.end(), [&](float key) { return key >= least && key < lowest_; }));
    return below + part_.size() - place_;
  }

 private:
  // Centres that are scored together.
  static constexpr size_t kTogether = 64;
  static constexpr size_t kSampled = 32, kRoughRank = 16, kBuckets = 64;

  // Those below the ones before, down to `least` or to the key of a rank that is four times as deep.
  void take_part(float least) {
    rank_ = rank_ == 0 ? 1 : 4 * rank_;
    const float above = lowest_;
    const float deep = rank_ < sampled_ ? sample_[rank_] : -std::numeric_limits<float>::infinity();
    lowest_ = std::max(deep, least);
    place_ = 0;
    part_.clear();
    if (rank_ < kRoughRank || !std::isfinite(above - lowest_)) {
      for (size_t cell = 0; cell < keys_.size(); cell++) {
        if (keys_[cell] >= lowest_ && keys_[cell] < above) part_.push_back({keys_[cell], uint32_t(cell)});
      }
      std::sort(part_.begin(), part_.end(), [](const RankedCell& a, const RankedCell& b) { return a.key > b.key; });
    } else {
      take_roughly(above);
    }
  }

  // The same for many: by passes without a branch, since the processor could not predict it. Only those of about the
  // same key are in any order.
  void take_roughly(float above) {
    const float least = lowest_;
    const size_t cells = keys_.size();
    const float* keys = keys_.data();
    taken_.resize(cells);
    RankedCell* taken = taken_.data();
    size_t count = 0;
    for (size_t cell = 0; cell < cells; cell++) {
      const float key = keys[cell];
      taken[count] = {key, uint32_t(cell)};
      count += size_t((key >= least) & (key < above));
    }
    const float scale = float(kBuckets) / (above - least);
    const auto bucket_of = [&](float key) { return std::min(kBuckets - 1, size_t((above - key) * scale)); };
    uint32_t starts[kBuckets + 1] = {};
    for (size_t i = 0; i < count; i++) starts[bucket_of(taken[i].key) + 1]++;
    for (size_t b = 0; b < kBuckets; b++) starts[b + 1] += starts[b];
    part_.resize(count);
    for (size_t i = 0; i < count; i++) part_[starts[bucket_of(taken[i].key)]++] = taken[i];
  }

  std::vector<float>& keys_;
  std::vector<RankedCell>& part_;
  std::vector<RankedCell>& taken_;
  const float* sample_;
  size_t sampled_, place_ = 0, rank_ = 0;
  // All with at least this key were in a part.
  float lowest_ = std::numeric_limits<float>::infinity();
};

/// Asks the disk for the codes of a cell whose rows lie together.
inline void ask_ahead(const RowStore& rows, const Cells& cells, const RankedCell* cell) {
  if (!cells.sorted() || cells.size(cell->number) == 0) return;
  const size_t first = cells.first_row(cell->number), last = first + cells.size(cell->number) - 1;
  // Two blocks lie anywhere.
  if (rows.code(last) != rows.code(first) + (last - first) * rows.codes().bytes) return;
  ask_disk(rows.code(first), rows.code(last) + rows.codes().bytes);
  ask_disk(&rows.meta(first), &rows.meta(last) + 1);
}

}  // namespace quiver
