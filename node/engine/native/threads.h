#pragma once

#include <functional>

namespace quiver {

// Runs work(i) for i < threads on a thread each, waits for all of them and rethrows the first exception.
void run_in_threads(unsigned threads, const std::function<void(unsigned)>& work);

// The same on threads of low priority, which yield to those that serve requests.
void run_in_background_threads(unsigned threads, const std::function<void(unsigned)>& work);

}  // namespace quiver
