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

// A method of a class or a module.
inline napi_property_descriptor method(const char* name, napi_callback call) {
  return {name, nullptr, call, nullptr, nullptr, nullptr, napi_default_method, nullptr};
}

}  // namespace quiver
