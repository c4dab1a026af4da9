#pragma once

#include <node_api.h>

#include <memory>

#include "filter_evaluation.h"

namespace quiver {

class Arguments;

// The class FilterIndex, as node/vector/native-filters.ts declares it. Null with a pending exception.
napi_value define_filter_index(napi_env env);

/**
 * The slots that pass a filter, found on the calling thread, which need not own the index: argument `first` is the number
 * of the index, the next one the filter's words. Nothing if the index is gone, holds items outside its lists, or the
 * filter takes long. Throws std::invalid_argument, std::bad_alloc.
 */
std::optional<FoundSlots> resolve_shared(const Arguments& arguments, size_t first);

}  // namespace quiver
