#pragma once

#include <node_api.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "errors.h"
#include "search.h"
#include "stop_flag.h"

namespace quiver {

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

/// Ties the index to the JavaScript object made for it. Throws std::invalid_argument if that is no fresh object.
void wrap_index(napi_env env, napi_value self, std::shared_ptr<Index> index);

/// The index of a JavaScript object. Throws std::invalid_argument when it is no vector index.
std::shared_ptr<Index> index_of(napi_env env, napi_value self);

}  // namespace quiver
