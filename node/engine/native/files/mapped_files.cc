#include "mapped_files.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "errors.h"

#if defined(__SANITIZE_THREAD__)
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#endif

namespace quiver {

// A mapping that the handler knows. Written by one thread at a time (under `lock`), read by handlers at any moment:
// `begin` is set last and cleared first, and the other fields do not change in between.
struct Watched {
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> bytes{0};
  std::atomic<std::atomic<bool>*> damaged{nullptr};
};

namespace {

// Places are allocated in blocks and never freed, because a handler may be reading them.
constexpr size_t kBlockPlaces = 512;

struct Block {
  Watched places[kBlockPlaces];
  std::atomic<Block*> next{nullptr};
};

Block first_block;
std::mutex lock;
struct sigaction handler_before;

// Runs as a signal handler, on the reader's thread: no lock and no allocation, only loads, stores and mmap.
bool replace_by_zeros(uintptr_t address) {
  for (Block* block = &first_block; block != nullptr; block = block->next.load(std::memory_order_acquire)) {
    for (Watched& place : block->places) {
      const uintptr_t begin = place.begin.load(std::memory_order_acquire);
      const size_t bytes = place.bytes.load(std::memory_order_relaxed);
      if (begin == 0 || address < begin || address - begin >= bytes) continue;
      place.damaged.load(std::memory_order_relaxed)->store(true, std::memory_order_seq_cst);
      // Replaces the whole mapping, so that a file that lost everything costs one signal per mapping and not one per
      // page.
      void* zeros = mmap(reinterpret_cast<void*>(begin), bytes, PROT_READ,
                         MAP_PRIVATE | MAP_ANON | MAP_FIXED | MAP_NORESERVE, -1, 0);
      return zeros != MAP_FAILED;
    }
  }
  return false;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  // A signal that another process sent has no address.
  if (info->si_code > 0 && replace_by_zeros(reinterpret_cast<uintptr_t>(info->si_addr))) return;
  if ((handler_before.sa_flags & SA_SIGINFO) != 0 && handler_before.sa_sigaction != nullptr) {
    handler_before.sa_sigaction(signal, info, context);
  } else if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN) {
    handler_before.sa_handler(signal);
  } else {
    // The instruction runs again, and ends the process as it would have without this handler.
    sigaction(SIGBUS, &handler_before, nullptr);
    if (info->si_code <= 0) raise(signal);
  }
}

void install_handler() {
  // The handler stays for good, so its code must stay, too, when the environment that loaded the addon ends before
  // others.
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&on_bus_error), &self) != 0)
    dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &handler_before);
}

Watched* watch(uintptr_t begin, size_t bytes, std::atomic<bool>& damaged) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  std::lock_guard<std::mutex> guard(lock);
  for (Block* block = &first_block;; block = block->next.load(std::memory_order_relaxed)) {
    for (Watched& place : block->places) {
      if (place.begin.load(std::memory_order_relaxed) != 0) continue;
      place.bytes.store(bytes, std::memory_order_relaxed);
      place.damaged.store(&damaged, std::memory_order_relaxed);
      place.begin.store(begin, std::memory_order_release);
      return &place;
    }
    if (block->next.load(std::memory_order_relaxed) == nullptr) block->next.store(new Block, std::memory_order_release);
  }
}

}  // namespace

MappedFile::MappedFile(int file, size_t offset, size_t bytes, std::atomic<bool>& damaged, const char* path, void* place)
    : data_(nullptr), bytes_(bytes), owned_(place == nullptr), watched_(nullptr) {
  // Who reads the place meanwhile is watched from the first moment.
  if (place != nullptr) watched_ = watch(reinterpret_cast<uintptr_t>(place), bytes, damaged);
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer takes a mapping for a write, and here the same bytes are there before and after.
  if (place != nullptr) AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  void* mapped = mmap(place, bytes, PROT_READ, MAP_SHARED | (place == nullptr ? 0 : MAP_FIXED), file, off_t(offset));
#if defined(__SANITIZE_THREAD__)
  if (place != nullptr) AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
#endif
  if (mapped == MAP_FAILED) {
    unwatch();
    throw storage_error(std::string("mapping ") + path);
  }
  data_ = static_cast<uint8_t*>(mapped);
  if (place != nullptr) return;
  try {
    watched_ = watch(reinterpret_cast<uintptr_t>(mapped), bytes, damaged);
  } catch (...) {
    munmap(mapped, bytes);
    throw;
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      owned_(other.owned_),
      watched_(std::exchange(other.watched_, nullptr)) {}

void MappedFile::unwatch() {
  if (watched_ == nullptr) return;
  std::lock_guard<std::mutex> guard(lock);
  watched_->begin.store(0, std::memory_order_release);
}

MappedFile::~MappedFile() {
  unwatch();
  if (data_ != nullptr && owned_) munmap(data_, bytes_);
}

}  // namespace quiver
