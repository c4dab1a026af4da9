#pragma once

#include <node_api.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include "arguments.h"
#include "filter_calls.h"
#include "filter_words.h"

namespace quiver {

// What calls of FilterIndex have in common that ask for the values under one path (filter_count_calls.cc,
// filter_order_calls.cc).

// Words, and their number.
inline WordReader reader_of(const Arguments& arguments) {
  const auto words = arguments.words(0);
  return {words.data, size_t(arguments.whole(1, 0, words.size))};
}

inline Characters path_of(WordReader& words) {
  const Characters path = words.characters();
  if (!path.wide) throw std::invalid_argument("paths are wide");
  return path;
}

// What is asked: words that begin with the path, their number, and a bitmap of slots, or null for all.
template <class Field>
Field field_of(napi_env env, const Arguments& arguments, WordReader& words) {
  const Characters path = path_of(words);
  const FilterIndex& index = filter_index_of(env, arguments);
  if (arguments.is_nullish(arguments.at(2))) return {index, path, nullptr};
  const auto bits = arguments.words(2);
  const std::vector<uint32_t> bitmap(bits.data, bits.data + bits.size);
  return {index, path, &bitmap};
}

template <class T>
napi_value array_value(napi_env env, napi_typedarray_type type, const T* from, size_t count) {
  void* data;
  napi_value value = new_array(env, type, count, sizeof(T), &data);
  if (count > 0) std::memcpy(data, from, count * sizeof(T));
  return value;
}

inline napi_value object_value(napi_env env) {
  napi_value value = nullptr;
  if (napi_create_object(env, &value) != napi_ok) throw std::bad_alloc();
  return value;
}

inline napi_value flag_value(napi_env env, bool flag) {
  napi_value value = nullptr;
  napi_get_boolean(env, flag, &value);
  return value;
}

}  // namespace quiver
