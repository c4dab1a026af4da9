#pragma once

#include <cstdint>
#include <mutex>
#include <string>

namespace quiver {

/**
 * How far a database has been on stable storage: the number of the last change that a synced write covered, in a file
 * beside RocksDB's own. RocksDB takes a write-ahead log that is damaged or cut for one that ends there; the mark tells
 * at the next open that something is missing.
 *
 * The mark is written after each synced write and not synced itself: a killed process leaves it exact, since the system
 * keeps what was written, and a loss of power leaves an older one at worst, never a newer one. A clean close syncs it.
 *
 * Two slots of 16 bytes (u64 change, u32 magic, u32 CRC-32C of the twelve before), in blocks of their own, written in
 * turn, so that a torn write leaves the one before. Little-endian.
 */
class SyncedMark {
 public:
  SyncedMark() = default;
  ~SyncedMark();
  SyncedMark(const SyncedMark&) = delete;
  SyncedMark& operator=(const SyncedMark&) = delete;

  /// The change that the file at `path` names; 0 where there is none, or none that can be read. Throws StorageError.
  static uint64_t read(const std::string& path);

  /// Opens or makes the file, to go on from `change`. Throws StorageError.
  void open(const std::string& path, uint64_t change);

  /// Raises the mark; a lower one changes nothing. Any thread. Throws StorageError.
  void raise(uint64_t change);

  /// Puts the mark on stable storage and closes the file. Throws StorageError.
  void close();

 private:
  std::mutex mutex_;
  int file_ = -1;
  uint64_t change_ = 0;
  int next_slot_ = 0;
};

}  // namespace quiver
