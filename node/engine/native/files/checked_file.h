#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace quiver {

// Writes a file under a temporary name from front to back, with a running CRC-32C. The file is removed unless it was
// committed.
class CheckedWriter {
 public:
  explicit CheckedWriter(const std::string& path);
  ~CheckedWriter();
  CheckedWriter(const CheckedWriter&) = delete;
  CheckedWriter& operator=(const CheckedWriter&) = delete;

  void write(const void* data, size_t bytes);
  // Writes the checksum of everything since the last one.
  void write_checksum();
  // Syncs the file, gives it its name, syncs the folder.
  void commit();

 private:
  std::string path_;
  std::string aside_;
  int file_;
  uint32_t checksum_ = 0;
};

// Reads what CheckedWriter wrote; every failure is a StorageError.
class CheckedReader {
 public:
  explicit CheckedReader(const std::string& path);
  ~CheckedReader();
  CheckedReader(const CheckedReader&) = delete;
  CheckedReader& operator=(const CheckedReader&) = delete;

  void read(void* out, size_t bytes);
  void expect_checksum();
  void expect_end();
  size_t bytes() const { return bytes_; }

 private:
  std::string path_;
  int file_;
  size_t bytes_ = 0;
  uint32_t checksum_ = 0;
};

}  // namespace quiver
