#pragma once

#include <node_api.h>

#include <memory>

#include "arguments.h"
#include "index_object.h"
#include "task.h"

namespace quiver {

/**
 * The calls of a vector index that run off JavaScript's thread, one factory function each;
 * node/engine/vector/native-binding.ts documents arguments and answers. A factory throws if the index is closed or an
 * argument is wrong; those that change the graph or the row store, or measure it (extend, refine, calibrate, makeCells,
 * compact, seal), also throw while another of them is under way.
 */
std::unique_ptr<Task> search_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> score_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> extend_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> sketch_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> refine_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> calibrate_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> make_cells_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> compact_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> seal_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> save_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> load_task(napi_env env, const Arguments& arguments);

// Searches several indexes at once: an array of promises.
napi_value search_together(napi_env env, const Arguments& arguments);

/**
 * Searches on the calling thread, which need not own the index: arguments 1 to 4 are query, k, effort and ef. The same
 * answer as `search`, or null: `index` is null, closed, of another dimension, its disk or the memory fails, or the
 * search would take long (search_inline).
 */
napi_value search_here(napi_env env, const std::shared_ptr<Index>& index, const Arguments& arguments);
// The same by boosted scores: arguments 5 to 8 are the number of the filter index, a filter or null, the boosts and
// room.
napi_value search_boosted_here(napi_env env, const std::shared_ptr<Index>& index, const Arguments& arguments);

}  // namespace quiver
