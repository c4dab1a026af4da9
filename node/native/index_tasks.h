#pragma once

#include <node_api.h>

#include <memory>

#include "arguments.h"
#include "task.h"

namespace quiver {

/**
 * The calls of a vector index that run off JavaScript's thread, one factory function each;
 * node/vector/native-binding.ts documents arguments and answers. A factory throws if the index is closed or an argument
 * is wrong; those that change the graph or the row store (extend, calibrate, compact) also throw while another of them
 * is under way.
 */
std::unique_ptr<Task> search_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> score_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> extend_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> calibrate_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> compact_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> save_task(napi_env env, const Arguments& arguments);
std::unique_ptr<Task> load_task(napi_env env, const Arguments& arguments);

}  // namespace quiver
