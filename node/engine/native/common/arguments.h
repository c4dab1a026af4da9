#pragma once

#include <node_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quiver {

/**
 * The arguments of one native call, checked when they are read: anything unexpected throws std::invalid_argument, which
 * the call's guard turns into a JavaScript error. Typed arrays belong to the caller and are valid only during the call.
 */
class Arguments {
 public:
  Arguments(napi_env env, napi_callback_info info);

  napi_value self() const { return self_; }
  napi_value at(size_t i) const { return i < count_ ? values_[i] : undefined_; }
  // A whole number in min … max.
  uint64_t whole(size_t i, uint64_t min, uint64_t max) const { return whole_of(at(i), min, max); }
  double number(size_t i) const { return number_of(at(i)); }
  std::string text(size_t i) const { return text_of(at(i)); }

  template <class T>
  struct Span {
    const T* data;
    size_t size;
  };
  Span<float> floats(size_t i) const { return span<float>(at(i), napi_float32_array); }
  Span<uint32_t> words(size_t i) const { return span<uint32_t>(at(i), napi_uint32_array); }
  Span<double> doubles(size_t i) const { return span<double>(at(i), napi_float64_array); }
  /// The bytes of a Uint8Array or Buffer.
  Span<char> bytes(size_t i) const { return bytes_of(at(i)); }
  Span<char> bytes_of(napi_value value) const { return span<char>(value, napi_uint8_array); }
  bool flag(size_t i) const;

  /// Members of an object argument.
  napi_value member(size_t i, const char* name) const;
  uint64_t whole_of(napi_value value, uint64_t min, uint64_t max) const;
  double number_of(napi_value value) const;
  std::string text_of(napi_value value) const;
  bool is_nullish(napi_value value) const;

 private:
  template <class T>
  Span<T> span(napi_value value, napi_typedarray_type wanted) const;

  static constexpr size_t kArgumentsMax = 10;
  napi_env env_;
  size_t count_ = kArgumentsMax;
  napi_value values_[kArgumentsMax];
  napi_value self_ = nullptr;
  napi_value undefined_ = nullptr;
};

// The elements of an array argument; the caller checks each of them. Throws std::invalid_argument.
std::vector<napi_value> elements_of(napi_env env, napi_value array);

napi_value undefined(napi_env env);

// A new typed array of `count` values; sets `data` to its memory. Throws std::bad_alloc.
napi_value new_array(napi_env env, napi_typedarray_type type, size_t count, size_t bytes_per_value, void** data);

}  // namespace quiver
