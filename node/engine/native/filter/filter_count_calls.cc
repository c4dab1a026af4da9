#include "filter_count_calls.h"

#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "arguments.h"
#include "field_calls.h"
#include "filter_counts.h"
#include "guarded.h"

namespace quiver {

CountedValue value_of(WordReader& words) {
  CountedValue value;
  const uint32_t kind = words.next();
  if (kind > uint32_t(ValueKind::kString)) throw std::invalid_argument("no scalar");
  value.kind = ValueKind(kind);
  if (value.kind == ValueKind::kNumber) value.number = words.number();
  if (value.kind == ValueKind::kString) value.text = words.characters();
  return value;
}

napi_value scalar_value(napi_env env, const CountedValue& value) {
  napi_value result = nullptr;
  switch (value.kind) {
    case ValueKind::kNumber:
      napi_create_double(env, value.number, &result);
      return result;
    case ValueKind::kTrue:
    case ValueKind::kFalse:
      napi_get_boolean(env, value.kind == ValueKind::kTrue, &result);
      return result;
    case ValueKind::kString:
      if (!value.text.wide) {
        napi_create_string_latin1(env, reinterpret_cast<const char*>(value.text.data), value.text.count, &result);
        return result;
      }
      {
        std::u16string units(value.text.count, u'\0');
        std::memcpy(&units[0], value.text.data, value.text.bytes());
        napi_create_string_utf16(env, units.data(), units.size(), &result);
      }
      return result;
    case ValueKind::kNull:
    case ValueKind::kNone:
    case ValueKind::kComposite:
      break;
  }
  napi_get_null(env, &result);
  return result;
}

namespace {

napi_value number_value(napi_env env, double number) {
  napi_value value = nullptr;
  napi_create_double(env, number, &value);
  return value;
}

napi_value count_present(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  return number_value(env, double(field_of<FieldCounts>(env, arguments, words).present()));
}

napi_value count_values(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  const FieldCounts counts = field_of<FieldCounts>(env, arguments, words);
  FieldCounts::Wanted wanted;
  wanted.by_value = words.next() == 1;
  wanted.limit = words.next();
  wanted.parts = words.next();
  wanted.part = words.next();
  if (words.next() == 1) wanted.prefix = words.characters();
  const FieldCounts::Values found = counts.values(wanted);
  std::vector<uint32_t> numbers, slots;
  napi_value result = object_value(env), values = nullptr;
  if (napi_create_array_with_length(env, found.first.size(), &values) != napi_ok) throw std::bad_alloc();
  for (uint32_t i = 0; i < found.first.size(); i++) {
    napi_handle_scope scope;
    napi_open_handle_scope(env, &scope);
    napi_set_element(env, values, i, scalar_value(env, found.first[i]));
    napi_close_handle_scope(env, scope);
    numbers.push_back(found.first[i].count);
    slots.push_back(found.first[i].slot);
  }
  napi_set_named_property(env, result, "values", values);
  napi_set_named_property(env, result, "counts", array_value(env, napi_uint32_array, numbers.data(), numbers.size()));
  napi_set_named_property(env, result, "slots", array_value(env, napi_uint32_array, slots.data(), slots.size()));
  napi_set_named_property(env, result, "bound", number_value(env, found.bound));
  napi_set_named_property(env, result, "distinct", number_value(env, found.distinct));
  return result;
}

napi_value count_of_values(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  const FieldCounts counts = field_of<FieldCounts>(env, arguments, words);
  std::vector<uint32_t> found;
  while (!words.at_end()) found.push_back(counts.count_of(value_of(words)));
  return array_value(env, napi_uint32_array, found.data(), found.size());
}

napi_value count_numbers(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  const FieldCounts counts = field_of<FieldCounts>(env, arguments, words);
  FieldCounts::Numbers found = counts.numbers(words.next() == 1);
  std::vector<double> limbs;
  for (const int64_t limb : found.sum.limbs()) limbs.push_back(double(limb));
  napi_value result = object_value(env);
  napi_set_named_property(env, result, "count", number_value(env, double(found.count)));
  napi_set_named_property(env, result, "others", number_value(env, double(found.others)));
  napi_set_named_property(env, result, "min", number_value(env, found.min));
  napi_set_named_property(env, result, "max", number_value(env, found.max));
  napi_set_named_property(env, result, "limbs", array_value(env, napi_float64_array, limbs.data(), limbs.size()));
  return result;
}

napi_value count_spread(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  const FieldCounts counts = field_of<FieldCounts>(env, arguments, words);
  const double low = words.number(), high = words.number();
  if (!(low <= high)) throw std::invalid_argument("no range");
  const FieldCounts::Spread found = counts.spread(low, high, words.next());
  napi_value result = object_value(env), listed = nullptr;
  napi_get_boolean(env, found.is_listed, &listed);
  napi_set_named_property(env, result, "listed", listed);
  napi_set_named_property(env, result, "values",
                          array_value(env, napi_float64_array, found.values.data(), found.values.size()));
  napi_set_named_property(env, result, "counts",
                          array_value(env, napi_uint32_array, found.counts.data(), found.counts.size()));
  return result;
}

napi_value count_distinct(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  const FieldCounts counts = field_of<FieldCounts>(env, arguments, words);
  const uint32_t max = words.next();
  const FieldCounts::Distinct found = counts.distinct(max, words.next() == 1);
  napi_value result = object_value(env);
  napi_set_named_property(env, result, "count", number_value(env, double(found.count)));
  napi_set_named_property(env, result, "hashes",
                          array_value(env, napi_uint8_array, reinterpret_cast<const uint8_t*>(found.hashes.data()),
                                      found.hashes.size() * sizeof(uint64_t)));
  napi_set_named_property(env, result, "registers",
                          array_value(env, napi_uint8_array, found.registers.data(), found.registers.size()));
  return result;
}

napi_value hash_of_value(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  const std::array<uint64_t, 2> hash = value_hash(value_of(words));
  return array_value(env, napi_uint8_array, reinterpret_cast<const uint8_t*>(hash.data()), sizeof hash);
}

napi_value count_buckets(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  const FieldCounts counts = field_of<FieldCounts>(env, arguments, words);
  const bool of_times = words.next() == 1;
  const auto edges = arguments.doubles(3);
  const std::vector<uint32_t> found =
      counts.buckets(std::vector<double>(edges.data, edges.data + edges.size), of_times);
  return array_value(env, napi_uint32_array, found.data(), found.size());
}

napi_value count_times(napi_env env, const Arguments& arguments) {
  WordReader words = reader_of(arguments);
  const std::array<double, 2> range = field_of<FieldCounts>(env, arguments, words).times();
  return array_value(env, napi_float64_array, range.data(), range.size());
}

}  // namespace

std::vector<napi_property_descriptor> filter_count_methods() {
  return {method("countPresent", guarded<count_present>),   method("countValues", guarded<count_values>),
          method("countOf", guarded<count_of_values>),      method("countNumbers", guarded<count_numbers>),
          method("countSpread", guarded<count_spread>),     method("countDistinct", guarded<count_distinct>),
          method("countBuckets", guarded<count_buckets>),   method("countTimes", guarded<count_times>),
          method("hashOfValue", guarded<hash_of_value>)};
}

}  // namespace quiver
