#pragma once

#include <cstdint>
#include <mutex>
#include <string>

namespace quiver {

// Of the file in the folder of a database that has its watermarks, each in a block of its own.
constexpr const char* kWatermarkFile = "/SYNCED";
constexpr int64_t kWatermarkBlockBytes = 4096;

/**
 * How far a database has been on stable storage: the number of the last change that a synced write covered, in a file
 * beside RocksDB's own. When a write-ahead log is damaged or cut, RocksDB takes that place for the end of the log; the
 * watermark shows at the next open that something is missing.
 *
 * The watermark is written after each synced write, and is not synced itself. If the process is killed, the watermark
 * is exact, because the system keeps what was written. A loss of power leaves at worst an older watermark, never a
 * newer one. A clean close syncs it.
 *
 * Two slots of 16 bytes (u64 change, u32 magic, u32 CRC-32C of the twelve bytes before), in different blocks, are
 * written alternately, so that a torn write leaves the previous one. Little-endian.
 */
class SyncedWatermark {
 public:
  SyncedWatermark() = default;
  ~SyncedWatermark();
  SyncedWatermark(const SyncedWatermark&) = delete;
  SyncedWatermark& operator=(const SyncedWatermark&) = delete;

  // The change that the file at `path` names; 0 if there is no file or it can't be read as a watermark. Throws
  // StorageError.
  static uint64_t read(const std::string& path);

  // Opens or makes the file, to continue from `change`. Throws StorageError.
  void open(const std::string& path, uint64_t change);

  // Raises the watermark; a lower one changes nothing. Any thread. Throws StorageError.
  void raise(uint64_t change);

  // Syncs the watermark and closes the file. Throws StorageError.
  void close();

 private:
  std::mutex mutex_;
  int file_ = -1;
  uint64_t change_ = 0;
  int next_slot_ = 0;
};

}  // namespace quiver
