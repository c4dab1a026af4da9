#pragma once

#include <node_api.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "errors.h"
#include "search.h"
#include "stop_flag.h"

namespace quiver {

// An index behind its JavaScript object. Tasks share it, so it outlives both the object and `close`.
struct Index {
  Snapshot snapshot;
  StopFlag stop{false};
  // Set while a task changes the graph or the row store; only one may at a time.
  bool busy = false;
  // Number of tasks under way, and the promise that waits for the last of them.
  size_t running = 0;
  napi_deferred closing = nullptr;
  bool closed = false;

  // Replaces the present state with another.
  void replace(Snapshot next) {
    snapshot = std::move(next);
    snapshot.rows->watch(snapshot.graph == nullptr ? 0 : snapshot.graph->rows());
  }

  void require_open() const {
    if (closed) throw ClosedError();
  }
};

// Ties the index to the JavaScript object made for it. Throws std::invalid_argument if the object is not a fresh one.
void wrap_index(napi_env env, napi_value self, std::shared_ptr<Index> index);

// The index of a JavaScript object. Throws std::invalid_argument if that is not a vector index.
std::shared_ptr<Index> index_of(napi_env env, napi_value self);

}  // namespace quiver
