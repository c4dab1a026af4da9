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

// How much longer the file is than its room for rows: the largest page size of the systems that this runs on.
constexpr size_t kBeyond = size_t(64) << 10;
// The room for more rows is a quarter of what there is, within these bounds: an index of few rows has a small file, and
// one that is loaded grows its file seldom.
constexpr size_t kRoomParts = 4;
constexpr size_t kRoomMin = size_t(64) << 10, kRoomMax = size_t(16) << 20;

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

void OriginalsFile::throw_damaged() const {
  throw StorageError(path_ + " was cut short, can't be read or does not match its checksums");
}

void OriginalsFile::throw_mismatch() const {
  damaged_.store(true, std::memory_order_release);
  throw_damaged();
}

void OriginalsFile::require_whole() {
  struct stat status;
  if (fstat(file_, &status) != 0) throw storage_error("reading " + path_);
  if (end_ > 0 && size_t(status.st_size) < end_ + kBeyond) {
    damaged_.store(true, std::memory_order_release);
  }
  require_sound();
}

size_t OriginalsFile::end_for(size_t rows) const {
  const size_t block_bytes = row_bytes_ << shift_;
  const size_t needed = rows * row_bytes_;
  const size_t room = std::clamp(needed / kRoomParts, kRoomMin, kRoomMax);
  const size_t whole_pages = (needed + room + kBeyond - 1) / kBeyond * kBeyond;
  // No more than the blocks that are mapped, which reach one page further.
  const size_t blocks = (rows + mask_) >> shift_;
  return std::min(whole_pages, blocks * block_bytes);
}

void OriginalsFile::map(size_t rows) {
  if (rows * row_bytes_ <= end_) return;
  const size_t block_bytes = row_bytes_ << shift_;
  const size_t end = end_for(rows);
  // Blocks are mapped whole; what is mapped beyond the end of the file is never read.
  struct stat status;
  if (fstat(file_, &status) != 0) throw storage_error("growing " + path_);
  if (size_t(status.st_size) < end + kBeyond && ftruncate(file_, off_t(end + kBeyond)) != 0)
    throw storage_error("growing " + path_);
  // Behind the room, where no row is yet. A page that is checked must not be a hole: on tmpfs, reading a hole needs
  // free space at that moment.
  if (pwrite(file_, "", 1, off_t(end)) != 1) throw storage_error("growing " + path_);
  while ((blocks_.size() << shift_) < rows) {
    blocks_.emplace_back(file_, blocks_.size() * block_bytes, block_bytes + kBeyond, damaged_, path_.c_str());
    const uint8_t* data = blocks_.back().data();
    // Rescoring reads single rows: reading ahead would only fill the page cache with their neighbours.
    madvise(const_cast<uint8_t*>(data), block_bytes, MADV_RANDOM);
    table_[blocks_.size() - 1] = data;
  }
  end_ = end;
  // Where an earlier call failed, more blocks may be mapped.
  const size_t last = (end - 1) / block_bytes;
  beyond_.store(table_[last] + (end - last * block_bytes), std::memory_order_release);
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
