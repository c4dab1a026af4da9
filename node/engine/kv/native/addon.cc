// What JavaScript sees of RocksDB: functions over handles (budget, database, cursor, snapshot, new table), mirrored by
// node/engine/kv/store-binding.ts with the same names, argument order and meaning. Everything that may touch the disk
// runs on libuv's pool and answers with a promise. Nothing is global, so any number of threads may load the addon.

#include <fcntl.h>
#include <node_api.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "database.h"
#include "entries.h"
#include "guarded.h"
#include "handles.h"
#include "task.h"

namespace quiver {

template <>
struct HandleTag<const Budget> {
  static constexpr napi_type_tag kTag = {0x5156525653544f52, 0x4255444745540001};
  static constexpr const char* kWanted = "expected a budget";
};
template <>
struct HandleTag<Database> {
  static constexpr napi_type_tag kTag = {0x5156525653544f52, 0x4442000000000001};
  static constexpr const char* kWanted = "expected a database";
};
template <>
struct HandleTag<Cursor> {
  static constexpr napi_type_tag kTag = {0x5156525653544f52, 0x435552534f520001};
  static constexpr const char* kWanted = "expected a cursor";
};
template <>
struct HandleTag<Snapshot> {
  static constexpr napi_type_tag kTag = {0x5156525653544f52, 0x534e415053480001};
  static constexpr const char* kWanted = "expected a snapshot that was not freed";
};
template <>
struct HandleTag<NewTable> {
  static constexpr napi_type_tag kTag = {0x5156525653544f52, 0x5441424c45000001};
  static constexpr const char* kWanted = "expected a new table";
};

namespace {

// Greatest number of entries of a page, and greatest size at which it is cut.
constexpr uint64_t kPageMax = 1u << 30;

// Up to this size, copying costs less than separate memory that JavaScript has to free.
constexpr size_t kCopiedBytesMax = 32u << 10;

// The length that means: this key has no value, or there is no such file.
constexpr uint32_t kAbsent = UINT32_MAX;

void free_bytes(napi_env, void* data, void*) { std::free(data); }

// Memory filled on another thread that becomes an ArrayBuffer.
class Bytes {
 public:
  ~Bytes() { std::free(data_); }
  char* reserve(size_t size) {
    data_ = static_cast<char*>(std::malloc(size == 0 ? 1 : size));
    if (data_ == nullptr) throw std::bad_alloc();
    size_ = size;
    return data_;
  }
  napi_value to_value(napi_env env) {
    napi_value value = nullptr;
    if (size_ > kCopiedBytesMax) {
      if (napi_create_external_arraybuffer(env, data_, size_, free_bytes, nullptr, &value) != napi_ok) return nullptr;
      data_ = nullptr;
      return value;
    }
    void* memory = nullptr;
    if (napi_create_arraybuffer(env, size_, &memory, &value) != napi_ok) return nullptr;
    if (size_ > 0) std::memcpy(memory, data_, size_);
    return value;
  }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

napi_value number(napi_env env, double value) {
  napi_value result = nullptr;
  napi_create_double(env, value, &result);
  return result;
}

/// { bytes: ArrayBuffer, lengths: Uint32Array }
napi_value bytes_and_lengths(napi_env env, Bytes& bytes, const std::vector<uint32_t>& lengths) {
  napi_value result = nullptr;
  void* data;
  const napi_value lengths_value = new_array(env, napi_uint32_array, lengths.size(), sizeof(uint32_t), &data);
  if (!lengths.empty()) std::memcpy(data, lengths.data(), lengths.size() * sizeof(uint32_t));
  const napi_value bytes_value = bytes.to_value(env);
  if (bytes_value == nullptr || napi_create_object(env, &result) != napi_ok) throw std::bad_alloc();
  napi_set_named_property(env, result, "bytes", bytes_value);
  napi_set_named_property(env, result, "lengths", lengths_value);
  return result;
}

class OpenTask final : public Task {
 public:
  OpenTask(napi_env env, const Arguments& arguments)
      : budget_(handled<const Budget>(env, arguments.at(0))),
        folder_(arguments.text(1)),
        must_exist_(arguments.flag(2)),
        reading_(arguments.flag(3)) {}
  void run() override { database_ = Database::open(folder_, budget_, must_exist_, reading_); }
  napi_value finish(napi_env env) override { return make_handle(env, std::move(database_)); }

 private:
  const std::shared_ptr<const Budget> budget_;
  const std::string folder_;
  const bool must_exist_, reading_;
  std::shared_ptr<Database> database_;
};

// A task on a database; `finish` answers undefined unless it is overridden.
class DatabaseTask : public Task {
 public:
  DatabaseTask(napi_env env, const Arguments& arguments) : database_(handled<Database>(env, arguments.at(0))) {}
  napi_value finish(napi_env env) override { return undefined(env); }

 protected:
  const std::shared_ptr<Database> database_;
};

class CloseTask final : public DatabaseTask {
 public:
  CloseTask(napi_env env, const Arguments& arguments) : DatabaseTask(env, arguments), rests_(arguments.flag(1)) {}
  void run() override { database_->close(rests_); }

 private:
  const bool rests_;
};

// A file as long as it is used here.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : handle_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (handle_ >= 0) ::close(handle_);
  }
  OpenFile(const OpenFile&) = delete;
  int handle() const { return handle_; }

 private:
  const int handle_;
};

// Not a store's matter either: beside a store lie several small files, and to read one in JavaScript takes a turn on
// the pool for each of opening, looking, reading and closing.
class ReadFilesTask final : public Task {
 public:
  ReadFilesTask(napi_env env, const Arguments& arguments) : bytes_max_(arguments.whole(1, 0, kPageMax)) {
    for (const napi_value element : elements_of(env, arguments.at(0))) {
      const auto path = arguments.bytes_of(element);
      paths_.emplace_back(path.data, path.size);
    }
  }
  void run() override {
    std::string all;
    for (const std::string& path : paths_) {
      const OpenFile file(path);
      if (file.handle() < 0) {
        if (errno != ENOENT && errno != ENOTDIR) throw storage_error(path + " cannot be opened");
        lengths_.push_back(kAbsent);
        continue;
      }
      struct stat status;
      if (::fstat(file.handle(), &status) != 0) throw storage_error(path + " cannot be read");
      if (uint64_t(status.st_size) > bytes_max_) throw StorageError(path + " is longer than it can be");
      const size_t from = all.size();
      all.resize(from + size_t(status.st_size));
      size_t done = 0;
      while (from + done < all.size()) {
        const ssize_t got = ::read(file.handle(), all.data() + from + done, all.size() - from - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw storage_error(path + " cannot be read");
        if (got == 0) break;
        done += size_t(got);
      }
      all.resize(from + done);
      lengths_.push_back(uint32_t(done));
    }
    std::memcpy(bytes_.reserve(all.size()), all.data(), all.size());
  }
  napi_value finish(napi_env env) override { return bytes_and_lengths(env, bytes_, lengths_); }

 private:
  const uint64_t bytes_max_;
  std::vector<std::string> paths_;
  Bytes bytes_;
  std::vector<uint32_t> lengths_;
};

class TakeChangesTask final : public DatabaseTask {
 public:
  using DatabaseTask::DatabaseTask;
  void run() override { database_->take_changes(); }
};

class WriteTask final : public DatabaseTask {
 public:
  WriteTask(napi_env env, const Arguments& arguments) : DatabaseTask(env, arguments), sync_(arguments.flag(2)) {
    const std::vector<napi_value> elements = elements_of(env, arguments.at(1));
    if (elements.size() % 2 != 0) throw std::invalid_argument("a key has no value beside it");
    enum class Kind { kPut, kDelete, kEntries };
    struct Change {
      rocksdb::Slice key, value;
      Kind kind;
    };
    std::vector<Change> changes;
    changes.reserve(elements.size() / 2);
    size_t bytes = 0;
    for (size_t i = 0; i < elements.size(); i += 2) {
      const auto key = arguments.bytes_of(elements[i]);
      Change change{{key.data, key.size}, {}, arguments.is_nullish(elements[i + 1]) ? Kind::kDelete : Kind::kPut};
      napi_valuetype type = napi_undefined;
      napi_typeof(env, elements[i + 1], &type);
      if (type == napi_boolean) {
        change.kind = Kind::kEntries;
      } else if (change.kind == Kind::kPut) {
        const auto value = arguments.bytes_of(elements[i + 1]);
        change.value = {value.data, value.size};
      }
      bytes += key.size + change.value.size() + 16;
      changes.push_back(change);
    }
    batch_ = rocksdb::WriteBatch(bytes);
    for (const Change& change : changes) {
      if (change.kind == Kind::kEntries) {
        for_each_entry(
            change.key.data(), change.key.size(),
            [this](const rocksdb::Slice& key, const rocksdb::Slice& value) { require(batch_.Put(key, value)); });
      } else {
        require(change.kind == Kind::kPut ? batch_.Put(change.key, change.value) : batch_.Delete(change.key));
      }
    }
  }
  void run() override { database_->write(batch_, sync_); }

 private:
  const bool sync_;
  rocksdb::WriteBatch batch_;
};

class RemoveRangeTask final : public DatabaseTask {
 public:
  RemoveRangeTask(napi_env env, const Arguments& arguments) : DatabaseTask(env, arguments) {
    const auto from = arguments.bytes(1), to = arguments.bytes(2);
    from_.assign(from.data, from.size);
    to_.assign(to.data, to.size);
  }
  void run() override { database_->remove_range(from_, to_); }

 private:
  std::string from_, to_;
};

/// Keys of a call, copied.
class Keys {
 public:
  Keys(napi_env env, const Arguments& arguments, size_t argument) {
    const std::vector<napi_value> elements = elements_of(env, arguments.at(argument));
    std::vector<size_t> ends;
    ends.reserve(elements.size());
    for (const napi_value element : elements) {
      const auto key = arguments.bytes_of(element);
      bytes_.append(key.data, key.size);
      ends.push_back(bytes_.size());
    }
    size_t from = 0;
    slices_.reserve(ends.size());
    for (const size_t end : ends) {
      slices_.emplace_back(bytes_.data() + from, end - from);
      from = end;
    }
  }
  Keys(const Keys&) = delete;
  const std::vector<rocksdb::Slice>& slices() const { return slices_; }

 private:
  std::string bytes_;
  std::vector<rocksdb::Slice> slices_;
};

// Writes values one after the other.
void pack(const Database::Values& from, Bytes& bytes, std::vector<uint32_t>& lengths) {
  size_t size = 0;
  lengths.reserve(from.values.size());
  for (size_t i = 0; i < from.values.size(); i++) {
    lengths.push_back(from.found[i] ? uint32_t(from.values[i].size()) : kAbsent);
    if (from.found[i]) size += from.values[i].size();
  }
  char* to = bytes.reserve(size);
  for (size_t i = 0; i < from.values.size(); i++) {
    if (!from.found[i]) continue;
    std::memcpy(to, from.values[i].data(), from.values[i].size());
    to += from.values[i].size();
  }
}

// The snapshot that an argument names; null: none is named.
std::shared_ptr<Snapshot> snapshot_of(napi_env env, const Arguments& arguments, size_t argument) {
  const napi_value object = arguments.at(argument);
  return arguments.is_nullish(object) ? nullptr : handled<Snapshot>(env, object);
}

class ReadTask final : public DatabaseTask {
 public:
  ReadTask(napi_env env, const Arguments& arguments)
      : DatabaseTask(env, arguments), keys_(env, arguments, 1), snapshot_(snapshot_of(env, arguments, 2)) {
    if (snapshot_ != nullptr) return;
    // It is read some time after the call, and shows the state at the call.
    try {
      snapshot_ = std::make_shared<Snapshot>(database_);
    } catch (const ClosedError&) {
      // `run` fails with it.
    }
  }
  void run() override {
    {
      Database::Values values;
      database_->read(keys_.slices(), snapshot_.get(), values);
      pack(values, bytes_, lengths_);
    }
    snapshot_.reset();
  }
  napi_value finish(napi_env env) override { return bytes_and_lengths(env, bytes_, lengths_); }

 private:
  const Keys keys_;
  std::shared_ptr<Snapshot> snapshot_;
  Bytes bytes_;
  std::vector<uint32_t> lengths_;
};

class NewTableTask final : public Task {
 public:
  NewTableTask(napi_env, const Arguments& arguments) : path_(arguments.text(0)) {}
  void run() override { table_ = std::make_shared<NewTable>(path_); }
  napi_value finish(napi_env env) override { return make_handle(env, std::move(table_)); }

 private:
  const std::string path_;
  std::shared_ptr<NewTable> table_;
};

class AddTask final : public Task {
 public:
  AddTask(napi_env env, const Arguments& arguments) : table_(handled<NewTable>(env, arguments.at(0))) {
    const auto bytes = arguments.bytes(1);
    bytes_.assign(bytes.data, bytes.size);
  }
  void run() override { size_ = table_->add(bytes_.data(), bytes_.size()); }
  napi_value finish(napi_env env) override { return number(env, double(size_)); }

 private:
  const std::shared_ptr<NewTable> table_;
  std::string bytes_;
  uint64_t size_ = 0;
};

class FinishTask final : public Task {
 public:
  FinishTask(napi_env env, const Arguments& arguments) : table_(handled<NewTable>(env, arguments.at(0))) {}
  void run() override { table_->finish(); }
  napi_value finish(napi_env env) override { return undefined(env); }

 private:
  const std::shared_ptr<NewTable> table_;
};

class IngestTask final : public DatabaseTask {
 public:
  IngestTask(napi_env env, const Arguments& arguments) : DatabaseTask(env, arguments) {
    for (const napi_value element : elements_of(env, arguments.at(1))) {
      const auto path = arguments.bytes_of(element);
      paths_.emplace_back(path.data, path.size);
    }
  }
  void run() override { database_->ingest(paths_); }

 private:
  std::vector<std::string> paths_;
};

class SizeTask final : public DatabaseTask {
 public:
  using DatabaseTask::DatabaseTask;
  void run() override { size_ = database_->size_bytes(); }
  napi_value finish(napi_env env) override { return number(env, double(size_)); }

 private:
  uint64_t size_ = 0;
};

class TablesTask final : public DatabaseTask {
 public:
  using DatabaseTask::DatabaseTask;
  void run() override { names_ = database_->tables(); }
  napi_value finish(napi_env env) override {
    napi_value names;
    if (napi_create_array_with_length(env, names_.size(), &names) != napi_ok) return nullptr;
    for (size_t i = 0; i < names_.size(); i++) {
      napi_value name;
      if (napi_create_string_utf8(env, names_[i].c_str(), names_[i].size(), &name) != napi_ok) return nullptr;
      napi_set_element(env, names, uint32_t(i), name);
    }
    return names;
  }

 private:
  std::vector<std::string> names_;
};

class VerifyTableTask final : public DatabaseTask {
 public:
  VerifyTableTask(napi_env env, const Arguments& arguments) : DatabaseTask(env, arguments), name_(arguments.text(1)) {}
  void run() override { database_->verify_table(name_); }

 private:
  const std::string name_;
};

class CompactTask final : public DatabaseTask {
 public:
  CompactTask(napi_env env, const Arguments& arguments) : DatabaseTask(env, arguments) {}
  void run() override { database_->compact(); }
};

class ReclaimTask final : public DatabaseTask {
 public:
  ReclaimTask(napi_env env, const Arguments& arguments) : DatabaseTask(env, arguments) {
    const auto from = arguments.bytes(1), to = arguments.bytes(2);
    from_.assign(from.data, from.size);
    to_.assign(to.data, to.size);
  }
  void run() override { database_->reclaim(from_, to_); }

 private:
  std::string from_, to_;
};

class NextTask final : public Task {
 public:
  NextTask(napi_env env, const Arguments& arguments)
      : cursor_(handled<Cursor>(env, arguments.at(0))),
        count_(arguments.whole(1, 1, kPageMax)),
        bytes_max_(arguments.whole(2, 1, kPageMax)) {}
  void run() override {
    Cursor::Page page = cursor_->next(count_, bytes_max_);
    std::memcpy(bytes_.reserve(page.bytes.size()), page.bytes.data(), page.bytes.size());
    lengths_ = std::move(page.lengths);
    ended_ = page.ended;
  }
  napi_value finish(napi_env env) override {
    const napi_value page = bytes_and_lengths(env, bytes_, lengths_);
    napi_value ended;
    if (napi_get_boolean(env, ended_, &ended) == napi_ok) napi_set_named_property(env, page, "ended", ended);
    return page;
  }

 private:
  const std::shared_ptr<Cursor> cursor_;
  const size_t count_, bytes_max_;
  Bytes bytes_;
  std::vector<uint32_t> lengths_;
  bool ended_ = false;
};

class FreeTask final : public Task {
 public:
  FreeTask(napi_env env, const Arguments& arguments) : cursor_(handled<Cursor>(env, arguments.at(0))) {}
  void run() override { cursor_->free(); }
  napi_value finish(napi_env env) override { return undefined(env); }

 private:
  const std::shared_ptr<Cursor> cursor_;
};

napi_value new_budget(napi_env env, const Arguments& arguments) {
  constexpr uint64_t kBytesMax = uint64_t(1) << 50;
  return make_handle(
      env, std::make_shared<const Budget>(arguments.whole(0, 0, kBytesMax), arguments.whole(1, 0, kBytesMax)));
}

napi_value budget_memory(napi_env env, const Arguments& arguments) {
  const auto budget = handled<const Budget>(env, arguments.at(0));
  napi_value memory;
  if (napi_create_object(env, &memory) != napi_ok) return nullptr;
  napi_set_named_property(env, memory, "cacheBytes", number(env, double(budget->cache->GetUsage())));
  napi_set_named_property(env, memory, "writeBufferBytes", number(env, double(budget->write_buffers->memory_usage())));
  return memory;
}

napi_value property(napi_env env, const Arguments& arguments) {
  return number(env, double(handled<Database>(env, arguments.at(0))->property(arguments.text(1))));
}

napi_value is_only_read(napi_env env, const Arguments& arguments) {
  napi_value result = nullptr;
  napi_get_boolean(env, handled<Database>(env, arguments.at(0))->is_only_read(), &result);
  return result;
}

napi_value end_rewrites(napi_env env, const Arguments& arguments) {
  handled<Database>(env, arguments.at(0))->end_rewrites();
  return undefined(env);
}

napi_value read_cached(napi_env env, const Arguments& arguments) {
  const Keys keys(env, arguments, 1);
  Database::Values values;
  const auto snapshot = snapshot_of(env, arguments, 2);
  if (!handled<Database>(env, arguments.at(0))->read_cached(keys.slices(), snapshot.get(), values)) {
    napi_value null = nullptr;
    napi_get_null(env, &null);
    return null;
  }
  Bytes bytes;
  std::vector<uint32_t> lengths;
  pack(values, bytes, lengths);
  return bytes_and_lengths(env, bytes, lengths);
}

napi_value new_snapshot(napi_env env, const Arguments& arguments) {
  return make_handle(env, std::make_shared<Snapshot>(handled<Database>(env, arguments.at(0))));
}

napi_value free_snapshot(napi_env env, const Arguments& arguments) {
  let_go<Snapshot>(env, arguments.at(0));
  return undefined(env);
}

napi_value new_cursor(napi_env env, const Arguments& arguments) {
  const auto from = arguments.bytes(1), to = arguments.bytes(2);
  Cursor::Range range{{from.data, from.size}, {to.data, to.size}, arguments.flag(3), arguments.flag(4)};
  const auto snapshot = snapshot_of(env, arguments, 5);
  return make_handle(
      env, std::make_shared<Cursor>(handled<Database>(env, arguments.at(0)), std::move(range), snapshot.get()));
}

// Not a store's matter, but the addon that every node has loaded is the one at hand: JavaScript's own clock is
// CLOCK_MONOTONIC, which stands still while the machine sleeps.
napi_value boot_time_ms(napi_env env, const Arguments&) {
  timespec now{};
  if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) throw std::runtime_error("the machine has no CLOCK_BOOTTIME");
  napi_value milliseconds;
  napi_create_double(env, static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6,
                     &milliseconds);
  return milliseconds;
}

napi_value duplicate_handle(napi_env env, const Arguments& arguments) {
  const int copy = fcntl(static_cast<int>(arguments.whole(0, 0, INT_MAX)), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) throw std::runtime_error(std::strerror(errno));
  napi_value result;
  napi_create_int32(env, copy, &result);
  return result;
}

template <class T>
napi_value pooled(napi_env env, const Arguments& arguments) {
  return start_on_pool(env, std::make_unique<T>(env, arguments));
}

template <napi_value (*Call)(napi_env, const Arguments&)>
napi_property_descriptor function(const char* name) {
  return {name, nullptr, guarded<Call>, nullptr, nullptr, nullptr, napi_enumerable, nullptr};
}

}  // namespace

}  // namespace quiver

NAPI_MODULE_INIT() {
  using namespace quiver;
  const napi_property_descriptor functions[] = {
      function<new_budget>("newBudget"),
      function<budget_memory>("budgetMemory"),
      function<pooled<OpenTask>>("open"),
      function<pooled<CloseTask>>("close"),
      function<pooled<WriteTask>>("write"),
      function<pooled<RemoveRangeTask>>("removeRange"),
      function<pooled<ReadTask>>("read"),
      function<read_cached>("readCached"),
      function<new_snapshot>("newSnapshot"),
      function<free_snapshot>("freeSnapshot"),
      function<pooled<NewTableTask>>("newTable"),
      function<pooled<AddTask>>("addToTable"),
      function<pooled<FinishTask>>("finishTable"),
      function<pooled<IngestTask>>("ingest"),
      function<pooled<SizeTask>>("sizeBytes"),
      function<property>("property"),
      function<pooled<CompactTask>>("compact"),
      function<pooled<ReclaimTask>>("reclaim"),
      function<is_only_read>("isOnlyRead"),
      function<pooled<TakeChangesTask>>("takeChanges"),
      function<pooled<ReadFilesTask>>("readFiles"),
      function<end_rewrites>("endRewrites"),
      function<pooled<TablesTask>>("tables"),
      function<pooled<VerifyTableTask>>("verifyTable"),
      function<new_cursor>("newCursor"),
      function<pooled<NextTask>>("next"),
      function<pooled<FreeTask>>("free"),
      function<boot_time_ms>("bootTimeMs"),
      function<duplicate_handle>("duplicateHandle"),
  };
  if (napi_define_properties(env, exports, sizeof functions / sizeof functions[0], functions) != napi_ok)
    return nullptr;
  return exports;
}
