// What JavaScript sees of the vector index: one class, mirrored by node/engine/vector/native-binding.ts with the same
// names, argument order and meaning; filter/filter_calls.cc is the same for the filter index. All state of an index
// belongs to the environment (thread) that made it; other threads may search it by its number (index_registry.h), and
// nothing else is global but the seats of readers (engine/native/lists/heap.cc) and the table of cases
// (filter/case_fold.h).

#include <node_api.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "filter/boost_calls.h"
#include "filter/filter_calls.h"
#include "guarded.h"
#include "index_object.h"
#include "index_registry.h"
#include "index_tasks.h"
#include "search/search.h"
#include "task.h"

namespace quiver {

namespace {

constexpr size_t kDimMax = 65536;
// Numbers of shared indexes are exact in JavaScript.
constexpr uint64_t kSharedMax = (uint64_t(1) << 53) - 1;

using TaskMaker = std::unique_ptr<Task> (*)(napi_env env, const Arguments& arguments);

template <TaskMaker Make>
napi_value run_pooled(napi_env env, const Arguments& arguments) {
  return start_on_pool(env, Make(env, arguments));
}

// The same on JavaScript's thread: it returns the value.
template <TaskMaker Make>
napi_value run_now(napi_env env, const Arguments& arguments) {
  const std::unique_ptr<Task> task = Make(env, arguments);
  task->run();
  return task->finish(env);
}

// Tasks that someone awaits keep the process alive; background work does not.
template <TaskMaker Make, bool KeepsAlive>
napi_value run_threaded(napi_env env, const Arguments& arguments) {
  return start_on_thread(env, Make(env, arguments), KeepsAlive);
}

Metric metric_from(const std::string& name) {
  if (name == "cosine") return Metric::kCosine;
  if (name == "ip") return Metric::kIp;
  if (name == "l2") return Metric::kL2;
  throw std::invalid_argument("unknown metric");
}

Quantization quantization_from(const std::string& name) {
  if (name == "int8") return Quantization::kInt8;
  if (name == "int4") return Quantization::kInt4;
  if (name == "binary") return Quantization::kBinary;
  throw std::invalid_argument("unknown quantization");
}

napi_value construct(napi_env env, const Arguments& arguments) {
  const Metric metric = metric_from(arguments.text_of(arguments.member(0, "metric")));
  const size_t dim = arguments.whole_of(arguments.member(0, "dim"), 1, kDimMax);
  const std::string originals = arguments.text_of(arguments.member(0, "originals"));
  const napi_value kernels = arguments.member(0, "kernels");
  const Kernels& chosen = select_kernels(arguments.is_nullish(kernels) ? nullptr : arguments.text_of(kernels).c_str());
  const napi_value named = arguments.member(0, "quantization");
  const Quantization quantization =
      arguments.is_nullish(named) ? Quantization::kInt8 : quantization_from(arguments.text_of(named));
  bool on_disk = false;
  const napi_value disk = arguments.member(0, "onDisk");
  if (!arguments.is_nullish(disk)) napi_get_value_bool(env, disk, &on_disk);
  auto index = std::make_shared<Index>();
  const RowKind kind{metric, quantization, dim, chosen, on_disk};
  index->snapshot = {std::make_shared<RowStore>(kind, originals, 0), nullptr, Effort::guess()};
  wrap_index(env, arguments.self(), std::move(index));
  return arguments.self();
}

napi_value put(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  const auto slots = arguments.words(0);
  const auto vectors = arguments.floats(1);
  RowStore& rows = *index->snapshot.rows;
  if (vectors.size != slots.size * rows.dim) throw std::invalid_argument("slots and vectors differ in number");
  for (size_t i = 0; i < slots.size; i++) {
    if (slots.data[i] >= kItemLimit) throw std::invalid_argument("slot out of range");
  }
  rows.append(slots.data, vectors.data, slots.size);
  return undefined(env);
}

napi_value remove(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  const auto slots = arguments.words(0);
  index->snapshot.rows->remove(slots.data, slots.size);
  return undefined(env);
}

napi_value prefers_scan_call(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  const bool scan = prefers_scan(index->snapshot, arguments.whole(0, 1, kItemLimit),
                                 EffortKind(arguments.whole(1, 0, 2)), arguments.whole(2, 0, kItemLimit),
                                 arguments.whole(3, 0, kItemLimit));
  napi_value value = nullptr;
  napi_get_boolean(env, scan, &value);
  return value;
}

napi_value vectors(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  const auto slots = arguments.words(0);
  const RowStore& rows = *index->snapshot.rows;
  void* data;
  napi_value value = new_array(env, napi_float32_array, slots.size * rows.dim, sizeof(float), &data);
  for (size_t i = 0; i < slots.size; i++) {
    const uint32_t row = rows.row_of(slots.data[i]);
    if (row == kNoRow) throw std::invalid_argument("slot " + std::to_string(slots.data[i]) + " has no vector");
    float* const vector = static_cast<float*>(data) + i * rows.dim;
    std::memcpy(vector, rows.original(row), rows.dim * sizeof(float));
    rows.originals().require_match(row, vector);
  }
  rows.require_sound();
  return value;
}

// Which of the slots have a vector here.
napi_value holds(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  const auto slots = arguments.words(0);
  void* data;
  napi_value value = new_array(env, napi_uint8_array, slots.size, 1, &data);
  for (size_t i = 0; i < slots.size; i++)
    static_cast<uint8_t*>(data)[i] = index->snapshot.rows->row_of(slots.data[i]) != kNoRow;
  return value;
}

napi_value live_count(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  napi_value value = nullptr;
  napi_create_double(env, double(index->snapshot.rows->live()), &value);
  return value;
}

// The slots of the live rows among up to `count` rows from `first` on.
napi_value live_slots(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  const RowStore& rows = *index->snapshot.rows;
  const size_t first = arguments.whole(0, 0, kItemLimit);
  const size_t end = std::min(first + arguments.whole(1, 0, kItemLimit), rows.count());
  std::vector<uint32_t> slots;
  for (size_t row = first; row < end; row++) {
    if (!rows.dead(row)) slots.push_back(rows.slot(row));
  }
  void* data;
  napi_value value = new_array(env, napi_uint32_array, slots.size(), sizeof(uint32_t), &data);
  if (!slots.empty()) std::memcpy(data, slots.data(), slots.size() * sizeof(uint32_t));
  return value;
}

napi_value status(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  const Snapshot& s = index->snapshot;
  const size_t rows = s.rows->count(), graph_rows = s.graph == nullptr ? 0 : s.graph->rows();
  const size_t memory = s.rows->memory_bytes() + (s.graph == nullptr ? 0 : s.graph->memory_bytes()) +
                        (s.cells == nullptr ? 0 : s.cells->memory_bytes()) +
                        (s.sketches == nullptr ? 0 : s.sketches->memory_bytes()) +
                        (index->growth == nullptr ? 0 : index->growth->memory_bytes()) +
                        (index->build_codes == nullptr ? 0 : index->build_codes->memory_bytes());
  // What a sketch task would begin with, and how far it would get.
  const size_t sketched = std::max(Sketches::full(graph_rows), s.sketches == nullptr ? 0 : s.sketches->end());
  const size_t sketchable = Sketches::pay(s.rows->kind()) ? std::max(sketched, Sketches::full(rows)) : sketched;
  const std::pair<const char*, double> members[] = {
      {"rows", double(rows)},
      {"live", double(s.rows->live())},
      {"graphRows", double(graph_rows)},
      {"refinedRows", s.graph == nullptr ? 0 : double(s.graph->refined_rows)},
      {"graphDead", double(s.rows->watched_dead())},
      {"deviations", s.effort.deviations},
      {"effortAt10", s.graph == nullptr ? 0 : s.effort.at_10.expanded},
      {"effortAt100", s.graph == nullptr ? 0 : s.effort.at_100.expanded},
      {"effortRows", s.graph == nullptr || index->effort_is_outdated() ? 0 : double(s.effort.rows)},
      {"unsketchedRows", double(sketchable - sketched)},
      {"cellRows", s.cells == nullptr ? 0 : double(s.cells->rows())},
      {"spilledBytes", double(s.rows->spilled_bytes())},
      {"damaged", s.rows->originals().damaged() ? 1.0 : 0.0},
      {"memoryBytes", double(memory)},
  };
  napi_value object, value;
  if (napi_create_object(env, &object) != napi_ok) return nullptr;
  for (const auto& [name, number] : members) {
    if (napi_create_double(env, number, &value) == napi_ok) napi_set_named_property(env, object, name, value);
  }
  if (napi_create_string_utf8(env, s.rows->path.c_str(), s.rows->path.size(), &value) == napi_ok) {
    napi_set_named_property(env, object, "originals", value);
  }
  return object;
}

napi_value take_searched(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  napi_value value = nullptr;
  napi_get_boolean(env, index->take_searched(), &value);
  return value;
}

napi_value rest(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  index->rest();
  return undefined(env);
}

// Stops running tasks; resolves when none runs any more and the memory is free.
napi_value close(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  napi_deferred deferred;
  napi_value promise;
  if (napi_create_promise(env, &deferred, &promise) != napi_ok) return nullptr;
  if (index->closed) {
    // The caller keeps the first promise; a second close has nothing to wait for.
    napi_resolve_deferred(env, deferred, undefined(env));
    return promise;
  }
  index->closed = true;
  unshare(*index);
  index->stop = true;
  if (index->running > 0) {
    index->closing = deferred;
  } else {
    index->clear();
    napi_resolve_deferred(env, deferred, undefined(env));
  }
  return promise;
}

napi_value share_call(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  napi_value value = nullptr;
  napi_create_double(env, double(share(index)), &value);
  return value;
}

napi_value search_inline_call(napi_env env, const Arguments& arguments) {
  return search_here(env, shared_index(arguments.whole(0, 1, kSharedMax)), arguments);
}

napi_value search_boosted_call(napi_env env, const Arguments& arguments) {
  return search_boosted_here(env, shared_index(arguments.whole(0, 1, kSharedMax)), arguments);
}

napi_value kernel_names(napi_env env, const Arguments&) {
  napi_value array, name;
  if (napi_create_array(env, &array) != napi_ok) return nullptr;
  const char* const* names = available_kernels();
  for (uint32_t i = 0; names[i] != nullptr; i++) {
    if (napi_create_string_utf8(env, names[i], NAPI_AUTO_LENGTH, &name) == napi_ok) {
      napi_set_element(env, array, i, name);
    }
  }
  return array;
}

}  // namespace

}  // namespace quiver

NAPI_MODULE_INIT() {
  using namespace quiver;
  const napi_property_descriptor methods[] = {
      method("put", guarded<put>),
      method("remove", guarded<remove>),
      method("search", guarded<run_pooled<search_task>>),
      method("prefersScan", guarded<prefers_scan_call>),
      method("score", guarded<run_pooled<score_task>>),
      method("scoreNow", guarded<run_now<score_task>>),
      method("vectors", guarded<vectors>),
      method("holds", guarded<holds>),
      method("liveSlots", guarded<live_slots>),
      method("liveCount", guarded<live_count>),
      method("status", guarded<status>),
      method("takeSearched", guarded<take_searched>),
      method("extend", guarded<run_threaded<extend_task, false>>),
      method("sketch", guarded<run_threaded<sketch_task, false>>),
      method("refine", guarded<run_threaded<refine_task, false>>),
      method("calibrate", guarded<run_threaded<calibrate_task, false>>),
      method("makeCells", guarded<run_threaded<make_cells_task, false>>),
      method("compact", guarded<run_threaded<compact_task, false>>),
      method("seal", guarded<run_threaded<seal_task, false>>),
      method("save", guarded<run_threaded<save_task, true>>),
      method("load", guarded<run_threaded<load_task, true>>),
      method("rest", guarded<rest>),
      method("share", guarded<share_call>),
      method("close", guarded<close>),
  };
  napi_value index_class, kernels, inline_search, joint_search, boost_values, boosted_search;
  if (napi_define_class(env, "VectorIndex", NAPI_AUTO_LENGTH, guarded<construct>, nullptr,
                        sizeof methods / sizeof methods[0], methods, &index_class) != napi_ok ||
      napi_create_function(env, "kernelNames", NAPI_AUTO_LENGTH, guarded<kernel_names>, nullptr, &kernels) != napi_ok ||
      napi_create_function(env, "searchInline", NAPI_AUTO_LENGTH, guarded<search_inline_call>, nullptr,
                           &inline_search) != napi_ok ||
      napi_create_function(env, "searchTogether", NAPI_AUTO_LENGTH, guarded<search_together>, nullptr, &joint_search) !=
          napi_ok ||
      napi_create_function(env, "boostValues", NAPI_AUTO_LENGTH, guarded<boost_values_here>, nullptr, &boost_values) !=
          napi_ok ||
      napi_create_function(env, "searchBoosted", NAPI_AUTO_LENGTH, guarded<search_boosted_call>, nullptr,
                           &boosted_search) != napi_ok) {
    return nullptr;
  }
  const napi_value filter_class = define_filter_index(env);
  const napi_value fold_cases = define_fold_cases(env);
  if (filter_class == nullptr || fold_cases == nullptr) return nullptr;
  napi_set_named_property(env, exports, "VectorIndex", index_class);
  napi_set_named_property(env, exports, "FilterIndex", filter_class);
  napi_set_named_property(env, exports, "foldCases", fold_cases);
  napi_set_named_property(env, exports, "kernelNames", kernels);
  napi_set_named_property(env, exports, "searchInline", inline_search);
  napi_set_named_property(env, exports, "searchTogether", joint_search);
  napi_set_named_property(env, exports, "boostValues", boost_values);
  napi_set_named_property(env, exports, "searchBoosted", boosted_search);
  return exports;
}
