#include "checked_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "crc32c.h"
#include "errors.h"

namespace quiver {

namespace {

// Bytes per system call: few enough that the checksum finds the bytes in the cache.
constexpr size_t kChunk = size_t(1) << 20;

}  // namespace

CheckedWriter::CheckedWriter(const std::string& path)
    : path_(path),
      aside_(path + ".tmp"),
      file_(::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw storage_error("opening " + aside_);
}

CheckedWriter::~CheckedWriter() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(aside_.c_str());
}

void CheckedWriter::write(const void* data, size_t bytes) {
  const uint8_t* p = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file_, p, std::min(bytes, kChunk));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw storage_error("writing " + aside_);
    checksum_ = crc32c(checksum_, p, size_t(written));
    p += written;
    bytes -= size_t(written);
  }
}

void CheckedWriter::write_checksum() {
  const uint32_t checksum = checksum_;
  write(&checksum, sizeof checksum);
  checksum_ = 0;
}

void CheckedWriter::commit() {
  if (fsync(file_) != 0) throw storage_error("syncing " + aside_);
  if (std::rename(aside_.c_str(), path_.c_str()) != 0) throw storage_error("renaming " + aside_);
  ::close(file_);
  file_ = -1;
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash);
  const int directory = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (directory < 0) throw storage_error("opening " + folder);
  const int result = fsync(directory);
  ::close(directory);
  if (result != 0) throw storage_error("syncing " + folder);
}

CheckedReader::CheckedReader(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) throw storage_error("opening " + path);
  struct stat status;
  if (fstat(file_, &status) != 0) {
    ::close(file_);
    throw storage_error("reading " + path);
  }
  bytes_ = size_t(status.st_size);
}

CheckedReader::~CheckedReader() { ::close(file_); }

void CheckedReader::read(void* out, size_t bytes) {
  uint8_t* p = static_cast<uint8_t*>(out);
  while (bytes > 0) {
    const ssize_t got = ::read(file_, p, std::min(bytes, kChunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw storage_error("reading " + path_);
    if (got == 0) throw StorageError(path_ + " ended early");
    checksum_ = crc32c(checksum_, p, size_t(got));
    p += got;
    bytes -= size_t(got);
  }
}

void CheckedReader::expect_checksum() {
  const uint32_t computed = checksum_;
  uint32_t stored;
  read(&stored, sizeof stored);
  if (stored != computed) throw StorageError(path_ + " does not match its checksum");
  checksum_ = 0;
}

void CheckedReader::expect_end() {
  uint8_t byte;
  ssize_t got;
  do {
    got = ::read(file_, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 0) throw StorageError(path_ + " goes on beyond its end");
}

}  // namespace quiver
