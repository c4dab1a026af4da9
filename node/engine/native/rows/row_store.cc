#include "row_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "errors.h"

namespace quiver {

namespace {

// Rows of a file that are read at a time.
constexpr size_t kLoadedRows = 64;

}  // namespace

RowStore::RowStore(const RowKind& kind, const std::string& path, size_t rows)
    : metric(kind.metric),
      dim(kind.dim),
      kernels(kind.kernels),
      path(path),
      on_disk(kind.on_disk),
      codes_(kind.metric, kind.quantization, kind.dim, kind.kernels, kind.has_signs()),
      originals_(path, kind.dim, codes_.shift(), rows) {
  reserve(rows);
  count_ = rows;
}

void RowStore::reserve(size_t rows) {
  codes_.reserve(rows);
  slots_.reserve(rows);
  dead_.reserve((rows + 63) / 64);
}

void RowStore::reserve_slot(uint32_t slot) {
  if (slot < rows_of_slots_.capacity()) return;
  rows_of_slots_.reserve(size_t(slot) + 1);
  slot_capacity_.store(rows_of_slots_.capacity(), std::memory_order_release);
}

bool RowStore::is_extreme(size_t row) const {
  const RowMeta& m = codes_.meta(row);
  return out_of_range(metric == Metric::kCosine ? m.norm : m.scale * 127);
}

void RowStore::encode(size_t row, const float* vector) {
  if (codes_.encode(row, vector) && metric != Metric::kCosine) has_extreme_rows_.store(true, std::memory_order_release);
}

void RowStore::kill(uint32_t row) {
  dead_[row >> 6].fetch_or(uint64_t(1) << (row & 63), std::memory_order_release);
  live_.fetch_sub(1, std::memory_order_relaxed);
  if (row < watched_) watched_dead_.fetch_add(1, std::memory_order_relaxed);
}

void RowStore::append(const uint32_t* slots, const float* vectors, size_t count) {
  const size_t first = count_.load(std::memory_order_relaxed);
  if (first + count > kItemLimit) throw std::length_error("a vector index holds at most 2^30 rows between rebuilds");
  if (count == 0) return;
  reserve(first + count);
  reserve_slot(*std::max_element(slots, slots + count));
  originals_.append(vectors, count);
  for (size_t i = 0; i < count; i++) {
    encode(first + i, vectors + i * dim);
    slots_[first + i] = slots[i];
  }
  count_.store(first + count, std::memory_order_release);
  live_.fetch_add(count, std::memory_order_relaxed);
  for (size_t i = 0; i < count; i++) {
    const uint32_t before = rows_of_slots_[slots[i]].exchange(uint32_t(first + i + 1), std::memory_order_acq_rel);
    if (before != 0) kill(before - 1);
  }
  changes_.fetch_add(1, std::memory_order_release);
  if (on_disk) spill(first + count);
}

void RowStore::remove(const uint32_t* slots, size_t count) {
  for (size_t i = 0; i < count; i++) {
    // Most are not there where an index has several stores; memory that was never written stays untouched.
    if (slots[i] >= rows_of_slots_.capacity() || rows_of_slots_[slots[i]].load(std::memory_order_relaxed) == 0)
      continue;
    const uint32_t before = rows_of_slots_[slots[i]].exchange(0, std::memory_order_acq_rel);
    if (before != 0) kill(before - 1);
  }
  changes_.fetch_add(1, std::memory_order_release);
}

template <class Take>
void RowStore::spill_with(const Take& take) {
  try {
    if (spill_ == nullptr) spill_ = std::make_unique<SpillFile>(path + ".codes", originals_.damage());
    take(*spill_);
  } catch (const StorageError&) {
    // A full disk, for example. Nothing is lost, and puts meet the same.
  }
}

void RowStore::spill(size_t rows) {
  if (rows >> codes_.shift() <= codes_.spilled() >> codes_.shift()) return;
  spill_with([&](SpillFile& file) {
    codes_.spill(rows, file);
    originals_.spill(rows, file);
  });
}

void RowStore::spill_all() {
  spill_with([&](SpillFile& file) {
    codes_.spill_all(file);
    originals_.spill_all(file);
  });
}

uint32_t RowStore::load_rows(size_t first, size_t count) {
  // In parts: the allocator keeps what each thread had at once.
  std::vector<float> vectors(std::min(count, kLoadedRows) * dim);
  uint32_t checksum = 0;
  for (size_t done = 0; done < count; done += kLoadedRows) {
    const size_t part = std::min(kLoadedRows, count - done);
    originals_.read(first + done, part, vectors.data());
    for (size_t i = 0; i < part; i++) {
      encode(first + done + i, &vectors[i * dim]);
      checksum = originals_.adopt(first + done + i, &vectors[i * dim], checksum);
    }
  }
  return checksum;
}

void RowStore::load_slots(const uint32_t* slots, const uint64_t* dead) {
  const size_t rows = count();
  size_t live = 0;
  for (size_t row = 0; row < rows; row++) {
    slots_[row] = slots[row];
    if ((dead[row >> 6] >> (row & 63) & 1) != 0) continue;
    reserve_slot(slots[row]);
    if (rows_of_slots_[slots[row]] != 0) throw StorageError("a saved vector index has two rows for a slot");
    rows_of_slots_[slots[row]] = uint32_t(row + 1);
    live++;
  }
  for (size_t word = 0; word < (rows + 63) / 64; word++) dead_[word] = dead[word];
  live_ = live;
}

void RowStore::watch(size_t rows) {
  size_t dead = 0;
  for (uint64_t word : dead_words(rows)) dead += size_t(__builtin_popcountll(word));
  watched_ = rows;
  watched_dead_.store(dead, std::memory_order_relaxed);
}

std::vector<uint64_t> RowStore::dead_words(size_t rows) const {
  std::vector<uint64_t> words((rows + 63) / 64);
  for (size_t word = 0; word < words.size(); word++) words[word] = dead_[word].load(std::memory_order_relaxed);
  if (rows % 64 != 0 && !words.empty()) words.back() &= (uint64_t(1) << (rows % 64)) - 1;
  return words;
}

size_t RowStore::memory_bytes() const {
  const size_t rows = count(), in_memory = rows - std::min(rows, codes_.spilled());
  return codes_.memory_bytes(in_memory) + in_memory * sizeof(uint32_t) + rows * sizeof(uint32_t) + rows / 8 +
         (on_disk ? std::min(rows, slot_capacity_.load(std::memory_order_relaxed))
                  : slot_capacity_.load(std::memory_order_relaxed)) *
             sizeof(uint32_t);
}

}  // namespace quiver
