// Reads a mapping that its file no longer backs, beside one that the addon's handler looks after. For
// test/fault/damaged-vector-files.test.ts:
//
//   bus-error-chain FOLDER ours      prints "zeros, damaged": nothing else happens
//   bus-error-chain FOLDER chained   the handler that was there before is called: exit 42
//   bus-error-chain FOLDER default   there was none: ended by SIGBUS
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

#include "../../../node/engine/native/files/mapped_files.h"

namespace {

constexpr size_t kBytes = size_t(64) << 10;

int make_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, kBytes) != 0) _exit(2);
  return file;
}

void handler_before(int, siginfo_t*, void*) { _exit(42); }

}  // namespace

int main(int, char** words) {
  const std::string folder = words[1], story = words[2];
  if (story == "chained") {
    struct sigaction action;
    std::memset(&action, 0, sizeof action);
    action.sa_sigaction = handler_before;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, nullptr);
  }
  std::atomic<bool> damaged{false};
  const int ours = make_file(folder + "/ours"), other = make_file(folder + "/other");
  const quiver::MappedFile mapped(ours, 0, kBytes, damaged, "ours");
  const volatile unsigned char* unknown =
      static_cast<unsigned char*>(mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, other, 0));
  if (ftruncate(ours, 0) != 0 || ftruncate(other, 0) != 0) return 2;
  const volatile unsigned char* data = mapped.data();
  const bool zeros = data[0] == 0 && data[kBytes - 1] == 0;
  if (story == "ours") {
    std::printf("%s, %s\n", zeros ? "zeros" : "not zeros", damaged ? "damaged" : "sound");
    return 0;
  }
  return unknown[0];
}
