#pragma once

#include <atomic>

namespace quiver {

// A raised flag stops long work at its next safe point; the work then throws ClosedError.
using StopFlag = std::atomic<bool>;

}  // namespace quiver
