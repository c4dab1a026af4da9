#include "arguments.h"

#include <cmath>
#include <new>
#include <stdexcept>

namespace quiver {

Arguments::Arguments(napi_env env, napi_callback_info info) : env_(env) {
  if (napi_get_cb_info(env, info, &count_, values_, &self_, nullptr) != napi_ok ||
      napi_get_undefined(env, &undefined_) != napi_ok) {
    throw std::invalid_argument("arguments cannot be read");
  }
}

bool Arguments::is_nullish(napi_value value) const {
  napi_valuetype type;
  return napi_typeof(env_, value, &type) == napi_ok && (type == napi_undefined || type == napi_null);
}

double Arguments::number_of(napi_value value) const {
  double result;
  if (napi_get_value_double(env_, value, &result) != napi_ok || !std::isfinite(result)) {
    throw std::invalid_argument("expected a number");
  }
  return result;
}

uint64_t Arguments::whole_of(napi_value value, uint64_t min, uint64_t max) const {
  const double result = number_of(value);
  if (result != std::floor(result) || result < double(min) || result > double(max)) {
    throw std::invalid_argument("expected a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return uint64_t(result);
}

std::string Arguments::text_of(napi_value value) const {
  size_t length;
  if (napi_get_value_string_utf8(env_, value, nullptr, 0, &length) != napi_ok) {
    throw std::invalid_argument("expected a string");
  }
  std::string result(length + 1, '\0');
  napi_get_value_string_utf8(env_, value, &result[0], result.size(), &length);
  result.resize(length);
  if (result.find('\0') != std::string::npos) throw std::invalid_argument("expected a string without NUL");
  return result;
}

napi_value Arguments::member(size_t i, const char* name) const {
  napi_valuetype type;
  napi_value value;
  if (napi_typeof(env_, at(i), &type) != napi_ok || type != napi_object ||
      napi_get_named_property(env_, at(i), name, &value) != napi_ok) {
    throw std::invalid_argument("expected an object");
  }
  return value;
}

template <class T>
Arguments::Span<T> Arguments::span(napi_value value, napi_typedarray_type wanted) const {
  bool is_typed_array = false;
  napi_typedarray_type type;
  size_t length;
  void* data;
  if (napi_is_typedarray(env_, value, &is_typed_array) != napi_ok || !is_typed_array ||
      napi_get_typedarray_info(env_, value, &type, &length, &data, nullptr, nullptr) != napi_ok || type != wanted) {
    throw std::invalid_argument(wanted == napi_float32_array   ? "expected a Float32Array"
                                : wanted == napi_uint32_array  ? "expected a Uint32Array"
                                : wanted == napi_float64_array ? "expected a Float64Array"
                                                               : "expected a Uint8Array");
  }
  return {static_cast<const T*>(data), data == nullptr ? 0 : length};
}

template Arguments::Span<float> Arguments::span(napi_value, napi_typedarray_type) const;
template Arguments::Span<uint32_t> Arguments::span(napi_value, napi_typedarray_type) const;
template Arguments::Span<double> Arguments::span(napi_value, napi_typedarray_type) const;
template Arguments::Span<char> Arguments::span(napi_value, napi_typedarray_type) const;

bool Arguments::flag(size_t i) const {
  bool value;
  if (napi_get_value_bool(env_, at(i), &value) != napi_ok) throw std::invalid_argument("expected a boolean");
  return value;
}

std::vector<napi_value> elements_of(napi_env env, napi_value array) {
  bool is_array = false;
  uint32_t length = 0;
  if (napi_is_array(env, array, &is_array) != napi_ok || !is_array ||
      napi_get_array_length(env, array, &length) != napi_ok) {
    throw std::invalid_argument("expected an array");
  }
  std::vector<napi_value> elements(length);
  for (uint32_t i = 0; i < length; i++) {
    if (napi_get_element(env, array, i, &elements[i]) != napi_ok)
      throw std::invalid_argument("an element cannot be read");
  }
  return elements;
}

napi_value undefined(napi_env env) {
  napi_value value = nullptr;
  napi_get_undefined(env, &value);
  return value;
}

napi_value new_array(napi_env env, napi_typedarray_type type, size_t count, size_t bytes_per_value, void** data) {
  napi_value buffer, array;
  if (napi_create_arraybuffer(env, count * bytes_per_value, data, &buffer) != napi_ok ||
      napi_create_typedarray(env, type, count, buffer, 0, &array) != napi_ok) {
    throw std::bad_alloc();
  }
  return array;
}

}  // namespace quiver
