// Node-API binding of the body scanner. Everything here runs on the calling JavaScript thread and keeps no state between
// calls, so the addon may be loaded in any number of contexts.
#include <node_api.h>

#include <cstring>
#include <exception>

#include "body_scanner.h"

namespace {

// Answers undefined with a pending exception.
napi_value refuse(napi_env env, const char* message) {
  napi_throw_type_error(env, "QUIVER_INVALID_ARGUMENT", message);
  return nullptr;
}

// A C++ exception (only bad_alloc or length_error can occur) becomes a JavaScript one.
template <class Body>
napi_value guarded(napi_env env, Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    napi_throw_error(env, "QUIVER_NATIVE", error.what());
    return nullptr;
  }
}

bool typed_array(napi_env env, napi_value value, napi_typedarray_type wanted, void** data, size_t* length) {
  bool is_typed_array = false;
  napi_typedarray_type type;
  return napi_is_typedarray(env, value, &is_typed_array) == napi_ok && is_typed_array &&
         napi_get_typedarray_info(env, value, &type, length, data, nullptr, nullptr) == napi_ok && type == wanted;
}

// An ArrayBuffer of its own memory holding a copy of `count` elements of four bytes. Views on it are the caller's to make:
// typed arrays made here would belong to the context that loaded the addon, which need not be the caller's.
napi_value copied_buffer(napi_env env, const void* data, size_t count) {
  void* memory = nullptr;
  napi_value buffer = nullptr;
  if (napi_create_arraybuffer(env, count * 4, &memory, &buffer) != napi_ok) return nullptr;
  if (count > 0) std::memcpy(memory, data, count * 4);
  return buffer;
}

// scan(body: Uint8Array, nonce: string, lengthMax: number): { rest, floats } | null
napi_value scan(napi_env env, napi_callback_info info) {
  size_t argument_count = 3;
  napi_value arguments[3];
  void* body = nullptr;
  size_t size = 0;
  char nonce[80];
  size_t nonce_size = 0;
  int64_t length_max = 0;
  if (napi_get_cb_info(env, info, &argument_count, arguments, nullptr, nullptr) != napi_ok || argument_count < 3 ||
      !typed_array(env, arguments[0], napi_uint8_array, &body, &size)) {
    return refuse(env, "scan: body must be a Uint8Array");
  }
  if (napi_get_value_string_latin1(env, arguments[1], nonce, sizeof nonce, &nonce_size) != napi_ok || nonce_size == 0) {
    return refuse(env, "scan: nonce must be a short string");
  }
  if (napi_get_value_int64(env, arguments[2], &length_max) != napi_ok || length_max < 1) {
    return refuse(env, "scan: lengthMax must be a positive integer");
  }
  return guarded(env, [&]() -> napi_value {
    quiver::ScannedBody scanned;
    napi_value result = nullptr;
    if (!quiver::scan_body(static_cast<const char*>(body), size, std::string(nonce, nonce_size), static_cast<size_t>(length_max), scanned)) {
      napi_get_null(env, &result);
      return result;
    }
    napi_value rest = nullptr;
    napi_value floats = copied_buffer(env, scanned.floats.data(), scanned.floats.size());
    if (floats == nullptr || napi_create_string_utf8(env, scanned.rest.data(), scanned.rest.size(), &rest) != napi_ok ||
        napi_create_object(env, &result) != napi_ok) {
      napi_throw_error(env, "QUIVER_NATIVE", "scan: out of memory");
      return nullptr;
    }
    napi_set_named_property(env, result, "rest", rest);
    napi_set_named_property(env, result, "floats", floats);
    return result;
  });
}

// formatVector(vector: Float32Array): string
napi_value format_vector(napi_env env, napi_callback_info info) {
  size_t argument_count = 1;
  napi_value argument;
  void* values = nullptr;
  size_t count = 0;
  if (napi_get_cb_info(env, info, &argument_count, &argument, nullptr, nullptr) != napi_ok || argument_count < 1 ||
      !typed_array(env, argument, napi_float32_array, &values, &count)) {
    return refuse(env, "formatVector: vector must be a Float32Array");
  }
  return guarded(env, [&]() -> napi_value {
    std::string text;
    text.reserve(count * 14 + 2);
    quiver::format_vector(static_cast<const float*>(values), count, text);
    napi_value result = nullptr;
    if (napi_create_string_latin1(env, text.data(), text.size(), &result) != napi_ok) {
      napi_throw_error(env, "QUIVER_NATIVE", "formatVector: the text is too long");
      return nullptr;
    }
    return result;
  });
}

}  // namespace

NAPI_MODULE_INIT() {
  const napi_property_descriptor properties[] = {
      {"scan", nullptr, scan, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"formatVector", nullptr, format_vector, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
  };
  napi_define_properties(env, exports, 2, properties);
  return exports;
}
