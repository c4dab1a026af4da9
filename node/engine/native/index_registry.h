#pragma once

#include <cstdint>
#include <memory>

#include "filter/filter_index.h"
#include "index_object.h"

namespace quiver {

/**
 * The indexes that other threads of this process may search, by numbers that are never given twice. The registry does
 * not keep an index alive. A number leaves it when its index closes or its JavaScript object is collected. Any thread
 * may call `shared_index` and `shared_filters`; the others belong to the thread that owns the index.
 */

// The number of the index, the same at each call.
uint64_t share(const std::shared_ptr<Index>& index);
uint64_t share(const std::shared_ptr<FilterIndex>& index);

// Nothing finds the index any more; searches that have found it go on.
void unshare(Index& index);
void unshare(FilterIndex& index);

// Null: the number was never given, or is gone.
std::shared_ptr<Index> shared_index(uint64_t number);
std::shared_ptr<FilterIndex> shared_filters(uint64_t number);

}  // namespace quiver
