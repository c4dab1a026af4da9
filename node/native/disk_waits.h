#pragma once

#include <cstddef>

namespace quiver {

// Asks the system to read mapped pages of a file soon, without waiting for them.
void ask_disk(const void* begin, const void* end);

/**
 * Whether work of this thread is likely to wait for pages from the disk: it did so a short while ago. Asking the disk for what
 * is in memory anyway takes about as long as scoring a cell. Lives as long as the work.
 */
class DiskWaits {
 public:
  DiskWaits();
  ~DiskWaits();
  DiskWaits(const DiskWaits&) = delete;
  DiskWaits& operator=(const DiskWaits&) = delete;

  bool expected() const { return expected_; }

 private:
  long before_;
  bool expected_;
};

}  // namespace quiver
