#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mapped_files.h"

namespace quiver {

/**
 * Takes memory that does not change any more into a file, from which the system reads what it needs and of which it
 * keeps what it has room for. Addresses stay, and readers go on meanwhile: they find the same bytes before and after.
 * The file has no name, so it is gone with the process, and is no part of any save. One thread at a time.
 */
class SpillFile {
 public:
  // Makes the file in the folder of `path`, under that name for a moment. `damaged` is raised when it can't be read any
  // more; what is read then is zeros. It must outlive this. Throws StorageError.
  SpillFile(const std::string& path, std::atomic<bool>& damaged);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // `place`: whole pages of 64 KiB, of the owner of this, who gives them back later than this. On StorageError it is as
  // before.
  void take(uint8_t* place, size_t bytes);
  size_t bytes() const { return bytes_; }

 private:
  const std::string path_;
  std::atomic<bool>& damaged_;
  int file_;
  size_t bytes_ = 0;
  std::vector<MappedFile> mapped_;
};

}  // namespace quiver
