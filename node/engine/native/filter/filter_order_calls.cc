#include "filter_order_calls.h"

#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>

#include "arguments.h"
#include "filter_calls.h"
#include "filter_count_calls.h"
#include "filter_order.h"
#include "guarded.h"

namespace quiver {

namespace {

WordReader reader_of(const Arguments& arguments) {
  const auto words = arguments.words(0);
  return {words.data, size_t(arguments.whole(1, 0, words.size))};
}

Characters path_of(WordReader& words) {
  const Characters path = words.characters();
  if (!path.wide) throw std::invalid_argument("paths are wide");
  return path;
}

/// Words that begin with the path, their number, and a bitmap of slots, or null for all.
FieldOrder order_of(napi_env env, const Arguments& arguments, WordReader& words) {
  const Characters path = path_of(words);
  const FilterIndex& index = filter_index_of(env, arguments);
  if (arguments.is_nullish(arguments.at(2))) return {index, path, nullptr};
  const auto bits = arguments.words(2);
  const std::vector<uint32_t> bitmap(bits.data, bits.data + bits.size);
  return {index, path, &bitmap};
}

napi_value words_value(napi_env env, const std::vector<uint32_t>& words) {
  void* data;
  napi_value value = new_array(env, napi_uint32_array, words.size(), sizeof(uint32_t), &data);
  if (!words.empty()) std::memcpy(data, words.data(), words.size() * sizeof(uint32_t));
  return value;
}

napi_value flag_value(napi_env env, bool flag) {
  napi_value value = nullptr;
  napi_get_boolean(env, flag, &value);
  return value;
}

napi_value sort_some(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  return flag_value(env, sort_values(filter_index_of(env, arguments), path_of(words)));
}

napi_value order_values(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  const FieldOrder order = order_of(env, arguments, words);
  FieldOrder::Wanted wanted;
  wanted.descending = words.next() == 1;
  wanted.slots = words.next();
  wanted.listed_max = words.next();
  wanted.from_included = words.next() == 1;
  if (!words.at_end()) wanted.from = value_of(words);
  const FieldOrder::Found found = order.some(wanted);
  napi_value result = nullptr, values = nullptr;
  if (napi_create_object(env, &result) != napi_ok ||
      napi_create_array_with_length(env, found.values.size(), &values) != napi_ok)
    throw std::bad_alloc();
  for (uint32_t i = 0; i < found.values.size(); i++) {
    napi_handle_scope scope;
    napi_open_handle_scope(env, &scope);
    napi_set_element(env, values, i, scalar_value(env, found.values[i]));
    napi_close_handle_scope(env, scope);
  }
  napi_set_named_property(env, result, "values", values);
  napi_set_named_property(env, result, "slots", words_value(env, found.slots));
  napi_set_named_property(env, result, "ends", words_value(env, found.ends));
  napi_value bitmap = nullptr, last = nullptr;
  if (found.bitmap.empty()) napi_get_null(env, &bitmap);
  else bitmap = words_value(env, found.bitmap);
  if (found.last.has_value()) last = scalar_value(env, *found.last);
  else napi_get_null(env, &last);
  napi_set_named_property(env, result, "bitmap", bitmap);
  napi_set_named_property(env, result, "last", last);
  napi_set_named_property(env, result, "more", flag_value(env, found.more));
  return result;
}

napi_value order_missing(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  return words_value(env, order_of(env, arguments, words).missing());
}

napi_property_descriptor method(const char* name, napi_callback call) {
  return {name, nullptr, call, nullptr, nullptr, nullptr, napi_default_method, nullptr};
}

}  // namespace

std::vector<napi_property_descriptor> filter_order_methods() {
  return {method("sortValues", guarded<sort_some>), method("orderValues", guarded<order_values>),
          method("orderMissing", guarded<order_missing>)};
}

}  // namespace quiver
