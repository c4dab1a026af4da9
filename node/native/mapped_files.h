#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace quiver {

/// What the handler knows of a mapping.
struct Watched;

/**
 * Part of a file, mapped for reading, that cannot take the process down: where the file has become shorter than the
 * mapping, or its disk can't be read, the system sends SIGBUS to whoever reads. The handler of this process then puts
 * zeros in the place of the whole mapping and raises `damaged`; the reader goes on, and has to look at the flag before
 * he believes what he read. Signals about other memory go to the handler that was there before.
 *
 * The flag is raised before the zeros can be read, so that looking at it after reading is enough, on any thread.
 */
class MappedFile {
 public:
  /// Maps `bytes` of `file` from `offset` on. `damaged` must outlive this. Throws StorageError (`path` is for its message).
  MappedFile(int file, size_t offset, size_t bytes, std::atomic<bool>& damaged, const char* path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }

 private:
  uint8_t* data_;
  size_t bytes_;
  Watched* watched_;
};

}  // namespace quiver
