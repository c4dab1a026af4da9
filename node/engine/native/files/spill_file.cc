#include "spill_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "errors.h"

namespace quiver {

SpillFile::SpillFile(const std::string& path, std::atomic<bool>& damaged)
    : path_(path), damaged_(damaged), file_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw storage_error("opening " + path);
  ::unlink(path.c_str());
}

SpillFile::~SpillFile() {
  mapped_.clear();
  ::close(file_);
}

void SpillFile::take(uint8_t* place, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t written = pwrite(file_, place + done, bytes - done, off_t(bytes_ + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw storage_error("writing " + path_);
    done += size_t(written);
  }
#if defined(__linux__)
  // Begun now, so that little waits to be written when memory becomes scarce.
  sync_file_range(file_, off_t(bytes_), off_t(bytes), SYNC_FILE_RANGE_WRITE);
#endif
  mapped_.reserve(mapped_.size() + 1);
  mapped_.emplace_back(file_, bytes_, bytes, damaged_, path_.c_str(), place);
  // A cell is a few pages; what is beside it would only take the place of others.
  madvise(place, bytes, MADV_RANDOM);
  bytes_ += bytes;
}

}  // namespace quiver
