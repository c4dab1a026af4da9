#include "whole_files.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "crc32c.h"
#include "manifest_watermark.h"

namespace quiver {

namespace {

class WholeFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  WholeFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, std::string path, uint64_t size)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), path_(std::move(path)), size_(size) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t count, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext* context) const override {
    const rocksdb::IOStatus status =
        FSRandomAccessFileOwnerWrapper::Read(offset, count, options, result, scratch, context);
    return status.ok() ? whole(offset, count, *result) : status;
  }

  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* context) override {
    const rocksdb::IOStatus status = FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, context);
    for (size_t i = 0; i < count; ++i) {
      rocksdb::FSReadRequest& request = requests[i];
      if (request.status.ok()) request.status = whole(request.offset, request.len, request.result);
    }
    return status;
  }

 private:
  rocksdb::IOStatus whole(uint64_t offset, size_t count, const rocksdb::Slice& result) const {
    const uint64_t there = offset < size_ ? std::min<uint64_t>(count, size_ - offset) : 0;
    if (result.size() >= there) return rocksdb::IOStatus::OK();
    return rocksdb::IOStatus::Corruption("a file is shorter than when it was opened", path_);
  }

  const std::string path_;
  const uint64_t size_;
};

// Keeps how much of a manifest is on stable storage, by each sync. RocksDB writes it from its start to its end, one
// call at a time.
class WatermarkedManifest : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatermarkedManifest(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::string folder, uint64_t number)
      : FSWritableFileOwnerWrapper(std::move(file)), folder_(std::move(folder)), watermark_{number, 0, 0} {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
    return appended(data, FSWritableFileOwnerWrapper::Append(data, options, context));
  }

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& verification,
                           rocksdb::IODebugContext* context) override {
    return appended(data, FSWritableFileOwnerWrapper::Append(data, options, verification, context));
  }

  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* context) override {
    return synced(FSWritableFileOwnerWrapper::Sync(options, context));
  }

  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* context) override {
    return synced(FSWritableFileOwnerWrapper::Fsync(options, context));
  }

 private:
  rocksdb::IOStatus appended(const rocksdb::Slice& data, rocksdb::IOStatus status) {
    // After a failed one nobody knows what is there.
    if (!status.ok()) failed_ = true;
    watermark_.content = crc32c(watermark_.content, data.data(), data.size());
    watermark_.size += data.size();
    return status;
  }

  rocksdb::IOStatus synced(rocksdb::IOStatus status) {
    if (status.ok() && !failed_) raise_manifest_watermark(folder_, watermark_);
    return status;
  }

  const std::string folder_;
  ManifestWatermark watermark_;
  bool failed_ = false;
};

class WholeFileSystem : public rocksdb::FileSystemWrapper {
 public:
  WholeFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "WholeFileSystem"; }

  // Of its options RocksDB writes a file at each opening, syncs it and reads it back, which nobody needs: they are in
  // the code. It goes on without.
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override {
    if (path.find("/OPTIONS-") != std::string::npos) return rocksdb::IOStatus::NotSupported("options are not written");
    const rocksdb::IOStatus status = target()->NewWritableFile(path, options, result, context);
    const size_t name = path.rfind("/MANIFEST-");
    unsigned long long number = 0;
    if (!status.ok() || name == std::string::npos || std::sscanf(path.c_str() + name, "/MANIFEST-%llu", &number) != 1)
      return status;
    *result = std::make_unique<WatermarkedManifest>(std::move(*result), path.substr(0, name), number);
    return status;
  }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* context) override {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    rocksdb::IOStatus status = target()->NewRandomAccessFile(path, options, &file, context);
    uint64_t size = 0;
    if (status.ok()) status = target()->GetFileSize(path, options.io_options, &size, context);
    if (status.ok()) *result = std::make_unique<WholeFile>(std::move(file), path, size);
    return status;
  }
};

}  // namespace

rocksdb::Env* whole_files() {
  static rocksdb::Env* const env = rocksdb::NewCompositeEnv(std::make_shared<WholeFileSystem>()).release();
  return env;
}

}  // namespace quiver
