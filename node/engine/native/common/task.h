#pragma once

#include <node_api.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace quiver {

/**
 * A call that runs off JavaScript's thread and settles a promise. `run` is called once on another thread and may throw;
 * then `finish` on JavaScript's thread, to make the value. A failure rejects with an Error whose `code` names it (see
 * error_code).
 */
class Task {
 public:
  virtual ~Task() = default;
  virtual void run() = 0;
  virtual napi_value finish(napi_env env) = 0;
  // Called on JavaScript's thread last of all, however the task ended.
  virtual void ended() {}
  // Makes `run` return soon; any thread.
  virtual void stop() {}
};

// Runs the task on libuv's pool: for short calls. Returns the promise; null with an exception pending on failure.
napi_value start_on_pool(napi_env env, std::unique_ptr<Task> task);

/**
 * Runs the task on a thread of its own: for long calls, which would block a thread of the pool. If `keeps_alive` is
 * false, the process may end while it runs. If the environment ends first, the task is stopped and waited for.
 */
napi_value start_on_thread(napi_env env, std::unique_ptr<Task> task, bool keeps_alive);

// Throws a JavaScript error for the exception being handled.
void throw_current_exception(napi_env env);

// Throws a TypeError with code INVALID_ARGUMENT.
napi_value throw_invalid_argument(napi_env env, const char* message);

}  // namespace quiver
