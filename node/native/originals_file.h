#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "block_array.h"
#include "mapped_files.h"

namespace quiver {

/**
 * The vectors exactly as they were given: float32, row by row in one append-only file that is read through a mapping.
 * Rows are written by pwrite, never through the mapping, so that a full disk is an error and not a signal. Only rows
 * that were written are ever read. One writer; readers of written rows need no lock. They call `require_sound` before
 * they use what they read: a file that was truncated under the process is read as zeros.
 *
 * The file extends one page beyond its last block. A truncation that removes any row removes that whole page, so
 * checking it detects every truncation, even one in the middle of a page, for which the system sends no signal.
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
  // Sets the checksums of a file that was just opened, once they have been compared.
  void adopt_checksums(std::vector<uint32_t> checksums) { checksums_ = std::move(checksums); }
  // Reads rows with pread, for checks that must not fault; `out` holds count × dim.
  void read(size_t first, size_t count, float* out) const;
  // Reads rows that were written, and raises damage and throws StorageError if they can't be read or do not match their
  // CRC-32C; any thread.
  void require_match(size_t first, size_t count, uint32_t checksum);
  // Syncs what was appended; any thread.
  void sync() const;

 private:
  [[noreturn]] void throw_damaged() const;
  void map(size_t rows);
  // Throws StorageError if the file is shorter than it should be: later appends would fill it up with zeros.
  void require_whole();

  std::string path_;
  int file_;
  unsigned shift_;
  size_t mask_;
  size_t row_bytes_;
  size_t rows_;
  std::vector<uint32_t> checksums_;
  // The addresses of the blocks; sized for kItemLimit rows from the start, so that readers need no lock.
  std::unique_ptr<const uint8_t*[], FreeTable> table_;
  std::atomic<bool> damaged_{false};
  std::vector<MappedFile> blocks_;
  // The page beyond the last block.
  std::atomic<const uint8_t*> beyond_{nullptr};
};

/**
 * What the rows of a file must match that are there when this is made, on the thread of its writer. Who copies rows compares
 * them first: the copy gets checksums of its own, so what has changed on the disk would pass for sound from then on, also at
 * a start.
 */
class OriginalsCheck {
 public:
  explicit OriginalsCheck(OriginalsFile& file) : file_(file), rows_(file.rows()), checksums_(file.checksums()) {}

  // The runs of kChecksumRows rows; the last one may be shorter. Rows that were added later are in none.
  size_t runs() const { return checksums_.size(); }
  // Throws StorageError if the rows of a run are not what was written, and raises damage. Any thread.
  void require_match(size_t run) const {
    const size_t first = run * OriginalsFile::kChecksumRows;
    file_.require_match(first, std::min(OriginalsFile::kChecksumRows, rows_ - first), checksums_[run]);
  }

 private:
  OriginalsFile& file_;
  size_t rows_;
  std::vector<uint32_t> checksums_;
};

}  // namespace quiver
