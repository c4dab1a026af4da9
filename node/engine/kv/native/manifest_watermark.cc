#include "manifest_watermark.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "crc32c.h"
#include "database.h"
#include "errors.h"
#include "synced_watermark.h"

namespace quiver {

namespace {

constexpr off_t kAt = 2 * kWatermarkBlockBytes;
constexpr uint32_t kMagic = 0x494e414d;  // "MANI"
constexpr size_t kReadBytes = 256u << 10;
// "MANIFEST-", a number and the end of the line.
constexpr size_t kCurrentBytesMax = 64;

struct Stored {
  uint64_t number;
  uint64_t size;
  uint32_t content;
  uint32_t magic;
  uint32_t zero;
  uint32_t checksum;
};
static_assert(sizeof(Stored) == 32, "a watermark is written as it lies in memory");

uint32_t checksum_of(const Stored& stored) { return crc32c(0, &stored, offsetof(Stored, checksum)); }

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags) : file_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return file_; }

 private:
  const int file_;
};

// At most `size` bytes, fewer only at the end of the file. Throws StorageError. `path`: for its message.
size_t read_at(int file, off_t at, void* bytes, size_t size, const std::string& path) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(file, static_cast<char*>(bytes) + done, size - done, at + off_t(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw storage_error(path + " cannot be read");
    if (got == 0) break;
    done += size_t(got);
  }
  return done;
}

// Of the manifest that is in use; 0 where there is none, which RocksDB tells.
uint64_t current_number(const std::string& folder) {
  const std::string path = folder + "/CURRENT";
  const OpenFile file(path, O_RDONLY);
  if (file.get() < 0) {
    if (errno == ENOENT) return 0;
    throw storage_error(path + " cannot be opened");
  }
  char text[kCurrentBytesMax + 1] = {};
  read_at(file.get(), 0, text, kCurrentBytesMax, path);
  unsigned long long number = 0;
  return std::sscanf(text, "MANIFEST-%llu", &number) == 1 ? number : 0;
}

bool read_watermark(const std::string& path, Stored& stored) {
  const OpenFile file(path, O_RDONLY);
  if (file.get() < 0) {
    if (errno == ENOENT) return false;
    throw storage_error(path + " cannot be opened");
  }
  return read_at(file.get(), kAt, &stored, sizeof stored, path) == sizeof stored && stored.magic == kMagic &&
         stored.checksum == checksum_of(stored);
}

}  // namespace

void raise_manifest_watermark(const std::string& folder, const ManifestWatermark& watermark) noexcept {
  Stored stored{watermark.number, watermark.size, watermark.content, kMagic, 0, 0};
  stored.checksum = checksum_of(stored);
  const OpenFile file(folder + kWatermarkFile, O_RDWR | O_CREAT);
  if (file.get() < 0) return;
  ssize_t written;
  do {
    written = ::pwrite(file.get(), &stored, sizeof stored, kAt);
  } while (written < 0 && errno == EINTR);
  // What stood there before may be about a manifest of the same number that was never in use.
  if (written != ssize_t(sizeof stored) && ::ftruncate(file.get(), kAt) != 0) return;
}

void refuse_changed_manifest(const std::string& folder) {
  Stored stored;
  if (!read_watermark(folder + kWatermarkFile, stored) || current_number(folder) != stored.number) return;
  char name[32];
  std::snprintf(name, sizeof name, "MANIFEST-%06llu", static_cast<unsigned long long>(stored.number));
  const std::string path = folder + "/" + name;
  const OpenFile file(path, O_RDONLY);
  if (file.get() < 0) {
    // RocksDB tells it.
    if (errno == ENOENT) return;
    throw storage_error(path + " cannot be opened");
  }
  std::vector<char> bytes(size_t(std::min<uint64_t>(kReadBytes, stored.size)));
  uint64_t at = 0;
  uint32_t content = 0;
  while (at < stored.size) {
    const size_t wanted = size_t(std::min<uint64_t>(bytes.size(), stored.size - at));
    const size_t got = read_at(file.get(), off_t(at), bytes.data(), wanted, path);
    content = crc32c(content, bytes.data(), got);
    at += got;
    if (got < wanted)
      throw DamagedError(std::string(name) + " ends at byte " + std::to_string(at) + ", and " +
                         std::to_string(stored.size) + " were on stable storage");
  }
  if (content != stored.content) throw DamagedError(std::string(name) + " is not what was on stable storage");
}

}  // namespace quiver
