#pragma once

#include "arguments.h"
#include "task.h"

namespace quiver {

// A Node-API callback that runs a call and turns what it throws into a JavaScript exception.
template <napi_value (*Call)(napi_env, const Arguments&)>
napi_value guarded(napi_env env, napi_callback_info info) {
  try {
    return Call(env, Arguments(env, info));
  } catch (...) {
    throw_current_exception(env);
    return nullptr;
  }
}

}  // namespace quiver
