#include "threads.h"

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <pthread.h>
#include <pthread/qos.h>
#endif

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace quiver {

namespace {

void lower_priority() {
#if defined(__linux__)
  // Linux keeps a nice value per thread. With 10, building takes only about a tenth of a core that serving could use
  // fully.
  setpriority(PRIO_PROCESS, id_t(syscall(SYS_gettid)), 10);
#elif defined(__APPLE__)
  pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0);
#endif
}

}  // namespace

void run_in_threads(unsigned threads, const std::function<void(unsigned)>& work) {
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto run = [&](unsigned i) {
    try {
      work(i);
    } catch (...) {
      std::lock_guard<std::mutex> guard(failure_lock);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> running;
  running.reserve(threads);
  try {
    for (unsigned i = 0; i < threads; i++) running.emplace_back(run, i);
  } catch (...) {
    // No further thread can be started: those that run share the work. If there are none, this thread does it all.
    if (running.empty()) run(0);
  }
  for (std::thread& thread : running) thread.join();
  if (failure) std::rethrow_exception(failure);
}

void run_in_background_threads(unsigned threads, const std::function<void(unsigned)>& work) {
  run_in_threads(threads, [&](unsigned i) {
    lower_priority();
    work(i);
  });
}

}  // namespace quiver
