#include "boost_calls.h"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>

#include "arguments.h"
#include "boost_values.h"
#include "field_calls.h"
#include "filter_calls.h"
#include "guarded.h"
#include "index_registry.h"
#include "lists/heap.h"

namespace quiver {

namespace {

constexpr uint64_t kSharedMax = (uint64_t(1) << 53) - 1;

napi_value make_call(napi_env env, const Arguments& arguments) {
  FilterIndex& index = filter_index_of(env, arguments);
  const bool has_more = make_boost_values(index, reader_of(arguments));
  index.collect();
  return flag_value(env, has_more);
}

}  // namespace

napi_value boost_values_here(napi_env env, const Arguments& arguments) {
  thread_local RememberedFilters remembered;
  const uint64_t number = arguments.whole(0, 1, kSharedMax);
  const auto words = arguments.words(1);
  const auto slots = arguments.doubles(2);
  const size_t count = arguments.whole(3, 0, slots.size);
  const auto room = arguments.doubles(4);
  const std::shared_ptr<FilterIndex> index = shared_filters(number);
  const Reading reading;
  if (index == nullptr || !reading.admitted() || !index->is_whole()) return flag_value(env, false);
  try {
    const std::optional<BoostValues> values =
        BoostValues::of(*index, number, WordReader(words.data, words.size), remembered);
    if (!values.has_value()) return flag_value(env, false);
    if (room.size < 2 * values->parts() + count * values->width()) throw std::invalid_argument("too little room");
    double* at = const_cast<double*>(room.data);
    for (size_t part = 0; part < values->parts(); part++, at += 2) values->write_range(part, at);
    for (size_t i = 0; i < count; i++, at += values->width()) {
      if (!values->knows(uint32_t(slots.data[i]))) return flag_value(env, false);
      values->write(uint32_t(slots.data[i]), at);
    }
  } catch (const std::bad_alloc&) {
    return flag_value(env, false);
  }
  // An item that left the lists meanwhile may have been met half gone.
  return flag_value(env, index->is_whole());
}

napi_property_descriptor boost_method() { return method("makeBoostValues", guarded<make_call>); }

}  // namespace quiver
