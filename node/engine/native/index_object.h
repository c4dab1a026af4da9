#pragma once

#include <node_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "codes/build_codes.h"
#include "errors.h"
#include "graph/graph_builder.h"
#include "search/search.h"
#include "stop_flag.h"

namespace quiver {

/**
 * An index behind its JavaScript object. Tasks share it, so it outlives both the object and `close`. It belongs to the
 * thread that made it; other threads may only raise `stop`, call `note_search` and call `shared_snapshot`
 * (index_registry.h is how they find it).
 */
struct Index {
  // The effort is measured again when one row in this many was refined since.
  static constexpr size_t kRemeasuredShare = 4;

  // Changed by the owning thread alone, through the functions below; that thread reads it without the lock.
  Snapshot snapshot;
  StopFlag stop{false};
  // Set while a task changes the graph or the row store; only one may at a time.
  bool busy = false;
  // The growth of the present graph, while the next step is likely to extend it, too.
  std::unique_ptr<GraphGrowth> growth;
  // While there is something to build.
  std::unique_ptr<BuildCodes> build_codes;
  // Rows refined since the effort was measured.
  size_t refined_since = 0;
  // Whether all rows are refined, and so many of them since the effort was measured that it is more than is needed now.
  bool effort_is_outdated() const {
    const Graph* graph = snapshot.graph.get();
    return graph != nullptr && graph->refined_rows == graph->rows() && refined_since > 0 &&
           refined_since >= graph->rows() / kRemeasuredShare;
  }
  // Number of tasks under way, and the promise that waits for the last of them.
  size_t running = 0;
  napi_deferred closing = nullptr;
  bool closed = false;

  // By which other threads find it (index_registry.h); 0: they can't.
  uint64_t shared_number = 0;

  Index() = default;
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // Replaces the present state with another.
  void replace(Snapshot next) {
    next.rows->watch(next.graph == nullptr ? 0 : next.graph->rows());
    exchange(std::move(next));
  }
  void set_effort(const Effort& effort) {
    std::lock_guard<std::mutex> guard(lock_);
    snapshot.effort = effort;
  }
  void set_cells(std::shared_ptr<const Cells> cells) {
    Snapshot next = snapshot;
    next.cells = std::move(cells);
    exchange(std::move(next));
  }
  void set_sketches(std::shared_ptr<const Sketches> sketches) {
    Snapshot next = snapshot;
    next.sketches = std::move(sketches);
    exchange(std::move(next));
  }
  // Frees the memory, once the last reader of the present state is done with it.
  void clear() {
    rest();
    exchange({});
  }
  // Frees what only building needs.
  void rest() {
    growth.reset();
    build_codes.reset();
  }

  // The present state, for a thread that does not own the index; without rows when it was cleared.
  Snapshot shared_snapshot() const {
    std::lock_guard<std::mutex> guard(lock_);
    return snapshot;
  }

  // Any thread: somebody searches. It is mostly noted already, and then only read: searches of many threads write
  // nothing.
  void note_search() {
    if (!searched_.load(std::memory_order_relaxed)) searched_.store(true, std::memory_order_relaxed);
  }
  // Whether somebody searched since the last call.
  bool take_searched() { return searched_.exchange(false, std::memory_order_relaxed); }

  void require_open() const {
    if (closed) throw ClosedError();
  }

 private:
  void exchange(Snapshot next) {
    {
      std::lock_guard<std::mutex> guard(lock_);
      std::swap(snapshot, next);
    }
    // What was there is freed here, outside the lock.
  }

  mutable std::mutex lock_;
  std::atomic<bool> searched_{false};
};

// Ties the index to the JavaScript object made for it. Throws std::invalid_argument if the object is not a fresh one.
void wrap_index(napi_env env, napi_value self, std::shared_ptr<Index> index);

// The index of a JavaScript object. Throws std::invalid_argument if that is not a vector index.
std::shared_ptr<Index> index_of(napi_env env, napi_value self);

}  // namespace quiver
