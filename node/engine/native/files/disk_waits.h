#pragma once

#include <cstddef>

namespace quiver {

// Asks the system to read mapped pages of a file soon, without waiting for them.
void ask_disk(const void* begin, const void* end);

/**
 * Whether work of this thread is likely to wait for pages from the disk: it did so a short while ago. Asking for what
 * is in memory anyway takes longer than scoring it. Lives as long as the work.
 */
class DiskWaits {
 public:
  DiskWaits();
  ~DiskWaits();
  DiskWaits(const DiskWaits&) = delete;
  DiskWaits& operator=(const DiskWaits&) = delete;

  // Whether it waits at all.
  bool expected() const { return expected_; }
  // Whether it waits for so many of the pieces that it reads that each is worth asking for.
  bool often() const { return often_; }
  // So many pieces were read up to now.
  void note(size_t pieces);

 private:
  const long before_;
  const bool expected_, often_;
};

}  // namespace quiver
