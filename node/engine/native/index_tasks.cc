#include "index_tasks.h"

#if defined(__GLIBC__) || __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "search/boosted_search.h"
#include "search/calibration.h"
#include "rows/compaction.h"
#include "errors.h"
#include "filter/boost_values.h"
#include "filter/filter_calls.h"
#include "graph/graph_builder.h"
#include "index_object.h"
#include "index_registry.h"
#include "index_save.h"
#include "search/joint_search.h"
#include "search/search.h"
#include "rows/segment_sealing.h"

namespace quiver {

namespace {

constexpr size_t kThreadsMax = 256;
// Numbers of shared indexes are exact in JavaScript.
constexpr uint64_t kSharedMax = (uint64_t(1) << 53) - 1;
// Threads that search the segments of one index: more than most pools have.
constexpr size_t kJointTasksMax = 8;
// The tables of a growth are kept if the rows left are at least one in this many: another step is due then.
constexpr size_t kKeptShare = 64;

// Memory that was freed goes to the system: the allocator keeps what each thread had, and a process has indexes on the
// disk because it has little.
void give_back_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// A task of an index. It is counted, so that close can wait, and keeps the JavaScript object from being collected.
class IndexTask : public Task {
 public:
  IndexTask(napi_env env, const Arguments& arguments) : IndexTask(env, arguments.self()) {}
  IndexTask(napi_env env, napi_value self) : env_(env), index_(index_of(env, self)) {
    index_->require_open();
    napi_create_reference(env, self, 1, &self_);
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
    index_->clear();
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

// A task that changes the graph or the row store: only one at a time.
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

// A task that reads int8 codes. They are taken from the index, and left there for the next one.
class BuildingTask : public ChangingTask {
 public:
  BuildingTask(napi_env env, const Arguments& arguments)
      : ChangingTask(env, arguments), snapshot_(index_->snapshot), build_codes_(std::move(index_->build_codes)) {
    if (build_codes_ == nullptr || !build_codes_->is_of(snapshot_.rows)) {
      build_codes_ = std::make_unique<BuildCodes>(snapshot_.rows);
    }
  }
  void ended() override {
    if (!index_->closed && build_codes_ != nullptr) index_->build_codes = std::move(build_codes_);
    ChangingTask::ended();
  }

 protected:
  // Those of the first `rows` rows.
  const Codes& codes_of(size_t rows, unsigned threads) { return build_codes_->of(rows, threads, index_->stop); }

  Snapshot snapshot_;

 private:
  std::unique_ptr<BuildCodes> build_codes_;
};

// { slots, scores }.
template <class AnyHit, class SlotOf>
napi_value hits_value(napi_env env, const std::vector<AnyHit>& hits, const SlotOf& slot_of) {
  void *slots, *scores;
  napi_value result, slots_value = new_array(env, napi_uint32_array, hits.size(), sizeof(uint32_t), &slots);
  napi_value scores_value = new_array(env, napi_float64_array, hits.size(), sizeof(double), &scores);
  for (size_t i = 0; i < hits.size(); i++) {
    static_cast<uint32_t*>(slots)[i] = slot_of(hits[i]);
    static_cast<double*>(scores)[i] = hits[i].score;
  }
  if (napi_create_object(env, &result) != napi_ok) return nullptr;
  napi_set_named_property(env, result, "slots", slots_value);
  napi_set_named_property(env, result, "scores", scores_value);
  return result;
}

napi_value hits_value(napi_env env, const RowStore& rows, const std::vector<Hit>& hits) {
  return hits_value(env, hits, [&](const Hit& hit) { return rows.slot(hit.row); });
}

// Writes them into `room`, the slots into its first half and the scores into the second. Answers how many there are.
napi_value written_hits(napi_env env, const RowStore& rows, const std::vector<Hit>& hits,
                        const Arguments::Span<double>& room) {
  double* slots = const_cast<double*>(room.data);
  double* scores = slots + room.size / 2;
  for (size_t i = 0; i < hits.size(); i++) {
    slots[i] = rows.slot(hits[i].row);
    scores[i] = hits[i].score;
  }
  napi_value count = nullptr;
  napi_create_uint32(env, uint32_t(hits.size()), &count);
  return count;
}

// The slots that may be answers: their kind, words and number, from argument `first` on.
void read_allowed(const Arguments& arguments, size_t first, Allowed& allowed) {
  allowed.kind = Allowed::Kind(arguments.whole(first, 0, 2));
  if (allowed.kind == Allowed::Kind::kAll) return;
  const auto words = arguments.words(first + 1);
  allowed.words.assign(words.data, words.data + words.size);
  allowed.count = arguments.whole(first + 2, 0, kItemLimit);
}

// Query, k, effort and ef, from argument `first` on, with all slots allowed. False: the query has another dimension.
bool read_request(const Arguments& arguments, size_t first, const RowStore& rows, SearchRequest& request) {
  const auto query = arguments.floats(first);
  if (query.size != rows.dim) return false;
  request.query.assign(query.data, query.data + query.size);
  request.k = arguments.whole(first + 1, 1, kItemLimit);
  request.effort_kind = EffortKind(arguments.whole(first + 2, 0, 2));
  request.ef = arguments.whole(first + 3, 0, kItemLimit);
  request.allowed.count = rows.live();
  return true;
}

bool scans(const Snapshot& snapshot, const SearchRequest& request, size_t count) {
  return prefers_scan(snapshot, request.k, request.effort_kind, request.ef, count);
}

// Allows the slots that a filter found, in the form that the search will read.
void allow(const Snapshot& snapshot, FoundSlots found, SearchRequest& request) {
  Allowed& allowed = request.allowed;
  allowed.count = found.count;
  const bool scan = scans(snapshot, request, allowed.count);
  allowed.kind = scan ? Allowed::Kind::kSlots : Allowed::Kind::kBitmap;
  allowed.words = scan ? std::move(found).as_list() : std::move(found).as_bitmap();
}

using Time = std::chrono::steady_clock::time_point;

double ms_between(Time from, Time to) { return std::chrono::duration<double, std::milli>(to - from).count(); }

// What a search took, with its times: it waited for a thread, found the slots that pass the filter, and searched.
struct Counted {
  SearchCost cost;
  // Slots that may be answers.
  size_t allowed = 0;
  double queue_ms = 0, filter_ms = 0, run_ms = 0;
};

// Adds what a search took to its answer.
void add_counts(napi_env env, napi_value result, const Counted& counted) {
  const std::pair<const char*, double> members[] = {
      {"scored", double(counted.cost.scored)},
      {"leftOut", double(counted.cost.left_out)},
      {"rescored", double(counted.cost.rescored)},
      {"expanded", double(counted.cost.expanded)},
      {"plan", double(int(counted.cost.plan))},
      {"allowed", double(counted.allowed)},
      {"queueMs", counted.queue_ms},
      {"filterMs", counted.filter_ms},
      {"runMs", counted.run_ms},
  };
  napi_value number;
  for (const auto& [name, value] : members) {
    if (napi_create_double(env, value, &number) == napi_ok) napi_set_named_property(env, result, name, number);
  }
}

class SearchTask final : public IndexTask {
 public:
  SearchTask(napi_env env, const Arguments& arguments) : IndexTask(env, arguments), snapshot_(index_->snapshot) {
    index_->note_search();
    if (!read_request(arguments, 0, *snapshot_.rows, request_)) {
      throw std::invalid_argument("the query has another dimension");
    }
    read_allowed(arguments, 4, request_.allowed);
    is_counted_ = !arguments.is_nullish(arguments.at(7));
    if (is_counted_) called_ = std::chrono::steady_clock::now();
  }

  void run() override {
    const Time began = is_counted_ ? std::chrono::steady_clock::now() : Time();
    if (snapshot_.rows->on_disk) count_allowed(*snapshot_.rows, request_.allowed);
    hits_ = search(snapshot_, request_, index_->stop, counted_.cost);
    snapshot_.rows->require_sound();
    if (!is_counted_) return;
    counted_.allowed = request_.allowed.count;
    counted_.queue_ms = ms_between(called_, began);
    counted_.run_ms = ms_between(began, std::chrono::steady_clock::now());
  }

  napi_value finish(napi_env env) override {
    napi_value result = hits_value(env, *snapshot_.rows, hits_);
    if (is_counted_ && result != nullptr) add_counts(env, result, counted_);
    return result;
  }

 private:
  Snapshot snapshot_;
  SearchRequest request_;
  // Whether the answer shall say what it took.
  bool is_counted_ = false;
  Time called_;
  Counted counted_;
  std::vector<Hit> hits_;
};

// One of the tasks that search several indexes, in the name of one of them.
class JointSearchTask final : public IndexTask {
 public:
  JointSearchTask(napi_env env, napi_value self, std::shared_ptr<JointSearch> search, bool is_counted)
      : IndexTask(env, self), search_(std::move(search)), is_counted_(is_counted) {
    if (is_counted_) called_ = std::chrono::steady_clock::now();
  }

  void run() override {
    const Time began = is_counted_ ? std::chrono::steady_clock::now() : Time();
    hits_ = search_->run(index_->stop, counted_.cost, counted_.allowed);
    if (!is_counted_) return;
    counted_.queue_ms = ms_between(called_, began);
    counted_.run_ms = ms_between(began, std::chrono::steady_clock::now());
  }

  napi_value finish(napi_env env) override {
    napi_value result = hits_value(env, hits_, [](const SlotHit& hit) { return hit.slot; });
    if (is_counted_ && result != nullptr) add_counts(env, result, counted_);
    return result;
  }

 private:
  std::shared_ptr<JointSearch> search_;
  bool is_counted_;
  Time called_;
  Counted counted_;
  std::vector<SlotHit> hits_;
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
    for (uint32_t row : rows_) {
      scores_.push_back(row == kNoRow ? NAN : query.exact(row).score);
      if (row != kNoRow) store_->require_match(row);
    }
    store_->require_sound();
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

class ExtendTask final : public BuildingTask {
 public:
  ExtendTask(napi_env env, const Arguments& arguments)
      : BuildingTask(env, arguments),
        growth_(std::move(index_->growth)),
        rows_(arguments.whole(0, 0, kItemLimit)),
        care_(Care(arguments.whole(1, 0, 1))),
        threads_(unsigned(arguments.whole(2, 1, kThreadsMax))) {
    const size_t base = snapshot_.graph == nullptr ? 0 : snapshot_.graph->rows();
    rows_ = std::min(base + rows_, snapshot_.rows->count());
  }
  void run() override {
    if (growth_ == nullptr || !growth_->continues(snapshot_.graph)) {
      growth_.reset();
      growth_ = std::make_unique<GraphGrowth>(snapshot_.graph, snapshot_.rows->kind().has_compact_links());
    }
    graph_ = growth_->extend(*snapshot_.rows, codes_of(rows_, threads_), rows_, care_, threads_, index_->stop);
  }
  napi_value finish(napi_env env) override {
    const size_t left = snapshot_.rows->count() - rows_;
    if (left >= rows_ / kKeptShare) index_->growth = std::move(growth_);
    const Snapshot& present = index_->snapshot;
    index_->replace(
        {snapshot_.rows, graph_, present.effort, present.cells, Sketches::without(present.sketches, graph_->rows())});
    return undefined(env);
  }

 private:
  std::unique_ptr<GraphGrowth> growth_;
  size_t rows_;
  Care care_;
  unsigned threads_;
  std::shared_ptr<const Graph> graph_;
};

class SketchTask final : public ChangingTask {
 public:
  SketchTask(napi_env env, const Arguments& arguments)
      : ChangingTask(env, arguments),
        snapshot_(index_->snapshot),
        threads_(unsigned(arguments.whole(0, 1, kThreadsMax))) {
    if (!Sketches::pay(snapshot_.rows->kind())) throw std::invalid_argument("rows of this kind have no sketches");
  }
  void run() override {
    const size_t linked = snapshot_.graph == nullptr ? 0 : snapshot_.graph->rows();
    sketches_ = std::make_shared<Sketches>(*snapshot_.rows, snapshot_.sketches.get(), linked, threads_, index_->stop);
  }
  napi_value finish(napi_env env) override {
    index_->set_sketches(std::move(sketches_));
    return undefined(env);
  }

 private:
  Snapshot snapshot_;
  unsigned threads_;
  std::shared_ptr<const Sketches> sketches_;
};

class RefineTask final : public BuildingTask {
 public:
  RefineTask(napi_env env, const Arguments& arguments)
      : BuildingTask(env, arguments),
        graph_(std::const_pointer_cast<Graph>(index_->snapshot.graph)),
        rows_(arguments.whole(0, 0, kItemLimit)),
        threads_(unsigned(arguments.whole(1, 1, kThreadsMax))) {
    if (graph_ == nullptr) throw std::invalid_argument("there is no graph to refine");
    // Its tables would lack the new links.
    index_->growth.reset();
    first_ = graph_->refined_rows;
    rows_ = std::min(rows_, graph_->rows() - first_);
  }
  void run() override {
    // Walks go through the whole graph.
    const Codes& codes = codes_of(graph_->rows(), threads_);
    refine_graph(*snapshot_.rows, codes, *graph_, first_, first_ + rows_, threads_, index_->stop);
  }
  napi_value finish(napi_env env) override {
    graph_->refined_rows = first_ + rows_;
    index_->refined_since += rows_;
    return undefined(env);
  }

 private:
  std::shared_ptr<Graph> graph_;
  size_t rows_, first_ = 0;
  unsigned threads_;
};

class CalibrateTask final : public BuildingTask {
 public:
  CalibrateTask(napi_env env, const Arguments& arguments)
      : BuildingTask(env, arguments),
        target_(arguments.number(0)),
        threads_(unsigned(arguments.whole(1, 1, kThreadsMax))) {
    if (snapshot_.graph == nullptr) throw std::invalid_argument("there is no graph to calibrate");
    if (!(target_ > 0 && target_ < 1)) throw std::invalid_argument("a recall target lies between 0 and 1");
  }
  void run() override {
    effort_ = calibrate(snapshot_, codes_of(snapshot_.graph->rows(), threads_), target_, threads_, index_->stop);
    snapshot_.rows->require_sound();
  }
  napi_value finish(napi_env env) override {
    index_->set_effort(effort_);
    index_->refined_since = 0;
    return undefined(env);
  }

 private:
  double target_;
  unsigned threads_;
  Effort effort_{};
};

class MakeCellsTask final : public BuildingTask {
 public:
  MakeCellsTask(napi_env env, const Arguments& arguments)
      : BuildingTask(env, arguments),
        target_(arguments.number(0)),
        threads_(unsigned(arguments.whole(1, 1, kThreadsMax))) {
    if (snapshot_.graph == nullptr) throw std::invalid_argument("there is no graph whose rows make cells");
    if (!(target_ > 0 && target_ < 1)) throw std::invalid_argument("a recall target lies between 0 and 1");
  }
  void run() override {
    const Codes& codes = codes_of(snapshot_.graph->rows(), threads_);
    cells_ = std::make_shared<Cells>(*snapshot_.rows, codes, *snapshot_.graph, target_, threads_, index_->stop);
    snapshot_.rows->require_sound();
  }
  napi_value finish(napi_env env) override {
    index_->set_cells(std::move(cells_));
    return undefined(env);
  }

 private:
  double target_;
  unsigned threads_;
  std::shared_ptr<const Cells> cells_;
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
    index_->rest();
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

class SealTask final : public ChangingTask {
 public:
  SealTask(napi_env env, const Arguments& arguments)
      : ChangingTask(env, arguments),
        store_(index_->snapshot.rows),
        path_(arguments.text(0)),
        target_(arguments.number(1)),
        threads_(unsigned(arguments.whole(2, 1, kThreadsMax))) {
    if (!store_->on_disk) throw std::invalid_argument("the index is in memory");
    if (path_ == store_->path) throw std::invalid_argument("sealing needs a file of its own");
    if (!(target_ > 0 && target_ < 1)) throw std::invalid_argument("a recall target lies between 0 and 1");
    rows_ = store_->count();
  }
  void run() override {
    sealing_ = std::make_unique<SegmentSealing>(store_, path_);
    sealing_->run(target_, threads_, index_->stop);
    give_back_memory();
  }
  napi_value finish(napi_env env) override {
    if (store_->count() != rows_) throw std::logic_error("rows were put while the index was sealed");
    index_->replace(sealing_->finish());
    return undefined(env);
  }

 private:
  std::shared_ptr<RowStore> store_;
  std::string path_;
  double target_;
  unsigned threads_;
  size_t rows_ = 0;
  std::unique_ptr<SegmentSealing> sealing_;
};

class SaveTask final : public IndexTask {
 public:
  SaveTask(napi_env env, const Arguments& arguments)
      : IndexTask(env, arguments), image_(index_->snapshot), path_(arguments.text(0)) {
    // Who loads it measures it again.
    if (index_->effort_is_outdated()) image_.effort.rows = 0;
  }
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
    loaded_ = read_save(path_, originals_, empty_->kind(), threads_, index_->stop);
    if (empty_->on_disk) give_back_memory();
  }
  napi_value finish(napi_env env) override {
    if (empty_->count() > 0) throw std::logic_error("the index was changed while it loaded a save");
    index_->replace(loaded_);
    // Some of them may have been refined since the effort was measured.
    if (loaded_.graph != nullptr && loaded_.graph->refined_rows < loaded_.graph->rows()) {
      index_->refined_since = loaded_.graph->refined_rows;
    }
    return undefined(env);
  }

 private:
  std::shared_ptr<RowStore> empty_;
  std::string path_, originals_;
  unsigned threads_;
  Snapshot loaded_;
};

}  // namespace

std::unique_ptr<Task> search_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<SearchTask>(env, arguments);
}

namespace {

// Of this thread.
RememberedFilters& remembered_here() {
  thread_local RememberedFilters remembered;
  return remembered;
}

// Allows the slots that pass a filter, in the form that the search will read, and takes the snapshot anew where it has
// to have the rows of all of these. `tests`: each slot may be tested instead. False: the owner's thread has to do it.
bool allow_passing(const Index& index, const SharedFilter& filter, bool tests, Snapshot& snapshot,
                   SearchRequest& request) {
  Allowed& allowed = request.allowed;
  const auto is_wanted = [&](size_t count) { return !scans(snapshot, request, count); };
  std::shared_ptr<const FoundSlots> remembered = filter.remembered(remembered_here(), is_wanted);
  std::optional<FoundSlots> found;
  if (remembered == nullptr) {
    const auto enough = [&](size_t count) {
      return looks_through_cells(snapshot, request.k, request.effort_kind, count);
    };
    if (tests) allowed.test = filter.test(enough);
    if (allowed.test.has_value()) {
      allowed.kind = Allowed::Kind::kTest;
      allowed.count = allowed.test->count;
      return true;
    }
    found = filter.resolve();
    if (!found.has_value()) return false;
  }
  // Only now, so that it has the rows of all slots that are allowed.
  snapshot = index.shared_snapshot();
  if (snapshot.rows == nullptr) return false;
  if (remembered == nullptr) {
    allow(snapshot, std::move(*found), request);
    return true;
  }
  allowed.kind = Allowed::Kind::kBitmap;
  allowed.count = remembered->count;
  allowed.remembered = std::move(remembered);
  return true;
}

}  // namespace

napi_value search_here(napi_env env, const std::shared_ptr<Index>& index, const Arguments& arguments) {
  napi_value null = nullptr;
  napi_get_null(env, &null);
  if (index == nullptr) return null;
  index->note_search();
  SearchRequest request;
  Snapshot snapshot;
  std::optional<std::vector<Hit>> hits;
  const bool is_counted = !arguments.is_nullish(arguments.at(7));
  const bool has_room = !is_counted && !arguments.is_nullish(arguments.at(8));
  const Arguments::Span<double> room = has_room ? arguments.doubles(8) : Arguments::Span<double>{nullptr, 0};
  const auto now = [is_counted] { return is_counted ? std::chrono::steady_clock::now() : Time(); };
  Counted counted;
  const Time began = now();
  try {
    std::optional<SharedFilter> filter;
    if (!arguments.is_nullish(arguments.at(5))) filter.emplace(arguments, 5);
    snapshot = index->shared_snapshot();
    if (snapshot.rows == nullptr || !read_request(arguments, 1, *snapshot.rows, request)) return null;
    if (filter.has_value() && !allow_passing(*index, *filter, true, snapshot, request)) return null;
    counted.allowed = request.allowed.count;
    const Time filtered = now();
    hits = search_inline(snapshot, request, index->stop, counted.cost);
    snapshot.rows->require_sound();
    // An item that left the lists meanwhile may have been asked half gone.
    if (request.allowed.kind == Allowed::Kind::kTest && !filter->is_whole()) return null;
    counted.filter_ms = ms_between(began, filtered);
    counted.run_ms = ms_between(filtered, now());
  } catch (const CodedError&) {
    // The owner meets the same, and reports it.
    return null;
  } catch (const std::bad_alloc&) {
    return null;
  }
  if (!hits.has_value()) return null;
  if (has_room && hits->size() <= room.size / 2) return written_hits(env, *snapshot.rows, *hits, room);
  napi_value result = hits_value(env, *snapshot.rows, *hits);
  if (is_counted && result != nullptr) add_counts(env, result, counted);
  return result;
}

napi_value search_boosted_here(napi_env env, const std::shared_ptr<Index>& index, const Arguments& arguments) {
  napi_value null = nullptr, counts = nullptr;
  napi_get_null(env, &null);
  const uint64_t number = arguments.whole(5, 1, kSharedMax);
  const std::shared_ptr<FilterIndex> filters = shared_filters(number);
  const Reading reading;
  if (index == nullptr || filters == nullptr || !reading.admitted() || !filters->is_whole()) return null;
  index->note_search();
  const auto words = arguments.words(7);
  const auto room = arguments.doubles(8);
  const auto counts_room = arguments.doubles(9);
  try {
    std::optional<SharedFilter> filter;
    if (!arguments.is_nullish(arguments.at(6))) filter.emplace(arguments, 5);
    SearchRequest request;
    Snapshot snapshot = index->shared_snapshot();
    if (snapshot.rows == nullptr || !read_request(arguments, 1, *snapshot.rows, request)) return null;
    const std::optional<BoostValues> values =
        BoostValues::of(*filters, number, WordReader(words.data, words.size), remembered_here());
    if (!values.has_value()) return null;
    if (filter.has_value() && !allow_passing(*index, *filter, false, snapshot, request)) return null;
    SearchCost cost;
    const std::optional<std::vector<Hit>> hits = search_boosted(snapshot, request, *values, index->stop, cost);
    if (!hits.has_value()) return null;
    snapshot.rows->require_sound();
    // An item that left the lists meanwhile may have been met half gone.
    if (!filters->is_whole() || hits->size() * (2 + values->width()) > room.size) return null;
    const double costs[] = {double(cost.scored),   double(cost.left_out),  double(cost.rescored),
                            double(cost.expanded), double(int(cost.plan)), double(request.allowed.count)};
    if (counts_room.size < std::size(costs)) return null;
    std::copy(std::begin(costs), std::end(costs), const_cast<double*>(counts_room.data));
    double* at = const_cast<double*>(room.data);
    for (const Hit& hit : *hits) {
      const uint32_t slot = snapshot.rows->slot(hit.row);
      *at++ = slot;
      *at++ = hit.score;
      values->write(slot, at);
      at += values->width();
    }
    napi_create_uint32(env, uint32_t(hits->size()), &counts);
    return counts;
  } catch (const CodedError&) {
    // The owner meets the same, and reports it.
    return null;
  } catch (const std::bad_alloc&) {
    return null;
  }
}

napi_value search_together(napi_env env, const Arguments& arguments) {
  const std::vector<napi_value> objects = elements_of(env, arguments.at(0));
  std::vector<Snapshot> snapshots;
  for (napi_value object : objects) {
    const std::shared_ptr<Index> index = index_of(env, object);
    index->require_open();
    index->note_search();
    snapshots.push_back(index->snapshot);
    const RowKind own = snapshots.back().rows->kind(), first = snapshots[0].rows->kind();
    if (!own.on_disk) throw std::invalid_argument("an index in memory is searched alone");
    if (own.dim != first.dim || own.metric != first.metric || own.quantization != first.quantization) {
      throw std::invalid_argument("the indexes are of different kinds");
    }
  }
  if (snapshots.empty()) throw std::invalid_argument("there is no index to search");
  SearchRequest request;
  if (!read_request(arguments, 1, *snapshots[0].rows, request))
    throw std::invalid_argument("the query has another dimension");
  read_allowed(arguments, 5, request.allowed);
  const bool is_counted = !arguments.is_nullish(arguments.at(8));
  const auto search = std::make_shared<JointSearch>(std::move(snapshots), std::move(request));
  napi_value promises = nullptr;
  if (napi_create_array(env, &promises) != napi_ok) return nullptr;
  for (uint32_t i = 0; i < std::min(objects.size(), kJointTasksMax); i++) {
    napi_value promise = start_on_pool(env, std::make_unique<JointSearchTask>(env, objects[i], search, is_counted));
    if (promise == nullptr) return nullptr;
    napi_set_element(env, promises, i, promise);
  }
  return promises;
}

std::unique_ptr<Task> score_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<ScoreTask>(env, arguments);
}

std::unique_ptr<Task> extend_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<ExtendTask>(env, arguments);
}

std::unique_ptr<Task> sketch_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<SketchTask>(env, arguments);
}

std::unique_ptr<Task> refine_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<RefineTask>(env, arguments);
}

std::unique_ptr<Task> calibrate_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<CalibrateTask>(env, arguments);
}

std::unique_ptr<Task> make_cells_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<MakeCellsTask>(env, arguments);
}

std::unique_ptr<Task> compact_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<CompactTask>(env, arguments);
}

std::unique_ptr<Task> seal_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<SealTask>(env, arguments);
}

std::unique_ptr<Task> save_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<SaveTask>(env, arguments);
}

std::unique_ptr<Task> load_task(napi_env env, const Arguments& arguments) {
  return std::make_unique<LoadTask>(env, arguments);
}

}  // namespace quiver
