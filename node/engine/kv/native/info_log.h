#pragma once

#include <rocksdb/env.h>

#include <deque>
#include <mutex>
#include <string>

namespace quiver {

/**
 * Replaces RocksDB's LOG file (a descriptor and a growing file per database): keeps the last warnings in memory, for
 * the error that they explain. Thread-safe.
 */
class InfoLog : public rocksdb::Logger {
 public:
  InfoLog() : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override;

  // The lines that report what was left out of a write-ahead log, with file and reason; empty if there are none.
  std::string losses() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> lines_;
};

}  // namespace quiver
