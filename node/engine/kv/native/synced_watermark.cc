#include "synced_watermark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "crc32c.h"
#include "errors.h"

namespace quiver {

namespace {

constexpr uint32_t kMagic = 0x4b52414d;  // "MARK"

struct Slot {
  uint64_t change;
  uint32_t magic;
  uint32_t checksum;
};
static_assert(sizeof(Slot) == 16, "a slot is written as it lies in memory");

uint32_t checksum_of(const Slot& slot) { return crc32c(0, &slot, offsetof(Slot, checksum)); }

void write_slot(int file, int number, uint64_t change) {
  Slot slot{change, kMagic, 0};
  slot.checksum = checksum_of(slot);
  ssize_t written;
  do {
    written = ::pwrite(file, &slot, sizeof slot, number * kWatermarkBlockBytes);
  } while (written < 0 && errno == EINTR);
  if (written != ssize_t(sizeof slot)) throw storage_error("the watermark of synced changes cannot be written");
}

}  // namespace

SyncedWatermark::~SyncedWatermark() {
  if (file_ >= 0) ::close(file_);
}

uint64_t SyncedWatermark::read(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno == ENOENT) return 0;
    throw storage_error(path + " cannot be opened");
  }
  uint64_t best = 0;
  for (int number = 0; number < 2; number++) {
    Slot slot;
    const ssize_t got = ::pread(file, &slot, sizeof slot, number * kWatermarkBlockBytes);
    if (got < 0) {
      const StorageError error = storage_error(path + " cannot be read");
      ::close(file);
      throw error;
    }
    if (got == ssize_t(sizeof slot) && slot.magic == kMagic && slot.checksum == checksum_of(slot) &&
        slot.change > best) {
      best = slot.change;
    }
  }
  ::close(file);
  return best;
}

void SyncedWatermark::open(const std::string& path, uint64_t change) {
  std::lock_guard<std::mutex> lock(mutex_);
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_ < 0) throw storage_error(path + " cannot be opened");
  change_ = change;
  // Both, so that neither slot keeps an old value.
  try {
    write_slot(file_, 0, change);
    write_slot(file_, 1, change);
  } catch (...) {
    ::close(file_);
    file_ = -1;
    throw;
  }
}

void SyncedWatermark::raise(uint64_t change) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (file_ < 0 || change <= change_) return;
  write_slot(file_, next_slot_, change);
  next_slot_ = 1 - next_slot_;
  change_ = change;
}

void SyncedWatermark::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (file_ < 0) return;
  const bool synced = ::fsync(file_) == 0;
  ::close(file_);
  file_ = -1;
  if (!synced) throw storage_error("the watermark of synced changes cannot be synced");
}

}  // namespace quiver
