#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "block_array.h"

namespace quiver {

/**
 * The vectors exactly as they were given, float32 row by row in one append-only file that is read through a mapping.
 * Rows are written by pwrite, never through the mapping, so that a full disk is an error and not a signal, and only
 * rows that were written are ever read. One writer; readers of written rows are free.
 */
class OriginalsFile {
 public:
  /// Rows under one checksum: small enough to check with several threads.
  static constexpr size_t kChecksumRows = 4096;

  /// Makes the file, or opens it with its first `rows` rows taken as written. Throws StorageError.
  OriginalsFile(const std::string& path, size_t dim, unsigned shift, size_t rows);
  ~OriginalsFile();
  OriginalsFile(const OriginalsFile&) = delete;
  OriginalsFile& operator=(const OriginalsFile&) = delete;

  /// Appends rows; on StorageError nothing was appended.
  void append(const float* vectors, size_t count);
  const float* row(size_t i) const {
    return reinterpret_cast<const float*>(table_[i >> shift_] + (i & mask_) * row_bytes_);
  }
  size_t rows() const { return rows_; }
  /// CRC-32C of each run of kChecksumRows rows; the last one covers the rows there are.
  const std::vector<uint32_t>& checksums() const { return checksums_; }
  /// Takes over the checksums of a file just opened, once they were compared.
  void adopt_checksums(std::vector<uint32_t> checksums) { checksums_ = std::move(checksums); }
  /// Reads rows with pread, for checks that must not fault; `out` holds count × dim.
  void read(size_t first, size_t count, float* out) const;
  /// Puts what was appended on stable storage; any thread.
  void sync() const;

 private:
  void map(size_t rows);

  std::string path_;
  int file_;
  unsigned shift_;
  size_t mask_;
  size_t row_bytes_;
  size_t rows_;
  std::vector<uint32_t> checksums_;
  std::unique_ptr<uint8_t*[], FreeTable> table_;
  size_t blocks_ = 0;
};

}  // namespace quiver
