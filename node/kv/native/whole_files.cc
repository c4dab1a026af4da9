#include "whole_files.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace quiver {

namespace {

class WholeFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  WholeFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, std::string path, uint64_t size)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), path_(std::move(path)), size_(size) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t count, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext* context) const override {
    const rocksdb::IOStatus status = FSRandomAccessFileOwnerWrapper::Read(offset, count, options, result, scratch, context);
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

class WholeFileSystem : public rocksdb::FileSystemWrapper {
 public:
  WholeFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "WholeFileSystem"; }

  // Of its options RocksDB writes a file at each opening, syncs it and reads it back, which nobody needs: they are in the code.
  // It goes on without.
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override {
    if (path.find("/OPTIONS-") != std::string::npos) return rocksdb::IOStatus::NotSupported("options are not written");
    return target()->NewWritableFile(path, options, result, context);
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
