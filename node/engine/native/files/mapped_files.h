#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace quiver {

// What the handler knows about a mapping.
struct Watched;

/**
 * Part of a file, mapped for reading, that can't crash the process. If the file has become shorter than the mapping, or
 * its disk can't be read, the system sends SIGBUS to the reading thread. The handler of this process then replaces the
 * whole mapping with zeros and raises `damaged`. The reader continues, and must check the flag before it uses what it
 * read. Signals about other memory go to the previous handler.
 *
 * The flag is raised before the zeros can be read, so checking it after reading is enough, on any thread.
 */
class MappedFile {
 public:
  // Maps `bytes` of `file` from `offset` on. `damaged` must outlive this. Throws StorageError (`path` is for its
  // message). `place`: memory of whole pages that the mapping replaces, at the same addresses, and that its owner gives
  // back after this is gone; null: the mapping has addresses of its own.
  MappedFile(int file, size_t offset, size_t bytes, std::atomic<bool>& damaged, const char* path,
             void* place = nullptr);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }

 private:
  void unwatch();

  uint8_t* data_;
  size_t bytes_;
  bool owned_;
  Watched* watched_;
};

}  // namespace quiver
