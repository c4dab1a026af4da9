#include "database.h"

#include <rocksdb/convenience.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "entries.h"
#include "manifest_watermark.h"
#include "whole_files.h"

namespace quiver {

namespace {

// Large enough that a bulk load makes few small files, small enough to have several databases open.
constexpr size_t kWriteBufferBytes = 32u << 20;
// Memory is taken from the system in pieces of this size: it is what an idle database costs.
constexpr size_t kArenaBlockBytes = 64u << 10;
constexpr size_t kFileBytes = 64u << 20;
// Open table files of one database: 100 files of 64 MiB are seldom all in use, and connections need descriptors, too.
constexpr int kOpenFilesMax = 100;
// Read-ahead for a scan of many keys, and for the check of a whole table.
constexpr size_t kReadAheadBytes = 256u << 10;
// The values of a read are cached for the next one only if it asks for at most this many keys.
constexpr size_t kCachedKeysMax = 32;
// One of more is opened for writing at once: while it is read alone, all of its tables are open, and what is in its
// logs is in memory.
constexpr size_t kReadTablesMax = 8;
constexpr uint64_t kReadLogBytesMax = 1u << 20;
// What is in a longer log is put into a table when the database is closed to rest: an opening repeats some ten MB of a
// log in a second.
constexpr uint64_t kRestLogBytesMax = 256u << 10;

rocksdb::Options options_for(const Budget& budget, const std::shared_ptr<InfoLog>& log, bool must_exist = false) {
  rocksdb::Options options;
  options.env = whole_files();
  options.create_if_missing = !must_exist;
  options.paranoid_checks = true;
  // A record that a crash cut short is the end of the log. refuse_lost_changes detects any other damage.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.track_and_verify_wals_in_manifest = true;
  options.write_buffer_manager = budget.write_buffers;
  options.write_buffer_size = kWriteBufferBytes;
  options.arena_block_size = kArenaBlockBytes;
  options.target_file_size_base = kFileBytes;
  options.max_open_files = kOpenFilesMax;
  // RocksDB makes so many threads at each opening, however few files there are.
  options.max_file_opening_threads = 1;
  options.compression = rocksdb::kSnappyCompression;
  // Otherwise the log of each database would take the disk space of a whole write buffer from its first record on.
  options.allow_fallocate = false;
  options.info_log = log;
  // Nobody reads these statistics, so save their thread and memory.
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  // No filters: nearly always a requested key exists, and then a filter only adds a look-up.
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = budget.cache;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// Whether what is read when the database is opened is little, and stays in memory then, as long as it is read alone.
bool is_small(rocksdb::Env& env, const std::string& folder) {
  std::vector<rocksdb::Env::FileAttributes> files;
  if (!env.GetChildrenFileAttributes(folder, &files).ok()) return false;
  const auto ends = [](const std::string& name, const char* with) {
    return name.size() > 4 && name.compare(name.size() - 4, 4, with) == 0;
  };
  size_t tables = 0;
  uint64_t log_bytes = 0;
  for (const auto& file : files) {
    if (ends(file.name, ".sst")) tables++;
    if (ends(file.name, ".log")) log_bytes += file.size_bytes;
  }
  return tables <= kReadTablesMax && log_bytes <= kReadLogBytesMax;
}

bool is_corruption(const rocksdb::Status& status) {
  return status.IsCorruption() || (status.IsIOError() && status.subcode() == rocksdb::Status::kPathNotFound);
}

}  // namespace

/**
 * Throws InUseError when another has the lock of a folder, and StorageError when it could not be asked for: RocksDB's
 * status is the same for both, and only the system tells them apart.
 */
[[noreturn]] static void refuse_unlocked(const std::string& file, const rocksdb::Status& status) {
  // Another database of this process: to open the file and close it again would end that lock.
  if (status.ToString().find("lock hold by current process") != std::string::npos)
    throw InUseError(file + " is in use");
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) throw StorageError(file + ": " + std::strerror(errno));
  struct flock wanted = {};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  const int result = ::fcntl(fd, F_SETLK, &wanted);
  const int reason = errno;
  ::close(fd);
  // It has ended since: then the folder was in use, and is not any more.
  if (result == 0 || reason == EAGAIN || reason == EACCES) throw InUseError(file + " is in use");
  throw StorageError(file + " cannot be locked: " + std::strerror(reason));
}

void require(const rocksdb::Status& status) {
  if (status.ok()) return;
  if (is_corruption(status)) throw DamagedError(status.ToString());
  throw StorageError(status.ToString());
}

Budget::Budget(size_t cache_bytes, size_t write_buffer_bytes)
    : cache(rocksdb::NewLRUCache(cache_bytes)),
      write_buffers(std::make_shared<rocksdb::WriteBufferManager>(write_buffer_bytes)) {}

Database::Database(std::string folder, std::shared_ptr<const Budget> budget)
    : folder_(std::move(folder)), budget_(std::move(budget)) {}

Database::~Database() {
  try {
    close();
  } catch (const std::exception&) {
    // There is nobody to report an error to, and what was synced stays synced.
  }
}

std::shared_ptr<Database> Database::open(const std::string& folder, std::shared_ptr<const Budget> budget,
                                         bool must_exist, bool reading) {
  std::shared_ptr<Database> database(new Database(folder, std::move(budget)));
  const rocksdb::Options options = options_for(*database->budget_, database->log_, must_exist);
  rocksdb::Env& env = *options.env;
  // Every database has this file from its first moment on, and it names the others.
  if (must_exist && env.FileExists(folder + "/CURRENT").IsNotFound())
    throw DamagedError("there is no database in " + folder + ": CURRENT is missing");
  if (!must_exist) require(env.CreateDirIfMissing(folder));
  // Nobody may write to the log while it is examined.
  database->lock();
  refuse_changed_manifest(folder);
  database->synced_ = SyncedWatermark::read(folder + kWatermarkFile);
  const bool stays = must_exist && reading && is_small(env, folder);
  std::unique_ptr<rocksdb::DB> found;
  if (database->synced_ > 0) found = database->refuse_lost_changes(options, database->synced_, stays);
  if (found != nullptr && stays) {
    database->db_ = std::move(found);
    database->reads_only_ = true;
    return database;
  }
  found.reset();
  database->db_ = database->open_for_writing(options, std::nullopt);
  return database;
}

void Database::lock() {
  const std::string file = folder_ + "/LOCK";
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::Status locked = whole_files()->LockFile(file, &lock);
  if (!locked.ok()) refuse_unlocked(file, locked);
  lock_ = lock;
}

void Database::unlock() {
  rocksdb::FileLock* const lock = std::exchange(lock_, nullptr);
  if (lock != nullptr) require(whole_files()->UnlockFile(lock));
}

// `last`: the number of the last change that it must hold, no more and no less; none: any.
std::unique_ptr<rocksdb::DB> Database::open_for_writing(const rocksdb::Options& options, std::optional<uint64_t> last) {
  unlock();
  rocksdb::DB* db = nullptr;
  require(rocksdb::DB::Open(options, folder_, &db));
  std::unique_ptr<rocksdb::DB> opened(db);
  const uint64_t found = opened->GetLatestSequenceNumber();
  if (last.has_value() && found != *last) {
    throw DamagedError("its last change was " + std::to_string(*last) + " while it was only read, and is " +
                       std::to_string(found) + " now");
  }
  watermark_.open(folder_ + kWatermarkFile, synced_);
  return opened;
}

/**
 * Throws DamagedError if the database lacks a change up to `least`. Reads without changing anything: opening for
 * writing would keep what it finds and drop the rest of a damaged log for good. Answers what was opened for that;
 * `stays`: to be read from then on.
 */
std::unique_ptr<rocksdb::DB> Database::refuse_lost_changes(rocksdb::Options options, uint64_t least, bool stays) {
  // All tables are opened then, and an open one stays readable when it is removed once the database takes changes.
  if (stays) options.max_open_files = -1;
  rocksdb::DB* opened = nullptr;
  // With its only column family named, RocksDB does not first read all of it as one without logs.
  const std::vector<rocksdb::ColumnFamilyDescriptor> families{{rocksdb::kDefaultColumnFamilyName, options}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, folder_, families, &handles, &opened);
  std::unique_ptr<rocksdb::DB> found(opened);
  // The database keeps a handle of its own to it.
  for (rocksdb::ColumnFamilyHandle* handle : handles) require(found->DestroyColumnFamilyHandle(handle));
  const std::string losses = log_->losses();
  if (!status.ok()) {
    if (is_corruption(status)) throw DamagedError(status.ToString() + (losses.empty() ? "" : "; " + losses));
    // No database yet, or no longer: one with a watermark has lost its CURRENT file.
    throw DamagedError("a database that once held " + std::to_string(least) +
                       " changes cannot be read: " + status.ToString());
  }
  const uint64_t last = found->GetLatestSequenceNumber();
  if (last >= least) return found;
  throw DamagedError("the log ends at change " + std::to_string(last) + ", and " + std::to_string(least) +
                     " were on stable storage" + (losses.empty() ? "" : ": " + losses));
}

void Database::take_changes() {
  std::lock_guard<std::mutex> changing(change_mutex_);
  uint64_t last;
  {
    const Held held = hold();
    if (!reads_only_) return;
    last = held.db.GetLatestSequenceNumber();
  }
  const rocksdb::Options options = options_for(*budget_, log_, true);
  // What was damaged or removed since it was opened would be dropped for good.
  refuse_changed_manifest(folder_);
  refuse_lost_changes(options, std::max(synced_, last), false);
  // What is read meanwhile is read from the one that is open.
  std::unique_ptr<rocksdb::DB> db;
  try {
    db = open_for_writing(options, last);
  } catch (const std::exception& error) {
    lock_again(error.what());
    throw;
  }
  std::unique_lock<std::shared_mutex> lock(open_mutex_);
  {
    // Whoever ends a snapshot or a cursor holds one of these alone: it finds the database of which they are.
    std::lock_guard<std::mutex> cursors_lock(cursors_mutex_);
    std::lock_guard<std::mutex> snapshots_lock(snapshots_mutex_);
    // Nothing was changed since: what is there is what was read, and it stays so for those who read it.
    for (Snapshot* snapshot : snapshots_) snapshot->state_ = db->GetSnapshot();
    for (Cursor* cursor : cursors_) cursor->move_to(*db);
    db_.swap(db);
    reads_only_ = false;
  }
  lock.unlock();
  // What fails here was read to its end.
  db->Close().PermitUncheckedError();
}

// Without the lock, another may change or remove what is read here: then it is closed for good. Throws StorageError
// then.
void Database::lock_again(const std::string& why) {
  std::string reason;
  try {
    return lock();
  } catch (const std::exception& error) {
    reason = error.what();
  }
  std::unique_lock<std::shared_mutex> lock(open_mutex_);
  lost_ =
      folder_ + " was closed, because it could not be opened for changes (" + why + "), nor locked again: " + reason;
  // It was only read, so that nothing is lost with what fails here.
  close_held().PermitUncheckedError();
  throw StorageError(lost_);
}

Database::Held Database::hold_for_change() {
  for (;;) {
    Held held = hold();
    if (!reads_only_) return held;
    held.lock.unlock();
    take_changes();
  }
}

Database::Held Database::hold() {
  std::shared_lock<std::shared_mutex> lock(open_mutex_);
  if (db_ == nullptr && !lost_.empty()) throw StorageError(lost_);
  if (db_ == nullptr) throw ClosedError();
  return {std::move(lock), *db_};
}

void Database::write(rocksdb::WriteBatch& batch, bool sync) {
  const Held held = hold_for_change();
  rocksdb::WriteOptions options;
  options.sync = sync;
  // When the batch is in the log, so is everything before it, and its sync covers both. Changes of others in between
  // make the number lower than necessary, never higher.
  const uint64_t before = held.db.GetLatestSequenceNumber();
  require(held.db.Write(options, &batch));
  if (sync) watermark_.raise(before + batch.Count());
}

void Database::remove_range(const rocksdb::Slice& from, const rocksdb::Slice& to) {
  const Held held = hold_for_change();
  require(held.db.DeleteRange(rocksdb::WriteOptions(), held.db.DefaultColumnFamily(), from, to));
}

const rocksdb::Snapshot* Database::state_of(const Snapshot* snapshot) const {
  // A database that was opened anew is another one.
  if (snapshot != nullptr && snapshot->database_.get() != this) throw ClosedError();
  return snapshot == nullptr ? nullptr : snapshot->state_;
}

bool Database::read_from(rocksdb::ReadTier tier, const std::vector<rocksdb::Slice>& keys, const Snapshot* snapshot,
                         Values& values) {
  const Held held = hold();
  rocksdb::ReadOptions options;
  options.read_tier = tier;
  options.snapshot = state_of(snapshot);
  // Whoever asks for many keys goes through all of them and does not return: caching them would cost as much as reading
  // them.
  options.fill_cache = keys.size() <= kCachedKeysMax;
  values.values.resize(keys.size());
  values.found.assign(keys.size(), false);
  std::vector<rocksdb::Status> statuses(keys.size());
  held.db.MultiGet(options, held.db.DefaultColumnFamily(), keys.size(), keys.data(), values.values.data(),
                   statuses.data());
  for (size_t i = 0; i < keys.size(); i++) {
    if (statuses[i].IsNotFound()) continue;
    if (statuses[i].IsIncomplete()) return false;
    require(statuses[i]);
    // RocksDB answers OK with an empty value if the table itself is not open yet (TableCache::Get, MarkKeyMayExist).
    if (tier == rocksdb::kBlockCacheTier && values.values[i].size() == 0) return false;
    values.found[i] = true;
  }
  return true;
}

void Database::read(const std::vector<rocksdb::Slice>& keys, const Snapshot* snapshot, Values& values) {
  read_from(rocksdb::kReadAllTier, keys, snapshot, values);
}

bool Database::read_cached(const std::vector<rocksdb::Slice>& keys, const Snapshot* snapshot, Values& values) {
  return read_from(rocksdb::kBlockCacheTier, keys, snapshot, values);
}

uint64_t Database::size_bytes() {
  const Held held = hold();
  const std::string first(1, '\0'), last(32, '\xff');
  const rocksdb::Range range(first, last);
  uint64_t size = 0;
  require(held.db.GetApproximateSizes(rocksdb::SizeApproximationOptions(), held.db.DefaultColumnFamily(), &range, 1,
                                      &size));
  return size;
}

bool Database::is_only_read() {
  std::shared_lock<std::shared_mutex> lock(open_mutex_);
  return db_ != nullptr && reads_only_;
}

uint64_t Database::property(const std::string& name) {
  const Held held = hold();
  uint64_t value = 0;
  return held.db.GetIntProperty(name, &value) ? value : 0;
}

std::vector<std::string> Database::tables() {
  const Held held = hold();
  std::vector<rocksdb::LiveFileMetaData> files;
  held.db.GetLiveFilesMetaData(&files);
  std::vector<std::string> names;
  for (const rocksdb::LiveFileMetaData& file : files) names.push_back(file.name);
  return names;
}

void Database::verify_table(const std::string& name) {
  const Held held = hold();
  rocksdb::Options options = held.db.GetOptions();
  options.info_log = log_;
  rocksdb::SstFileReader reader(options);
  rocksdb::Status status = reader.Open(folder_ + name);
  if (status.ok()) {
    rocksdb::ReadOptions reading;
    reading.readahead_size = kReadAheadBytes;
    reading.fill_cache = false;
    status = reader.VerifyChecksum(reading);
  }
  // The table was compacted away since its name was read.
  if (!status.ok() && options.env->FileExists(folder_ + name).IsNotFound()) return;
  require(status);
}

namespace {

// Of files that are being made: nothing that was stored can be damaged by what is wrong with them.
void require_made(const rocksdb::Status& status) {
  if (!status.ok()) throw StorageError(status.ToString());
}

}  // namespace

void Database::ingest(const std::vector<std::string>& paths) {
  const Held held = hold_for_change();
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  // Where the file system has no links.
  options.failed_move_fall_back_to_copy = true;
  options.snapshot_consistency = false;
  require_made(held.db.IngestExternalFile(paths, options));
}

NewTable::NewTable(const std::string& path) : writer_(rocksdb::EnvOptions(), options_for(budget_, log_)) {
  require_made(writer_.Open(path));
}

uint64_t NewTable::add(const char* bytes, size_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  for_each_entry(bytes, size, [this](const rocksdb::Slice& key, const rocksdb::Slice& value) {
    require_made(writer_.Put(key, value));
  });
  return writer_.FileSize();
}

void NewTable::finish() {
  std::lock_guard<std::mutex> lock(mutex_);
  require_made(writer_.Finish());
}

void Database::compact() {
  const Held held = hold_for_change();
  require(held.db.Flush(rocksdb::FlushOptions()));
  rocksdb::CompactRangeOptions options;
  // Also the last level, which nothing would be merged into; and beside the usual compactions.
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  options.exclusive_manual_compaction = false;
  options.canceled = &rewrites_ended_;
  require(held.db.CompactRange(options, nullptr, nullptr));
}

void Database::reclaim(const rocksdb::Slice& from, const rocksdb::Slice& to) {
  const Held held = hold_for_change();
  rocksdb::ColumnFamilyHandle* family = held.db.DefaultColumnFamily();
  // Files that hold nothing else cost no rewrite. What says in one of them that older keys are gone goes with it, so
  // that is said again.
  require(rocksdb::DeleteFilesInRange(&held.db, family, &from, &to, false));
  require(held.db.DeleteRange(rocksdb::WriteOptions(), family, from, to));
  require(held.db.Flush(rocksdb::FlushOptions()));
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.canceled = &rewrites_ended_;
  require(held.db.CompactRange(options, &from, &to));
}

void Database::close(bool rests) {
  {
    // Nobody waits for what is being rewritten.
    std::shared_lock<std::shared_mutex> shared(open_mutex_);
    if (db_ != nullptr) db_->DisableManualCompaction();
  }
  std::lock_guard<std::mutex> changing(change_mutex_);
  std::unique_lock<std::shared_mutex> lock(open_mutex_);
  // Of one that could not be opened, too.
  if (db_ == nullptr) return unlock();
  if (rests) flush_log();
  const rocksdb::Status status = close_held();
  watermark_.close();
  unlock();
  require(status);
}

// What fails stays in the log. Call it with open_mutex_ held alone.
void Database::flush_log() {
  uint64_t bytes = 0;
  if (reads_only_ || !db_->GetIntProperty("rocksdb.cur-size-all-mem-tables", &bytes) || bytes <= kRestLogBytesMax)
    return;
  db_->Flush(rocksdb::FlushOptions()).PermitUncheckedError();
}

// Frees what reads from it, and closes it. Call it with open_mutex_ held alone.
rocksdb::Status Database::close_held() {
  {
    std::lock_guard<std::mutex> cursors_lock(cursors_mutex_);
    for (Cursor* cursor : cursors_) cursor->free_iterator();
  }
  {
    std::lock_guard<std::mutex> snapshots_lock(snapshots_mutex_);
    for (Snapshot* snapshot : snapshots_) {
      const rocksdb::Snapshot* const state = std::exchange(snapshot->state_, nullptr);
      if (state != nullptr) db_->ReleaseSnapshot(state);
    }
    snapshots_.clear();
  }
  const rocksdb::Status status = db_->Close();
  db_.reset();
  return status;
}

Snapshot::Snapshot(std::shared_ptr<Database> database) : database_(std::move(database)) {
  const Database::Held held = database_->hold();
  std::lock_guard<std::mutex> lock(database_->snapshots_mutex_);
  // One that is only read is always of the same state.
  if (!database_->reads_only_) state_ = held.db.GetSnapshot();
  database_->snapshots_.insert(this);
}

Snapshot::~Snapshot() {
  // Whoever closes the database takes all of them under this lock first.
  std::lock_guard<std::mutex> lock(database_->snapshots_mutex_);
  if (database_->snapshots_.erase(this) > 0 && state_ != nullptr) database_->db_->ReleaseSnapshot(state_);
}

Cursor::Cursor(std::shared_ptr<Database> database, Range range, const Snapshot* snapshot)
    : database_(std::move(database)), range_(std::move(range)), upper_(range_.to), lower_(range_.from) {
  const Database::Held held = database_->hold();
  iterator_.reset(held.db.NewIterator(options_of(database_->state_of(snapshot))));
  std::lock_guard<std::mutex> lock(database_->cursors_mutex_);
  database_->cursors_.insert(this);
}

rocksdb::ReadOptions Cursor::options_of(const rocksdb::Snapshot* state) const {
  rocksdb::ReadOptions options;
  options.snapshot = state;
  options.iterate_lower_bound = &lower_;
  options.iterate_upper_bound = &upper_;
  // A scan of everything must not evict from the cache what single reads need.
  options.fill_cache = false;
  options.readahead_size = kReadAheadBytes;
  return options;
}

void Cursor::move_to(rocksdb::DB& db) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (iterator_ == nullptr) return;
  if (is_placed_ && !iterator_->Valid()) {
    ended_ = iterator_->status();
    iterator_.reset();
    return;
  }
  std::unique_ptr<rocksdb::Iterator> moved(db.NewIterator(options_of(nullptr)));
  if (is_placed_) range_.reverse ? moved->SeekForPrev(iterator_->key()) : moved->Seek(iterator_->key());
  iterator_ = std::move(moved);
}

Cursor::~Cursor() { free(); }

Cursor::Page Cursor::next(size_t count, size_t bytes) {
  // Held open while the iterator is used.
  const Database::Held held = database_->hold();
  std::lock_guard<std::mutex> lock(mutex_);
  Page page;
  if (ended_.has_value()) {
    require(*ended_);
    page.ended = true;
    return page;
  }
  if (iterator_ == nullptr) throw ClosedError();
  if (!is_placed_) {
    range_.reverse ? iterator_->SeekToLast() : iterator_->SeekToFirst();
    is_placed_ = true;
  }
  size_t taken = 0;
  while (iterator_->Valid() && taken < count && page.bytes.size() < bytes) {
    const rocksdb::Slice key = iterator_->key();
    const rocksdb::Slice value = range_.values ? iterator_->value() : rocksdb::Slice();
    page.bytes.append(key.data(), key.size()).append(value.data(), value.size());
    page.lengths.push_back(uint32_t(key.size()));
    page.lengths.push_back(uint32_t(value.size()));
    taken++;
    range_.reverse ? iterator_->Prev() : iterator_->Next();
  }
  require(iterator_->status());
  page.ended = !iterator_->Valid();
  return page;
}

void Cursor::free() {
  std::lock_guard<std::mutex> lock(database_->cursors_mutex_);
  if (database_->cursors_.erase(this) > 0) free_iterator();
}

void Cursor::free_iterator() {
  std::lock_guard<std::mutex> lock(mutex_);
  iterator_.reset();
}

}  // namespace quiver
