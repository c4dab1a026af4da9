#include "info_log.h"

#include <cstdarg>
#include <cstdio>

namespace quiver {

namespace {

// Enough for the messages of one recovery; a database that warns endlessly takes no more than this.
constexpr size_t kLinesMax = 32;
constexpr size_t kLineBytesMax = 512;

// How RocksDB's log reader reports what it leaves out ("000012.log: dropping 4028 bytes; Corruption: …").
constexpr const char* kLossText = "dropping ";

}  // namespace

void InfoLog::Logv(const char* format, va_list arguments) {
  char line[kLineBytesMax];
  if (std::vsnprintf(line, sizeof line, format, arguments) <= 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (lines_.size() == kLinesMax) lines_.pop_front();
  lines_.emplace_back(line);
}

std::string InfoLog::losses() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string all;
  for (const std::string& line : lines_) {
    if (line.find(kLossText) == std::string::npos) continue;
    if (!all.empty()) all += "; ";
    all += line;
  }
  return all;
}

}  // namespace quiver
