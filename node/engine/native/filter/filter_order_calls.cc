#include "filter_order_calls.h"

#include <new>
#include <optional>

#include "arguments.h"
#include "field_calls.h"
#include "filter_count_calls.h"
#include "filter_order.h"
#include "guarded.h"

namespace quiver {

namespace {

napi_value words_value(napi_env env, const std::vector<uint32_t>& words) {
  return array_value(env, napi_uint32_array, words.data(), words.size());
}

napi_value sort_some(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  return flag_value(env, sort_values(filter_index_of(env, arguments), path_of(words)));
}

napi_value order_values(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  const FieldOrder order = field_of<FieldOrder>(env, arguments, words);
  FieldOrder::Wanted wanted;
  wanted.descending = words.next() == 1;
  wanted.slots = words.next();
  wanted.listed_max = words.next();
  wanted.from_included = words.next() == 1;
  if (!words.at_end()) wanted.from = value_of(words);
  const FieldOrder::Found found = order.some(wanted);
  napi_value result = object_value(env), values = nullptr;
  if (napi_create_array_with_length(env, found.values.size(), &values) != napi_ok) throw std::bad_alloc();
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
  return words_value(env, field_of<FieldOrder>(env, arguments, words).missing());
}

}  // namespace

std::vector<napi_property_descriptor> filter_order_methods() {
  return {method("sortValues", guarded<sort_some>), method("orderValues", guarded<order_values>),
          method("orderMissing", guarded<order_missing>)};
}

}  // namespace quiver
