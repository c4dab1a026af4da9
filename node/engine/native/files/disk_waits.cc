#include "disk_waits.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>

namespace quiver {

namespace {

// After a wait it is expected in so many pieces of work. One that asks ahead waits little, so it is then seen anew.
constexpr int kRemembered = 16;
// Waits are often where there is one for so many pieces. Asking for a cell takes 2 µs of a processor, and what is asked
// for and not needed takes the place of something else.
constexpr size_t kOftenShare = 8;

thread_local int remembered = 0, remembered_often = 0;

// Pages that this thread waited for the disk with.
long waits_so_far() {
#if defined(__linux__)
  rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_majflt : 0;
#else
  return 0;
#endif
}

}  // namespace

void ask_disk(const void* begin, const void* end) {
  static const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t first = uintptr_t(begin) / page * page;
  // Beyond the end of a mapping it fails, which does no harm.
  madvise(reinterpret_cast<void*>(first), uintptr_t(end) - first, MADV_WILLNEED);
}

DiskWaits::DiskWaits() : before_(waits_so_far()), expected_(remembered > 0), often_(remembered_often > 0) {
  if (expected_) remembered--;
  if (often_) remembered_often--;
}

DiskWaits::~DiskWaits() {
  if (waits_so_far() > before_) remembered = kRemembered;
}

void DiskWaits::note(size_t pieces) {
  const long waits = waits_so_far() - before_;
  if (waits > 0 && size_t(waits) * kOftenShare > pieces) remembered_often = kRemembered;
}

}  // namespace quiver
