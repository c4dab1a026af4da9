#include "originals_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "errors.h"

namespace quiver {

namespace {

// How much longer the file is than its blocks: the largest page size of the systems that this runs on.
constexpr size_t kBeyond = size_t(64) << 10;

}  // namespace

OriginalsFile::OriginalsFile(const std::string& path, size_t dim, unsigned shift, size_t rows)
    : path_(path),
      file_(-1),
      shift_(shift),
      mask_((size_t(1) << shift) - 1),
      row_bytes_(dim * sizeof(float)),
      rows_(rows),
      row_checksum_(row_bytes_),
      table_(static_cast<const uint8_t**>(std::calloc(kItemLimit >> shift, sizeof(uint8_t*)))) {
  if (table_ == nullptr) throw std::bad_alloc();
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | (rows == 0 ? O_TRUNC : 0), 0600);
  if (file_ < 0) throw storage_error("opening " + path);
  try {
    struct stat status;
    if (fstat(file_, &status) != 0) throw storage_error("reading " + path);
    if (size_t(status.st_size) < rows * row_bytes_) throw StorageError(path + " is shorter than its index says");
    map(rows);
    row_checksums_.reserve(rows);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

OriginalsFile::~OriginalsFile() { ::close(file_); }

void OriginalsFile::throw_damaged() const { throw StorageError(path_ + " was cut short, can't be read or does not match its checksums"); }

void OriginalsFile::throw_mismatch() const {
  damaged_.store(true, std::memory_order_release);
  throw_damaged();
}

void OriginalsFile::require_whole() {
  struct stat status;
  if (fstat(file_, &status) != 0) throw storage_error("reading " + path_);
  if (!blocks_.empty() && size_t(status.st_size) < blocks_.size() * (row_bytes_ << shift_) + kBeyond) {
    damaged_.store(true, std::memory_order_release);
  }
  require_sound();
}

void OriginalsFile::map(size_t rows) {
  const size_t block_bytes = row_bytes_ << shift_;
  while ((blocks_.size() << shift_) < rows) {
    // The block is mapped whole, so the file must reach its end; the part not written yet stays a hole.
    struct stat status;
    const off_t end = off_t((blocks_.size() + 1) * block_bytes + kBeyond);
    if (fstat(file_, &status) != 0) throw storage_error("growing " + path_);
    if (status.st_size < end && ftruncate(file_, end) != 0) throw storage_error("growing " + path_);
    // Behind the last block, where no row is yet. A page that is checked must not be a hole: on tmpfs, reading a hole
    // needs free space at that moment.
    const bool is_last = ((blocks_.size() + 1) << shift_) >= rows;
    if (is_last && pwrite(file_, "", 1, off_t((blocks_.size() + 1) * block_bytes)) != 1) throw storage_error("growing " + path_);
    blocks_.emplace_back(file_, blocks_.size() * block_bytes, block_bytes + kBeyond, damaged_, path_.c_str());
    const uint8_t* data = blocks_.back().data();
    // Rescoring reads single rows: reading ahead would only fill the page cache with their neighbours.
    madvise(const_cast<uint8_t*>(data), block_bytes, MADV_RANDOM);
    table_[blocks_.size() - 1] = data;
    beyond_.store(data + block_bytes, std::memory_order_release);
  }
}

void OriginalsFile::append(const float* vectors, size_t count) {
  require_whole();
  map(rows_ + count);
  row_checksums_.reserve(rows_ + count);
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(vectors);
  const size_t total = count * row_bytes_;
  for (size_t done = 0; done < total;) {
    const ssize_t written = pwrite(file_, bytes + done, total - done, off_t(rows_ * row_bytes_ + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw storage_error("writing " + path_);
    done += size_t(written);
  }
  const size_t dim = row_bytes_ / sizeof(float);
  for (size_t i = 0; i < count; i++) {
    if ((rows_ + i) % kChecksumRows == 0) checksums_.push_back(0);
    checksums_.back() = adopt(rows_ + i, vectors + i * dim, checksums_.back());
  }
  rows_ += count;
}

void OriginalsFile::read(size_t first, size_t count, float* out) const {
  uint8_t* bytes = reinterpret_cast<uint8_t*>(out);
  for (size_t done = 0; done < count * row_bytes_;) {
    const ssize_t got = pread(file_, bytes + done, count * row_bytes_ - done, off_t(first * row_bytes_ + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) damaged_.store(true, std::memory_order_release);
    if (got < 0) throw storage_error("reading " + path_);
    if (got == 0) throw StorageError(path_ + " ended early");
    done += size_t(got);
  }
}

void OriginalsFile::sync() const {
  require_sound();
  if (fsync(file_) != 0) throw storage_error("syncing " + path_);
}

}  // namespace quiver
