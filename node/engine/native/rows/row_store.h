#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "block_array.h"
#include "codes/codes.h"
#include "originals_file.h"

namespace quiver {

constexpr uint32_t kNoRow = UINT32_MAX;

/// What all rows of a store have in common.
struct RowKind {
  Metric metric;
  Quantization quantization;
  size_t dim;
  const Kernels& kernels;
  // Whether codes are in a file as soon as they fill a block of memory.
  bool on_disk = false;

  // Whether rows have signs beside their codes.
  bool has_signs() const { return quantization == Quantization::kInt8 && !on_disk && Signs::pay(padded_dim(dim)); }
  // Whether the graph over the rows shall be small rather than quick to read. Beside signs it is as quick.
  bool has_compact_links() const { return quantization != Quantization::kInt8 || has_signs(); }
};

/**
 * The rows of one vector index: append-only, so that readers need no lock. A row holds its code (codes.h), its
 * original (in a file) and the slot that it was put for. It dies when its slot is removed or put again, and is never
 * reused.
 *
 * Threads: append, kill and sync_slots belong to one thread (JavaScript's). Everything else may be called from any
 * thread for rows below a `count()` that it has read. A put publishes the new row before it kills the old one. So a
 * reader that finds a row dead finds the row that replaced it by reading `count()` again.
 */
class RowStore {
 public:
  // An empty store whose originals go to `path`, or a store with `rows` rows from that file; then the loader adds the
  // rest with `load_rows`. Throws StorageError, std::bad_alloc.
  RowStore(const RowKind& kind, const std::string& path, size_t rows);

  const Metric metric;
  const size_t dim;
  const Kernels& kernels;
  const std::string path;
  const bool on_disk;

  RowKind kind() const { return {metric, codes_.quantization, dim, kernels, on_disk}; }
  const Codes& codes() const { return codes_; }

  // Number of rows, including dead ones.
  size_t count() const { return count_.load(std::memory_order_acquire); }
  size_t live() const { return live_.load(std::memory_order_relaxed); }
  // Rises with every put and remove.
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

  // Appends a row per slot and kills the previous rows of the slots. On StorageError nothing changed.
  void append(const uint32_t* slots, const float* vectors, size_t count);
  // Kills the rows of those slots that have one.
  void remove(const uint32_t* slots, size_t count);

  const uint8_t* code(size_t row) const { return codes_.code(row); }
  const RowMeta& meta(size_t row) const { return codes_.meta(row); }
  const float* original(size_t row) const { return originals_.row(row); }
  uint32_t slot(size_t row) const { return slots_[row]; }
  bool dead(size_t row) const {
    return (dead_[row >> 6].load(std::memory_order_relaxed) >> (row & 63) & 1) != 0;
  }
  // The slot's live row; kNoRow if it has none.
  uint32_t row_of(uint32_t slot) const {
    if (slot >= slot_capacity_.load(std::memory_order_acquire)) return kNoRow;
    return rows_of_slots_[slot].load(std::memory_order_acquire) - 1;
  }
  // Whether some row's magnitude is beyond what codes and float32 sums can rank (see out_of_range). Then every search
  // has to scan exactly, in double precision where needed.
  bool has_extreme_rows() const { return has_extreme_rows_.load(std::memory_order_acquire); }
  // Whether float32 arithmetic over this row may overflow or vanish.
  bool is_extreme(size_t row) const;

  // Throws StorageError if originals may have been read as zeros; call after reading them.
  void require_sound() const { originals_.require_sound(); }
  // Throws StorageError if the original is not what was put; call for what is answered of it.
  void require_match(size_t row) const { originals_.require_match(row); }

  OriginalsFile& originals() { return originals_; }
  const OriginalsFile& originals() const { return originals_; }

  // On the disk: takes the codes of full blocks below `rows` into a file. Where that fails, they stay in memory until
  // it is called again. On the writer's thread.
  void spill(size_t rows);
  // The same for all codes, when no row is appended any more.
  void spill_all();
  // Bytes of that file.
  size_t spilled_bytes() const { return spill_ == nullptr ? 0 : spill_->bytes(); }

  /// Reads rows first … first + count − 1 of a loaded file, computes their codes and returns their CRC-32C.
  uint32_t load_rows(size_t first, size_t count);
  // Sets slots and dead bits of a loaded store (`dead`: one bit per row). Throws StorageError.
  void load_slots(const uint32_t* slots, const uint64_t* dead);
  // From now on counts the dead rows among the first `rows` rows, those of the graph. JavaScript's thread.
  void watch(size_t rows);
  size_t watched_dead() const { return watched_dead_.load(std::memory_order_relaxed); }
  // Words of the dead bitmap that cover `rows` rows, in their present state.
  std::vector<uint64_t> dead_words(size_t rows) const;
  size_t memory_bytes() const;

 private:
  void reserve(size_t rows);
  void encode(size_t row, const float* vector);
  void kill(uint32_t row);
  template <class Take>
  void spill_with(const Take& take);
  void reserve_slot(uint32_t slot);

  Codes codes_;
  Table<uint32_t> slots_;
  Table<std::atomic<uint64_t>> dead_;
  // Row + 1, and 0 for none, so that zeroed memory means none.
  Table<std::atomic<uint32_t>> rows_of_slots_;
  OriginalsFile originals_;
  // After what it takes, so that it goes first.
  std::unique_ptr<SpillFile> spill_;
  std::atomic<size_t> count_{0};
  std::atomic<size_t> live_{0};
  size_t watched_ = 0;
  std::atomic<size_t> watched_dead_{0};
  std::atomic<size_t> slot_capacity_{0};
  std::atomic<uint64_t> changes_{0};
  std::atomic<bool> has_extreme_rows_{false};
};

}  // namespace quiver
