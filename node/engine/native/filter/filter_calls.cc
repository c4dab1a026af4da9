#include "filter_calls.h"

#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "arguments.h"
#include "boost_calls.h"
#include "case_fold.h"
#include "filter_count_calls.h"
#include "filter_order_calls.h"
#include "guarded.h"
#include "index_registry.h"
#include "filter_index.h"
#include "filter_save.h"

namespace quiver {

namespace {

// Longest time of a filter on a thread that serves: half of what a whole search may take there (search.cc).
constexpr double kInlineNs = 5e5;
// The same of one whose slots are remembered, because it is made for many searches.
constexpr double kRememberedNs = 3e6;
// Numbers of shared indexes are exact in JavaScript.
constexpr uint64_t kSharedMax = (uint64_t(1) << 53) - 1;
constexpr uint64_t kSlotMax = uint64_t(1) << 30;
// JavaScript's collector hears of memory in steps of this many bytes.
constexpr int64_t kReportBytes = 1 << 20;

constexpr napi_type_tag kTypeTag = {0x5156525645435449, 0x46494c5445525301};

struct Holder {
  std::shared_ptr<FilterIndex> index;
  // Bytes that JavaScript's collector knows of.
  int64_t reported = 0;
};

void free_holder(napi_env env, void* data, void*) {
  Holder* holder = static_cast<Holder*>(data);
  unshare(*holder->index);
  int64_t total;
  napi_adjust_external_memory(env, -holder->reported, &total);
  delete holder;
}

Holder& holder_of(napi_env env, const Arguments& arguments) {
  bool tagged = false;
  void* data = nullptr;
  if (napi_check_object_type_tag(env, arguments.self(), &kTypeTag, &tagged) != napi_ok || !tagged ||
      napi_unwrap(env, arguments.self(), &data) != napi_ok || data == nullptr) {
    throw std::invalid_argument("not a filter index");
  }
  return *static_cast<Holder*>(data);
}

FilterIndex& index_of(napi_env env, const Arguments& arguments) { return *holder_of(env, arguments).index; }

// After a change of the index.
void report_memory(napi_env env, Holder& holder) {
  const int64_t bytes = int64_t(holder.index->heap().bytes());
  if (std::abs(bytes - holder.reported) < kReportBytes) return;
  int64_t total;
  napi_adjust_external_memory(env, bytes - holder.reported, &total);
  holder.reported = bytes;
}

napi_value number_value(napi_env env, double number) {
  napi_value value = nullptr;
  napi_create_double(env, number, &value);
  return value;
}

napi_value bytes_value(napi_env env, const std::string& bytes) {
  napi_value value = nullptr;
  if (napi_create_buffer_copy(env, bytes.size(), bytes.data(), nullptr, &value) != napi_ok) throw std::bad_alloc();
  return value;
}

Arguments::Span<uint32_t> words_of(const Arguments& arguments, size_t first) {
  auto words = arguments.words(first);
  words.size = arguments.whole(first + 1, 0, words.size);
  return words;
}

SavedBytes saved_at(const Arguments& arguments, size_t first) {
  const auto bytes = arguments.bytes(first);
  return {reinterpret_cast<const uint8_t*>(bytes.data), bytes.size, size_t(arguments.whole(first + 1, 0, bytes.size))};
}

ValueKind kind_of(const Arguments& arguments, size_t i) {
  return ValueKind(arguments.whole(i, uint64_t(ValueKind::kNumber), uint64_t(ValueKind::kComposite)));
}

napi_value construct(napi_env env, const Arguments& arguments) {
  auto holder = std::make_unique<Holder>();
  holder->index = std::make_shared<FilterIndex>();
  if (napi_type_tag_object(env, arguments.self(), &kTypeTag) != napi_ok ||
      napi_wrap(env, arguments.self(), holder.get(), free_holder, nullptr, nullptr) != napi_ok) {
    throw std::invalid_argument("filter indexes are made by new");
  }
  holder.release();
  return arguments.self();
}

napi_value add_field(napi_env env, const Arguments& arguments) {
  const auto words = words_of(arguments, 1);
  WordReader reader(words.data, words.size);
  return number_value(
      env, index_of(env, arguments).add_field(uint32_t(arguments.whole(0, 0, UINT32_MAX)), reader.characters()));
}

napi_value drop_field(napi_env env, const Arguments& arguments) {
  index_of(env, arguments).drop_field(uint32_t(arguments.whole(0, 1, UINT32_MAX)));
  return undefined(env);
}

napi_value apply(napi_env env, const Arguments& arguments) {
  Holder& holder = holder_of(env, arguments);
  const auto words = words_of(arguments, 0);
  WordReader reader(words.data, words.size);
  holder.index->apply(reader);
  report_memory(env, holder);
  return number_value(env, double(holder.index->entries));
}

napi_value has(napi_env env, const Arguments& arguments) {
  napi_value value = nullptr;
  napi_get_boolean(env, PostingView(index_of(env, arguments).all()).has(uint32_t(arguments.whole(0, 0, UINT32_MAX))),
                   &value);
  return value;
}

napi_value found_value(napi_env env, const FoundSlots& found) {
  void* data;
  napi_value result, listed, slots = new_array(env, napi_uint32_array, found.words.size(), sizeof(uint32_t), &data);
  if (!found.words.empty()) std::memcpy(data, found.words.data(), found.words.size() * sizeof(uint32_t));
  if (napi_create_object(env, &result) != napi_ok || napi_get_boolean(env, found.listed, &listed) != napi_ok)
    return nullptr;
  napi_set_named_property(env, result, "listed", listed);
  napi_set_named_property(env, result, "words", slots);
  napi_set_named_property(env, result, "count", number_value(env, double(found.count)));
  return result;
}

napi_value resolve(napi_env env, const Arguments& arguments) {
  FilterIndex& index = index_of(env, arguments);
  const auto words = words_of(arguments, 0);
  const FilterCondition filter = read_filter(words.data, words.size);
  prepare_filter(index, filter);
  index.collect();
  return found_value(env, *resolve_filter(index, filter, std::numeric_limits<double>::infinity()));
}

napi_value unknown_call(napi_env env, const Arguments& arguments) {
  FilterIndex& index = index_of(env, arguments);
  const auto words = words_of(arguments, 0);
  const FilterCondition filter = read_filter(words.data, words.size);
  if (filter.type != FilterCondition::Type::kText) throw std::invalid_argument("not a test of texts");
  return found_value(env, unknown_slots(index, filter));
}

napi_value prepare_call(napi_env env, const Arguments& arguments) {
  Holder& holder = holder_of(env, arguments);
  const auto words = words_of(arguments, 0);
  napi_value value = nullptr;
  napi_get_boolean(env, prepare_filter(*holder.index, read_filter(words.data, words.size)), &value);
  holder.index->collect();
  report_memory(env, holder);
  return value;
}

napi_value fold_cases(napi_env env, const Arguments& arguments) {
  const auto units = arguments.bytes(0);
  const auto pairs = arguments.words(1);
  if (units.size != 65'536 * 2 || pairs.size % 2 != 0) throw std::invalid_argument("no table of cases");
  CaseFold::install(reinterpret_cast<const uint16_t*>(units.data), pairs.data, pairs.size / 2);
  return undefined(env);
}

napi_value wants_orders(napi_env env, const Arguments& arguments) {
  napi_value value = nullptr;
  napi_get_boolean(env, index_of(env, arguments).wants_orders, &value);
  return value;
}

napi_value order_some(napi_env env, const Arguments& arguments) {
  Holder& holder = holder_of(env, arguments);
  napi_value value = nullptr;
  napi_get_boolean(env, holder.index->order_some(uint32_t(arguments.whole(0, 1, kSlotMax))), &value);
  report_memory(env, holder);
  return value;
}

napi_value present_count(napi_env env, const Arguments& arguments) {
  return number_value(
      env,
      double(PostingView(index_of(env, arguments).field(uint32_t(arguments.whole(0, 1, UINT32_MAX))).present).size()));
}

napi_value remove_everywhere(napi_env env, const Arguments& arguments) {
  Holder& holder = holder_of(env, arguments);
  const auto bitmap = arguments.words(0);
  holder.index->remove_everywhere(std::vector<uint32_t>(bitmap.data, bitmap.data + bitmap.size));
  report_memory(env, holder);
  return number_value(env, double(holder.index->entries));
}

napi_value set_unlisted(napi_env env, const Arguments& arguments) {
  index_of(env, arguments).set_unlisted(uint32_t(arguments.whole(0, 0, UINT32_MAX)));
  return undefined(env);
}

napi_value slot_limit(napi_env env, const Arguments& arguments) {
  return number_value(env, index_of(env, arguments).slot_limit());
}

napi_value set_slot_limit(napi_env env, const Arguments& arguments) {
  index_of(env, arguments).set_slot_limit(uint32_t(arguments.whole(0, 0, kSlotMax)));
  return undefined(env);
}

napi_value slot_count(napi_env env, const Arguments& arguments) {
  return number_value(env, double(PostingView(index_of(env, arguments).all()).size()));
}

napi_value memory_bytes(napi_env env, const Arguments& arguments) {
  return number_value(env, double(index_of(env, arguments).heap().bytes()));
}

napi_value saved_slots_call(napi_env env, const Arguments& arguments) {
  return bytes_value(env, saved_slots(index_of(env, arguments).all()));
}

napi_value saved_postings_call(napi_env env, const Arguments& arguments) {
  return bytes_value(env, saved_postings(index_of(env, arguments).field(uint32_t(arguments.whole(0, 1, UINT32_MAX)))));
}

napi_value saved_values_call(napi_env env, const Arguments& arguments) {
  const FilterField& field = index_of(env, arguments).field(uint32_t(arguments.whole(0, 1, UINT32_MAX)));
  int64_t next;
  const std::string bytes = saved_values(field, kind_of(arguments, 1), uint32_t(arguments.whole(2, 0, UINT32_MAX)),
                                         uint32_t(arguments.whole(3, 1, UINT32_MAX)), next);
  napi_value result;
  if (napi_create_object(env, &result) != napi_ok) return nullptr;
  napi_set_named_property(env, result, "bytes", bytes_value(env, bytes));
  napi_set_named_property(env, result, "next", number_value(env, double(next)));
  return result;
}

napi_value load_slots_call(napi_env env, const Arguments& arguments) {
  FilterIndex& index = index_of(env, arguments);
  SavedBytes bytes = saved_at(arguments, 0);
  const FilterIndex::Change change(index);
  load_slots(index.heap(), index.all_slots(), bytes);
  return number_value(env, double(bytes.at));
}

napi_value load_postings_call(napi_env env, const Arguments& arguments) {
  FilterIndex& index = index_of(env, arguments);
  SavedBytes bytes = saved_at(arguments, 1);
  const FilterIndex::Change change(index);
  load_postings(index.heap(), index.field(uint32_t(arguments.whole(0, 1, UINT32_MAX))), bytes);
  return number_value(env, double(bytes.at));
}

napi_value load_values_call(napi_env env, const Arguments& arguments) {
  Holder& holder = holder_of(env, arguments);
  FilterIndex& index = *holder.index;
  SavedBytes bytes = saved_at(arguments, 3);
  FilterField& field = index.field(uint32_t(arguments.whole(0, 1, UINT32_MAX)));
  const FilterIndex::Change change(index);
  index.entries +=
      load_values(index.heap(), field, kind_of(arguments, 1), uint32_t(arguments.whole(2, 1, UINT32_MAX)), bytes);
  index.collect();
  report_memory(env, holder);
  return number_value(env, double(bytes.at));
}

napi_value entries(napi_env env, const Arguments& arguments) {
  return number_value(env, double(index_of(env, arguments).entries));
}

napi_value share_call(napi_env env, const Arguments& arguments) {
  return number_value(env, double(share(holder_of(env, arguments).index)));
}

}  // namespace

FilterIndex& filter_index_of(napi_env env, const Arguments& arguments) { return index_of(env, arguments); }

napi_value define_filter_index(napi_env env) {
  std::vector<napi_property_descriptor> methods = {
      method("addField", guarded<add_field>),
      method("dropField", guarded<drop_field>),
      method("apply", guarded<apply>),
      method("has", guarded<has>),
      method("resolve", guarded<resolve>),
      method("prepare", guarded<prepare_call>),
      method("unknown", guarded<unknown_call>),
      method("wantsOrders", guarded<wants_orders>),
      method("orderSome", guarded<order_some>),
      method("presentCount", guarded<present_count>),
      method("removeEverywhere", guarded<remove_everywhere>),
      method("setUnlisted", guarded<set_unlisted>),
      method("slotLimit", guarded<slot_limit>),
      method("setSlotLimit", guarded<set_slot_limit>),
      method("slotCount", guarded<slot_count>),
      method("entries", guarded<entries>),
      method("memoryBytes", guarded<memory_bytes>),
      method("savedSlots", guarded<saved_slots_call>),
      method("savedPostings", guarded<saved_postings_call>),
      method("savedValues", guarded<saved_values_call>),
      method("loadSlots", guarded<load_slots_call>),
      method("loadPostings", guarded<load_postings_call>),
      method("loadValues", guarded<load_values_call>),
      method("share", guarded<share_call>),
  };
  methods.push_back(boost_method());
  for (const napi_property_descriptor& one : filter_count_methods()) methods.push_back(one);
  for (const napi_property_descriptor& one : filter_order_methods()) methods.push_back(one);
  napi_value index_class = nullptr;
  napi_define_class(env, "FilterIndex", NAPI_AUTO_LENGTH, guarded<construct>, nullptr, methods.size(), methods.data(),
                    &index_class);
  return index_class;
}

napi_value define_fold_cases(napi_env env) {
  napi_value function = nullptr;
  napi_create_function(env, "foldCases", NAPI_AUTO_LENGTH, guarded<fold_cases>, nullptr, &function);
  return function;
}

SharedFilter::SharedFilter(const Arguments& arguments, size_t first)
    : index_(shared_filters(arguments.whole(first, 1, kSharedMax))),
      number_(arguments.whole(first, 1, kSharedMax)),
      words_(arguments.words(first + 1).data),
      count_(arguments.words(first + 1).size),
      filter_(read_filter(words_, count_)) {}

bool SharedFilter::is_whole() const { return index_ != nullptr && reading_.admitted() && index_->is_whole(); }

std::optional<FoundSlots> SharedFilter::resolve() const { return resolve(kInlineNs); }

std::optional<FoundSlots> SharedFilter::resolve(double ns_max) const {
  if (!is_whole()) return std::nullopt;
  std::optional<FoundSlots> found = resolve_filter(*index_, filter_, ns_max);
  // An item that left the lists meanwhile may have been met half gone.
  return is_whole() ? std::move(found) : std::nullopt;
}

std::shared_ptr<const FoundSlots> SharedFilter::remembered(RememberedFilters& memory,
                                                           const std::function<bool(size_t)>& is_wanted) const {
  if (!is_whole()) return nullptr;
  const uint64_t changes = index_->changes();
  const auto make = [&] {
    std::optional<FoundSlots> found = resolve(kRememberedNs);
    if (found.has_value() && !is_wanted(found->count)) found.reset();
    return found;
  };
  std::shared_ptr<const FoundSlots> slots =
      memory.find(number_, changes, words_, count_, make, [&] { return index_->is_unchanged(changes); });
  return slots != nullptr && is_wanted(slots->count) ? slots : nullptr;
}

std::optional<SlotTest> SharedFilter::test(const std::function<bool(size_t)>& enough) const {
  if (!is_whole()) return std::nullopt;
  return test_of_filter(*index_, filter_, kInlineNs, enough);
}

}  // namespace quiver
