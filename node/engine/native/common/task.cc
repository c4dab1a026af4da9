#include "task.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <thread>

#include "errors.h"

namespace quiver {

namespace {

// What remains of an exception when it crosses threads.
struct Failure {
  const char* code = nullptr;
  std::string message;
};

/// A CodedError's code, INVALID_ARGUMENT, OUT_OF_MEMORY or INTERNAL.
Failure current_failure() {
  try {
    throw;
  } catch (const CodedError& error) {
    return {error.code, error.what()};
  } catch (const std::invalid_argument& error) {
    return {"INVALID_ARGUMENT", error.what()};
  } catch (const std::bad_alloc&) {
    return {"OUT_OF_MEMORY", "out of memory"};
  } catch (const std::exception& error) {
    return {"INTERNAL", error.what()};
  } catch (...) {
    return {"INTERNAL", "unknown exception"};
  }
}

napi_value make_error(napi_env env, const Failure& failure) {
  napi_value code, message, error = nullptr;
  napi_create_string_utf8(env, failure.code, NAPI_AUTO_LENGTH, &code);
  napi_create_string_utf8(env, failure.message.c_str(), failure.message.size(), &message);
  napi_create_error(env, code, message, &error);
  return error;
}

// A task under way. Every Node-API status is checked: an environment that is ending refuses all calls.
struct Running {
  std::unique_ptr<Task> task;
  napi_deferred deferred = nullptr;
  napi_async_work work = nullptr;
  napi_threadsafe_function wake = nullptr;
  std::thread thread;
  Failure failure;

  void run() {
    try {
      task->run();
    } catch (...) {
      failure = current_failure();
    }
  }

  void settle(napi_env env) {
    napi_handle_scope scope;
    if (napi_open_handle_scope(env, &scope) != napi_ok) {
      task->ended();
      return;
    }
    napi_value value = nullptr;
    if (failure.code == nullptr) {
      try {
        value = task->finish(env);
      } catch (...) {
        failure = current_failure();
      }
    }
    task->ended();
    if (failure.code != nullptr) {
      napi_value error = make_error(env, failure);
      if (error != nullptr) napi_reject_deferred(env, deferred, error);
    } else if (value != nullptr) {
      napi_resolve_deferred(env, deferred, value);
    }
    napi_close_handle_scope(env, scope);
  }
};

void run_on_pool(napi_env, void* data) { static_cast<Running*>(data)->run(); }

void pool_run_ended(napi_env env, napi_status, void* data) {
  std::unique_ptr<Running> running(static_cast<Running*>(data));
  running->settle(env);
  napi_delete_async_work(env, running->work);
}

void stop_at_env_end(void* data) {
  Running* running = static_cast<Running*>(data);
  running->task->stop();
  if (running->thread.joinable()) running->thread.join();
}

// On JavaScript's thread once the task's own thread is done; without an environment if that is ending.
void thread_run_ended(napi_env env, napi_value, void*, void* data) {
  Running* running = static_cast<Running*>(data);
  if (env == nullptr) return;  // freed by finalize_wake
  napi_remove_env_cleanup_hook(env, stop_at_env_end, running);
  running->thread.join();
  running->settle(env);
  napi_release_threadsafe_function(running->wake, napi_tsfn_release);
}

// The last callback for a task on a thread, whether it settled or its environment ended.
void finalize_wake(napi_env, void* data, void*) {
  Running* running = static_cast<Running*>(data);
  if (running->thread.joinable()) {
    running->task->stop();
    running->thread.join();
  }
  delete running;
}

napi_value string_value(napi_env env, const char* text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
  return value;
}

}  // namespace

napi_value start_on_pool(napi_env env, std::unique_ptr<Task> task) {
  auto running = std::make_unique<Running>();
  running->task = std::move(task);
  napi_value promise;
  if (napi_create_promise(env, &running->deferred, &promise) != napi_ok) return nullptr;
  if (napi_create_async_work(env, nullptr, string_value(env, "quiver.task"), run_on_pool, pool_run_ended,
                             running.get(), &running->work) != napi_ok) {
    return nullptr;
  }
  if (napi_queue_async_work(env, running->work) != napi_ok) {
    napi_delete_async_work(env, running->work);
    return nullptr;
  }
  running.release();
  return promise;
}

napi_value start_on_thread(napi_env env, std::unique_ptr<Task> task, bool keeps_alive) {
  auto running = std::make_unique<Running>();
  running->task = std::move(task);
  napi_value promise;
  if (napi_create_promise(env, &running->deferred, &promise) != napi_ok) return nullptr;
  if (napi_create_threadsafe_function(env, nullptr, nullptr, string_value(env, "quiver.background"), 0, 1,
                                      running.get(), finalize_wake, nullptr, thread_run_ended,
                                      &running->wake) != napi_ok) {
    return nullptr;
  }
  Running* started = running.release();
  if (!keeps_alive) napi_unref_threadsafe_function(env, started->wake);
  napi_add_env_cleanup_hook(env, stop_at_env_end, started);
  try {
    started->thread = std::thread([started] {
      started->run();
      napi_call_threadsafe_function(started->wake, started, napi_tsfn_nonblocking);
    });
  } catch (...) {
    napi_remove_env_cleanup_hook(env, stop_at_env_end, started);
    started->task->ended();
    napi_release_threadsafe_function(started->wake, napi_tsfn_abort);
    throw;
  }
  return promise;
}

void throw_current_exception(napi_env env) {
  napi_value error = make_error(env, current_failure());
  if (error != nullptr) napi_throw(env, error);
}

napi_value throw_invalid_argument(napi_env env, const char* message) {
  napi_throw_type_error(env, "INVALID_ARGUMENT", message);
  return nullptr;
}

}  // namespace quiver
