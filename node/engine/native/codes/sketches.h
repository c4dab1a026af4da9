#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rows/block_array.h"
#include "kernels.h"
#include "rotation.h"
#include "rows/row_store.h"
#include "stop_flag.h"

namespace quiver {

/**
 * Short codes of rows that wait to be linked: the signs of the rotated row, and two numbers by which they bound its key
 * (RaBitQ, arXiv:2405.12497, as signs.h). Every search scans the rows that wait, and all but a few of them are farther
 * away than what the graph has answered already; their sketches tell that from a sixth of the memory of their codes.
 * Those of 64 rows lie together, byte by byte, so that four signs of each are looked up at once ("fast scan", André et
 * al., VLDB 2015).
 *
 * Made of the int8 codes, in chunks, and kept until a chunk's rows are in the graph. Immutable; any thread.
 */
class Sketches {
 public:
  static constexpr size_t kChunkRows = 4096;

  // Whether rows of a kind get sketches: those of int8 codes in memory. Others are as short, or in a file.
  static bool pay(const RowKind& kind) { return kind.quantization == Quantization::kInt8 && !kind.on_disk; }

  // Of the rows of full chunks from the one on that `first` is in. What `before` has of them is taken over; null:
  // nothing. Throws ClosedError when `stop` is raised; std::bad_alloc.
  Sketches(const RowStore& rows, const Sketches* before, size_t first, unsigned threads, const StopFlag& stop);

  // Those that are left when the rows before `first` are in the graph; null: none.
  static std::shared_ptr<const Sketches> without(const std::shared_ptr<const Sketches>& sketches, size_t first);
  // Where chunks end that are full.
  static size_t full(size_t rows) { return rows / kChunkRows * kChunkRows; }

  // The rows that have one: `begin()` … `end()` − 1.
  size_t begin() const { return begin_; }
  size_t end() const { return begin_ + chunks_.size() * kChunkRows; }
  // Those of kSketchRows rows from `row` on, as Kernels::sum_lookups reads them, and behind them the scales and norms.
  const uint8_t* block(size_t row) const {
    return chunks_[(row - begin_) / kChunkRows]->data() + row % kChunkRows / kSketchRows * block_bytes_;
  }
  const float* scales(const uint8_t* block) const {
    return reinterpret_cast<const float*>(block + kSketchRows * bytes_);
  }
  const float* norms(const uint8_t* block) const { return scales(block) + kSketchRows; }
  // Bytes of a row's signs.
  size_t bytes() const { return bytes_; }
  const Rotation& rotation() const { return *rotation_; }
  size_t memory_bytes() const { return chunks_.size() * (kChunkRows / kSketchRows) * block_bytes_; }

 private:
  Sketches(const Sketches& whole, size_t first);
  void make_chunk(const RowStore& rows, size_t first, uint8_t* chunk) const;

  const size_t dim_, bytes_, block_bytes_;
  size_t begin_;
  std::shared_ptr<const Rotation> rotation_;
  std::vector<std::shared_ptr<const Pages>> chunks_;
};

/// A query that sketches are compared with.
class SketchQuery {
 public:
  SketchQuery(const RowStore& rows, const Sketches& sketches, const float* vector);

  // For rows that may have an exact key of `floor` or more: the nearer they have to be, the smaller is the error of
  // their signs.
  SketchLine line(float floor) const;
  // Which rows of a block may, by that line: bit r for the r-th.
  uint64_t reaching(const uint8_t* block, const SketchLine& line, float floor) const;

 private:
  const Sketches& sketches_;
  const Kernels& kernels_;
  const Metric metric_;
  const float dim_, norm_;
  // What rows' codes are off by, for rows of length 1.
  const float rounding_;
  std::vector<uint8_t> tables_;
  // What turns sums of lookups into products of the signs with the query, and how far these are off by their rounding.
  float weight_ = 0, least_ = 0, unsure_ = 0;
};

}  // namespace quiver
