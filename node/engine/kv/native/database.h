#pragma once

#include <atomic>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/write_buffer_manager.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "errors.h"
#include "info_log.h"
#include "synced_watermark.h"

namespace quiver {

// The data on the disk differ from what was written; the message says where.
struct DamagedError : CodedError {
  explicit DamagedError(const std::string& message) : CodedError("DAMAGED", message) {}
};

// Another process, or this one, has the folder open.
struct InUseError : CodedError {
  explicit InUseError(const std::string& message) : CodedError("IN_USE", message) {}
};

/// Throws DamagedError or StorageError unless `status` is fine.
void require(const rocksdb::Status& status);

// Memory that databases share: the cache for reads, and writes that are in no file yet. Thread-safe.
struct Budget {
  Budget(size_t cache_bytes, size_t write_buffer_bytes);

  const std::shared_ptr<rocksdb::Cache> cache;
  const std::shared_ptr<rocksdb::WriteBufferManager> write_buffers;
};

class Cursor;
class Snapshot;

/**
 * A table file that is written apart from any database, in the order of its keys, for one to take it in. Calls may come
 * from any thread.
 */
class NewTable {
 public:
  // Makes the file; its folder must exist. Throws StorageError.
  explicit NewTable(const std::string& path);
  NewTable(const NewTable&) = delete;

  /**
   * Adds entries in ascending order: u32 key bytes, u32 value bytes (little-endian), key, value, one after the other.
   * Answers the bytes of the file so far. Throws std::invalid_argument for what is cut, StorageError, also for keys out
   * of order.
   */
  uint64_t add(const char* bytes, size_t size);
  // The file is on stable storage on return. Throws StorageError, also for a table without entries.
  void finish();

 private:
  std::mutex mutex_;
  const std::shared_ptr<InfoLog> log_ = std::make_shared<InfoLog>();
  const Budget budget_{0, 0};
  rocksdb::SstFileWriter writer_;
};

/**
 * A RocksDB database in a folder, with a watermark of what was synced (SyncedWatermark). Every call may come from any
 * thread and overlap any other; after `close`, each throws ClosedError.
 */
class Database : public std::enable_shared_from_this<Database> {
 public:
  /**
   * Opens the database in `folder`, or makes one; with `must_exist` it makes none, and nothing on the way to one. A log
   * that ends with half a record is cut there, because that record was never acknowledged. A log that lacks anything
   * that was synced is left as it is. With `reading`, a small one that must exist is opened to be read alone, which
   * writes and syncs nothing, until the first call that changes something. Throws InUseError, DamagedError,
   * StorageError.
   */
  static std::shared_ptr<Database> open(const std::string& folder, std::shared_ptr<const Budget> budget,
                                        bool must_exist, bool reading);
  ~Database();

  // Applies the batch; with `sync` it is on stable storage on return. Throws StorageError.
  void write(rocksdb::WriteBatch& batch, bool sync);
  // Removes every key from `from` up to, but not including, `to`. Throws StorageError.
  void remove_range(const rocksdb::Slice& from, const rocksdb::Slice& to);
  struct Values {
    std::vector<rocksdb::PinnableSlice> values;
    // For each key, whether there is a value.
    std::vector<bool> found;
  };
  /// Values in the order of `keys`, as they are now, or in the snapshot. Throws DamagedError, StorageError.
  void read(const std::vector<rocksdb::Slice>& keys, const Snapshot* snapshot, Values& values);
  // The same from memory alone. Answers false if a file would have to be read; then `values` is invalid.
  bool read_cached(const std::vector<rocksdb::Slice>& keys, const Snapshot* snapshot, Values& values);
  /// Approximate bytes of all files that hold keys.
  uint64_t size_bytes();
  // One of RocksDB's numeric properties; 0 if it does not know the name.
  uint64_t property(const std::string& name);

  // Writes all changes to tables and rewrites every table, so that nothing that was deleted is left in a file. Ends
  // early when the database closes, and with `end_rewrites`. Throws StorageError.
  void compact();
  // Removes every key from `from` up to, but not including, `to`, and gives back what they took on the disk. Ends early
  // as `compact` does. Throws StorageError.
  void reclaim(const rocksdb::Slice& from, const rocksdb::Slice& to);
  // Running calls of `compact` and `reclaim` fail soon, and later ones at once; the tables stay as they are. It waits
  // for nothing: each of those calls may keep a thread of the pool.
  void end_rewrites() { rewrites_ended_ = true; }

  // Paths of the table files in use, relative to the folder.
  std::vector<std::string> tables();
  // Compares every block of a table with its checksum; a table that was removed meanwhile is fine. Throws DamagedError,
  // StorageError.
  void verify_table(const std::string& name);

  // Takes in finished tables of which no two have keys between each other's, and which are gone from their place then.
  // On stable storage on return. Throws StorageError.
  void ingest(const std::vector<std::string>& paths);

  // Opens it for changes, where it is open to be read alone: what is read goes on, in the state in which it was. Throws
  // StorageError, ClosedError; DamagedError when it lacks what was read, and then it is still open to be read.
  void take_changes();
  // Whether it is open to be read alone: then nothing was changed since it was opened.
  bool is_only_read();

  // Frees every cursor and snapshot, waits for running calls, and closes. `rests`: it is opened again when somebody
  // uses it, who should not wait for a long log. Idempotent. Throws StorageError.
  void close(bool rests = false);

 private:
  friend class Cursor;
  friend class Snapshot;
  Database(std::string folder, std::shared_ptr<const Budget> budget);

  // The open database, kept open while the lock lives. Throws ClosedError.
  struct Held {
    std::shared_lock<std::shared_mutex> lock;
    rocksdb::DB& db;
  };
  Held hold();
  // The same, once it takes changes. Throws StorageError, too.
  Held hold_for_change();

  // What reads of the snapshot go by; null: of the present state. Throws ClosedError for that of another database.
  const rocksdb::Snapshot* state_of(const Snapshot* snapshot) const;
  // False if a key would need more than `tier` allows.
  bool read_from(rocksdb::ReadTier tier, const std::vector<rocksdb::Slice>& keys, const Snapshot* snapshot,
                 Values& values);
  // Keeps others out of the folder. Throws InUseError, StorageError.
  void lock();
  void unlock();
  std::unique_ptr<rocksdb::DB> refuse_lost_changes(rocksdb::Options options, uint64_t least, bool stays);
  std::unique_ptr<rocksdb::DB> open_for_writing(const rocksdb::Options& options, std::optional<uint64_t> last);
  void lock_again(const std::string& why);
  rocksdb::Status close_held();
  void flush_log();

  const std::string folder_;
  const std::shared_ptr<const Budget> budget_;
  const std::shared_ptr<InfoLog> log_ = std::make_shared<InfoLog>();
  SyncedWatermark watermark_;
  // By the watermark when it was opened.
  uint64_t synced_ = 0;
  // While RocksDB itself has none: it locks what it opens for writing.
  rocksdb::FileLock* lock_ = nullptr;

  // Held by who makes it one that takes changes, or closes it.
  std::mutex change_mutex_;
  std::shared_mutex open_mutex_;
  std::unique_ptr<rocksdb::DB> db_;
  bool reads_only_ = false;
  // Why it was closed before anybody asked for that; empty: it was not.
  std::string lost_;
  std::atomic<bool> rewrites_ended_{false};
  std::mutex cursors_mutex_;
  std::set<Cursor*> cursors_;
  std::mutex snapshots_mutex_;
  std::set<Snapshot*> snapshots_;
};

// The state of a database at its construction, for reads. It may end on any thread; after the database's close it is
// empty.
class Snapshot {
 public:
  /// Throws ClosedError.
  explicit Snapshot(std::shared_ptr<Database> database);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;

 private:
  friend class Database;
  const std::shared_ptr<Database> database_;
  // Set and released under snapshots_mutex_; while the database is held open, it does not change. None while it is only
  // read.
  const rocksdb::Snapshot* state_ = nullptr;
};

// Iterates over the keys of a range, in the state at its construction. One call at a time; `free` may come from any
// thread.
class Cursor {
 public:
  struct Range {
    std::string from, to;
    bool reverse, values;
  };
  // Or in the state of the snapshot, which may end before it. Throws ClosedError.
  Cursor(std::shared_ptr<Database> database, Range range, const Snapshot* snapshot);
  ~Cursor();

  // Entries one after the other: key, value; `lengths` has both for each. `ended`: there are no more.
  struct Page {
    std::string bytes;
    std::vector<uint32_t> lengths;
    bool ended = false;
  };
  // The next entries, at most `count`, cut at `bytes`. Throws ClosedError, DamagedError, StorageError.
  Page next(size_t count, size_t bytes);
  void free();

 private:
  friend class Database;
  void free_iterator();
  rocksdb::ReadOptions options_of(const rocksdb::Snapshot* state) const;
  // Goes on in another database with the same content.
  void move_to(rocksdb::DB& db);

  const std::shared_ptr<Database> database_;
  const Range range_;
  const rocksdb::Slice upper_, lower_;
  std::mutex mutex_;
  // How it had ended when it moved.
  std::optional<rocksdb::Status> ended_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
  bool is_placed_ = false;
};

}  // namespace quiver
