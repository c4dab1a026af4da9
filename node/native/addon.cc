// What JavaScript sees of the vector index: one class, mirrored by node/vector/native-binding.ts in names, argument
// order and meaning. All state of an index belongs to the environment (thread) that made it; nothing here is global.

#include <node_api.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "calibration.h"
#include "compaction.h"
#include "errors.h"
#include "graph_builder.h"
#include "index_save.h"
#include "search.h"
#include "task.h"

namespace quiver {

namespace {

constexpr size_t kDimMax = 65536;
constexpr size_t kThreadsMax = 256;

/// An index behind its JavaScript object; tasks share it, so it outlives both the object and `close`.
struct Index {
  Snapshot snapshot;
  StopFlag stop{false};
  /// Set while a task changes the graph or the row store: there is one at a time.
  bool busy = false;
  /// Tasks under way, and who waits for the last of them.
  size_t running = 0;
  napi_deferred closing = nullptr;
  bool closed = false;

  /// Puts another state in the place of the present one.
  void replace(Snapshot next) {
    snapshot = std::move(next);
    snapshot.rows->watch(snapshot.graph == nullptr ? 0 : snapshot.graph->rows());
  }

  void require_open() const {
    if (closed) throw ClosedError();
  }
};

void stop_index_at_env_end(void* data) { static_cast<Index*>(data)->stop = true; }

/// JavaScript object → index. The holder is freed with the object.
struct Holder {
  std::shared_ptr<Index> index;
};

constexpr napi_type_tag kTypeTag = {0x5156525645435449, 0x4e44455831000001};

void free_holder(napi_env env, void* data, void*) {
  Holder* holder = static_cast<Holder*>(data);
  napi_remove_env_cleanup_hook(env, stop_index_at_env_end, holder->index.get());
  holder->index->stop = true;
  delete holder;
}

std::shared_ptr<Index> index_of(napi_env env, napi_value self) {
  bool tagged = false;
  void* data = nullptr;
  if (napi_check_object_type_tag(env, self, &kTypeTag, &tagged) != napi_ok || !tagged ||
      napi_unwrap(env, self, &data) != napi_ok || data == nullptr) {
    throw std::invalid_argument("not a vector index");
  }
  return static_cast<Holder*>(data)->index;
}

napi_value undefined(napi_env env) {
  napi_value value = nullptr;
  napi_get_undefined(env, &value);
  return value;
}

/// Runs a call and turns what it throws into a JavaScript exception.
template <napi_value (*Call)(napi_env, const Arguments&)>
napi_value guarded(napi_env env, napi_callback_info info) {
  try {
    return Call(env, Arguments(env, info));
  } catch (...) {
    throw_current_exception(env);
    return nullptr;
  }
}

/// A task of an index: counted, so that close can wait, and holding the JavaScript object against collection.
class IndexTask : public Task {
 public:
  IndexTask(napi_env env, const Arguments& arguments) : env_(env), index_(index_of(env, arguments.self())) {
    index_->require_open();
    napi_create_reference(env, arguments.self(), 1, &self_);
    index_->running++;
  }
  ~IndexTask() override {
    if (ended_) return;  // else it never started
    if (self_ != nullptr) napi_delete_reference(env_, self_);
    index_->running--;
  }

  void ended() override {
    if (ended_) return;
    ended_ = true;
    if (self_ != nullptr) napi_delete_reference(env_, self_);
    if (--index_->running > 0 || index_->closing == nullptr) return;
    index_->snapshot = {};
    napi_resolve_deferred(env_, index_->closing, undefined(env_));
    index_->closing = nullptr;
  }
  void stop() override { index_->stop = true; }

 protected:
  napi_env env_;
  std::shared_ptr<Index> index_;

 private:
  napi_ref self_ = nullptr;
  bool ended_ = false;
};

/// A task that changes the graph or the row store: alone of its kind.
class ChangingTask : public IndexTask {
 public:
  ChangingTask(napi_env env, const Arguments& arguments) : IndexTask(env, arguments) {
    if (index_->busy) throw std::logic_error("the vector index is being changed already");
    index_->busy = true;
    holds_ = true;
  }
  ~ChangingTask() override { release(); }
  void ended() override {
    release();
    IndexTask::ended();
  }

 private:
  void release() {
    if (holds_) index_->busy = false;
    holds_ = false;
  }
  bool holds_ = false;
};

class SearchTask final : public IndexTask {
 public:
  SearchTask(napi_env env, const Arguments& arguments) : IndexTask(env, arguments), snapshot_(index_->snapshot) {
    const auto query = arguments.floats(0);
    if (query.size != snapshot_.rows->dim) throw std::invalid_argument("the query has another dimension");
    request_.query.assign(query.data, query.data + query.size);
    request_.k = arguments.whole(1, 1, kItemLimit);
    request_.effort_kind = EffortKind(arguments.whole(2, 0, 2));
    request_.ef = arguments.whole(3, 0, kItemLimit);
    request_.allowed.kind = Allowed::Kind(arguments.whole(4, 0, 2));
    request_.allowed.count = snapshot_.rows->live();
    if (request_.allowed.kind != Allowed::Kind::kAll) {
      const auto words = arguments.words(5);
      request_.allowed.words.assign(words.data, words.data + words.size);
      request_.allowed.count = arguments.whole(6, 0, kItemLimit);
    }
    // More than there is cannot be found, and lists are sized by k.
    request_.k = std::max<size_t>(1, std::min(request_.k, snapshot_.rows->live()));
  }

  void run() override { hits_ = search(snapshot_, request_, index_->stop); }

  napi_value finish(napi_env env) override {
    void *slots, *scores;
    napi_value result, slots_value = new_array(env, napi_uint32_array, hits_.size(), sizeof(uint32_t), &slots);
    napi_value scores_value = new_array(env, napi_float64_array, hits_.size(), sizeof(double), &scores);
    for (size_t i = 0; i < hits_.size(); i++) {
      static_cast<uint32_t*>(slots)[i] = snapshot_.rows->slot(hits_[i].row);
      static_cast<double*>(scores)[i] = hits_[i].score;
    }
    if (napi_create_object(env, &result) != napi_ok) return nullptr;
    napi_set_named_property(env, result, "slots", slots_value);
    napi_set_named_property(env, result, "scores", scores_value);
    return result;
  }

 private:
  Snapshot snapshot_;
  SearchRequest request_;
  std::vector<Hit> hits_;
};

class ScoreTask final : public IndexTask {
 public:
  ScoreTask(napi_env env, const Arguments& arguments) : IndexTask(env, arguments), store_(index_->snapshot.rows) {
    const auto query = arguments.floats(0);
    if (query.size != store_->dim) throw std::invalid_argument("the query has another dimension");
    query_.assign(query.data, query.data + query.size);
    const auto slots = arguments.words(1);
    rows_.reserve(slots.size);
    for (size_t i = 0; i < slots.size; i++) rows_.push_back(store_->row_of(slots.data[i]));
  }

  void run() override {
    const Query query(*store_, query_.data());
    scores_.reserve(rows_.size());
    for (uint32_t row : rows_) scores_.push_back(row == kNoRow ? NAN : query.exact(row).score);
  }

  napi_value finish(napi_env env) override {
    void* scores;
    napi_value value = new_array(env, napi_float64_array, scores_.size(), sizeof(double), &scores);
    if (!scores_.empty()) std::memcpy(scores, scores_.data(), scores_.size() * sizeof(double));
    return value;
  }

 private:
  std::shared_ptr<RowStore> store_;
  std::vector<float> query_;
  std::vector<uint32_t> rows_;
  std::vector<double> scores_;
};

class ExtendTask final : public ChangingTask {
 public:
  ExtendTask(napi_env env, const Arguments& arguments)
      : ChangingTask(env, arguments),
        snapshot_(index_->snapshot),
        rows_(arguments.whole(0, 0, kItemLimit)),
        threads_(unsigned(arguments.whole(1, 1, kThreadsMax))) {
    const size_t base = snapshot_.graph == nullptr ? 0 : snapshot_.graph->rows();
    rows_ = std::min(base + rows_, snapshot_.rows->count());
  }
  void run() override { graph_ = extend_graph(*snapshot_.rows, snapshot_.graph.get(), rows_, threads_, index_->stop); }
  napi_value finish(napi_env env) override {
    index_->replace({snapshot_.rows, graph_, index_->snapshot.effort});
    return undefined(env);
  }

 private:
  Snapshot snapshot_;
  size_t rows_;
  unsigned threads_;
  std::shared_ptr<const Graph> graph_;
};

class CalibrateTask final : public ChangingTask {
 public:
  CalibrateTask(napi_env env, const Arguments& arguments)
      : ChangingTask(env, arguments),
        snapshot_(index_->snapshot),
        target_(arguments.number(0)),
        threads_(unsigned(arguments.whole(1, 1, kThreadsMax))) {
    if (snapshot_.graph == nullptr) throw std::invalid_argument("there is no graph to calibrate");
    if (!(target_ > 0 && target_ < 1)) throw std::invalid_argument("a recall target lies between 0 and 1");
  }
  void run() override { effort_ = calibrate(snapshot_, target_, threads_, index_->stop); }
  napi_value finish(napi_env env) override {
    index_->snapshot.effort = effort_;
    return undefined(env);
  }

 private:
  Snapshot snapshot_;
  double target_;
  unsigned threads_;
  Effort effort_{};
};

class CompactTask final : public ChangingTask {
 public:
  CompactTask(napi_env env, const Arguments& arguments)
      : ChangingTask(env, arguments),
        store_(index_->snapshot.rows),
        path_(arguments.text(0)),
        graph_rows_min_(arguments.whole(1, 1, kItemLimit)),
        threads_(unsigned(arguments.whole(2, 1, kThreadsMax))) {
    if (path_ == store_->path) throw std::invalid_argument("compaction needs a file of its own");
  }
  void run() override {
    compaction_ = std::make_unique<Compaction>(store_, path_);
    compaction_->copy(graph_rows_min_, threads_, index_->stop);
  }
  napi_value finish(napi_env env) override {
    index_->replace(compaction_->finish());
    return undefined(env);
  }

 private:
  std::shared_ptr<RowStore> store_;
  std::string path_;
  size_t graph_rows_min_;
  unsigned threads_;
  std::unique_ptr<Compaction> compaction_;
};

class SaveTask final : public IndexTask {
 public:
  SaveTask(napi_env env, const Arguments& arguments)
      : IndexTask(env, arguments), image_(index_->snapshot), path_(arguments.text(0)) {}
  void run() override { write_save(image_, path_, index_->stop); }
  napi_value finish(napi_env env) override { return undefined(env); }

 private:
  SaveImage image_;
  std::string path_;
};

class LoadTask final : public IndexTask {
 public:
  LoadTask(napi_env env, const Arguments& arguments)
      : IndexTask(env, arguments),
        empty_(index_->snapshot.rows),
        path_(arguments.text(0)),
        originals_(arguments.text(1)),
        threads_(unsigned(arguments.whole(2, 1, kThreadsMax))) {
    if (empty_->count() > 0) throw std::invalid_argument("only an empty index can load a save");
  }
  void run() override {
    loaded_ = read_save(path_, originals_, empty_->metric, empty_->dim, empty_->kernels, threads_, index_->stop);
  }
  napi_value finish(napi_env env) override {
    if (empty_->count() > 0) throw std::logic_error("the index was changed while it loaded a save");
    index_->replace(loaded_);
    return undefined(env);
  }

 private:
  std::shared_ptr<RowStore> empty_;
  std::string path_, originals_;
  unsigned threads_;
  Snapshot loaded_;
};

template <class T>
napi_value run_pooled(napi_env env, const Arguments& arguments) {
  return start_on_pool(env, std::make_unique<T>(env, arguments));
}

/// Tasks that someone awaits keep the process alive; background work does not.
template <class T, bool KeepsAlive>
napi_value run_threaded(napi_env env, const Arguments& arguments) {
  return start_on_thread(env, std::make_unique<T>(env, arguments), KeepsAlive);
}

Metric metric_from(const std::string& name) {
  if (name == "cosine") return Metric::kCosine;
  if (name == "ip") return Metric::kIp;
  if (name == "l2") return Metric::kL2;
  throw std::invalid_argument("unknown metric");
}

napi_value construct(napi_env env, const Arguments& arguments) {
  const Metric metric = metric_from(arguments.text_of(arguments.member(0, "metric")));
  const size_t dim = arguments.whole_of(arguments.member(0, "dim"), 1, kDimMax);
  const std::string originals = arguments.text_of(arguments.member(0, "originals"));
  const napi_value kernels = arguments.member(0, "kernels");
  const Kernels& chosen = select_kernels(arguments.is_nullish(kernels) ? nullptr : arguments.text_of(kernels).c_str());
  auto holder = std::make_unique<Holder>();
  holder->index = std::make_shared<Index>();
  holder->index->snapshot = {std::make_shared<RowStore>(metric, dim, originals, chosen, 0), nullptr, Effort::guess()};
  if (napi_type_tag_object(env, arguments.self(), &kTypeTag) != napi_ok ||
      napi_wrap(env, arguments.self(), holder.get(), free_holder, nullptr, nullptr) != napi_ok) {
    throw std::invalid_argument("vector indexes are made by new");
  }
  napi_add_env_cleanup_hook(env, stop_index_at_env_end, holder->index.get());
  holder.release();
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
    std::memcpy(static_cast<float*>(data) + i * rows.dim, rows.original(row), rows.dim * sizeof(float));
  }
  return value;
}

napi_value live_count(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  napi_value value = nullptr;
  napi_create_double(env, double(index->snapshot.rows->live()), &value);
  return value;
}

napi_value status(napi_env env, const Arguments& arguments) {
  const auto index = index_of(env, arguments.self());
  index->require_open();
  const Snapshot& s = index->snapshot;
  const size_t rows = s.rows->count(), graph_rows = s.graph == nullptr ? 0 : s.graph->rows();
  const std::pair<const char*, double> members[] = {
      {"rows", double(rows)},
      {"live", double(s.rows->live())},
      {"graphRows", double(graph_rows)},
      {"graphDead", double(s.rows->watched_dead())},
      {"effortAt10", s.graph == nullptr ? 0 : s.effort.at_10},
      {"effortAt100", s.graph == nullptr ? 0 : s.effort.at_100},
      {"effortRows", s.graph == nullptr ? 0 : double(s.effort.rows)},
      {"memoryBytes", double(s.rows->memory_bytes() + (s.graph == nullptr ? 0 : s.graph->memory_bytes()))},
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

/// Stops what runs; resolves when nothing does any more and the memory is free.
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
  index->stop = true;
  if (index->running > 0) {
    index->closing = deferred;
  } else {
    index->snapshot = {};
    napi_resolve_deferred(env, deferred, undefined(env));
  }
  return promise;
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

napi_property_descriptor method(const char* name, napi_callback call) {
  return {name, nullptr, call, nullptr, nullptr, nullptr, napi_default_method, nullptr};
}

}  // namespace

}  // namespace quiver

NAPI_MODULE_INIT() {
  using namespace quiver;
  const napi_property_descriptor methods[] = {
      method("put", guarded<put>),
      method("remove", guarded<remove>),
      method("search", guarded<run_pooled<SearchTask>>),
      method("prefersScan", guarded<prefers_scan_call>),
      method("score", guarded<run_pooled<ScoreTask>>),
      method("vectors", guarded<vectors>),
      method("liveCount", guarded<live_count>),
      method("status", guarded<status>),
      method("extend", guarded<run_threaded<ExtendTask, false>>),
      method("calibrate", guarded<run_threaded<CalibrateTask, false>>),
      method("compact", guarded<run_threaded<CompactTask, false>>),
      method("save", guarded<run_threaded<SaveTask, true>>),
      method("load", guarded<run_threaded<LoadTask, true>>),
      method("close", guarded<close>),
  };
  napi_value index_class, kernels;
  if (napi_define_class(env, "VectorIndex", NAPI_AUTO_LENGTH, guarded<construct>, nullptr,
                        sizeof methods / sizeof methods[0], methods, &index_class) != napi_ok ||
      napi_create_function(env, "kernelNames", NAPI_AUTO_LENGTH, guarded<kernel_names>, nullptr, &kernels) != napi_ok) {
    return nullptr;
  }
  napi_set_named_property(env, exports, "VectorIndex", index_class);
  napi_set_named_property(env, exports, "kernelNames", kernels);
  return exports;
}
