#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "block_array.h"
#include "files/checksum.h"
#include "files/mapped_files.h"

namespace quiver {

/**
 * The vectors exactly as they were given: float32, row by row in one append-only file that is read through a mapping.
 * Rows are written by pwrite, never through the mapping, so that a full disk is an error and not a signal. Only rows
 * that were written are ever read. One writer; readers of written rows need no lock. They call `require_sound` before
 * they use what they read: a file that was truncated under the process is read as zeros.
 *
 * Each row has a checksum in memory. Who answers with what a row holds, or stores it again, compares it
 * (`require_match`): what turned on the disk since it was written is damage, too, and no answer.
 *
 * The file has room for more rows behind those that were written, a quarter of them at most, and extends one page
 * beyond that. A truncation that removes any row removes that whole page, so checking it detects every truncation, even
 * one in the middle of a page, for which the system sends no signal.
 */
class OriginalsFile {
 public:
  // Rows under one checksum: few enough to check with several threads.
  static constexpr size_t kChecksumRows = 4096;

  // Makes the file, or opens it and regards its first `rows` rows as written. Throws StorageError.
  OriginalsFile(const std::string& path, size_t dim, unsigned shift, size_t rows);
  ~OriginalsFile();
  OriginalsFile(const OriginalsFile&) = delete;
  OriginalsFile& operator=(const OriginalsFile&) = delete;

  // Appends rows; on StorageError nothing was appended.
  void append(const float* vectors, size_t count);
  const float* row(size_t i) const {
    return reinterpret_cast<const float*>(table_[i >> shift_] + (i & mask_) * row_bytes_);
  }
  // Throws StorageError if some row may have been read as zeros; call after reading.
  void require_sound() const {
    const volatile uint8_t* beyond = beyond_.load(std::memory_order_acquire);
    if (beyond != nullptr) (void)*beyond;
    if (damaged_.load(std::memory_order_acquire)) throw_damaged();
  }
  // Whether a reader or the writer has found damage so far.
  bool damaged() const { return damaged_.load(std::memory_order_acquire); }
  // What is raised when something is damaged: files that are read with this one may raise it, too.
  std::atomic<bool>& damage() { return damaged_; }
  size_t rows() const { return rows_; }
  // CRC-32C of each run of kChecksumRows rows; the last one covers the rows that exist.
  const std::vector<uint32_t>& checksums() const { return checksums_; }
  // Sets the checksums of runs of a file that was just opened, once they have been compared.
  void adopt_checksums(std::vector<uint32_t> checksums) { checksums_ = std::move(checksums); }
  // Notes the checksum of a row of a file that was just opened, and answers that of all that has `before` and then the
  // row.
  uint32_t adopt(size_t row, const float* vector, uint32_t before) {
    row_checksums_[row] = row_checksum_.of(vector);
    return row_checksum_.appended(before, row_checksums_[row]);
  }
  // Reads rows with pread, for who must not fault, or reads many; `out` holds count × dim. What can't be read is
  // damage.
  void read(size_t first, size_t count, float* out) const;
  // Raises damage and throws StorageError if a row that was written is not what was written; any thread. `vector`: what
  // was read of it.
  void require_match(size_t row, const float* vector) const {
    if (row_checksum_.of(vector) != row_checksums_[row]) throw_mismatch();
  }
  void require_match(size_t row_number) const { require_match(row_number, row(row_number)); }
  // Takes the checksums of rows below `rows` into a file, as BlockArray::spill.
  void spill(size_t rows, SpillFile& file) { row_checksums_.spill(rows, file); }
  void spill_all(SpillFile& file) { row_checksums_.spill(row_checksums_.capacity(), file); }
  // Syncs what was appended; any thread.
  void sync() const;

 private:
  [[noreturn]] void throw_damaged() const;
  [[noreturn]] void throw_mismatch() const;
  // Makes the file long enough for so many rows, and maps their blocks. On StorageError what was there is as before.
  void map(size_t rows);
  // Where the room for rows ends in a file that needs room for so many.
  size_t end_for(size_t rows) const;
  // Throws StorageError if the file is shorter than it should be: later appends would fill it up with zeros.
  void require_whole();

  std::string path_;
  int file_;
  unsigned shift_;
  size_t mask_;
  size_t row_bytes_;
  size_t rows_;
  std::vector<uint32_t> checksums_;
  const RowChecksum row_checksum_;
  Table<uint32_t> row_checksums_;
  // The addresses of the blocks; sized for kItemLimit rows from the start, so that readers need no lock.
  std::unique_ptr<const uint8_t*[], FreeTable> table_;
  mutable std::atomic<bool> damaged_{false};
  std::vector<MappedFile> blocks_;
  // Where the room for rows ends in the file, at a whole page; 0: it has none.
  size_t end_ = 0;
  // The page beyond that.
  std::atomic<const uint8_t*> beyond_{nullptr};
};

}  // namespace quiver
