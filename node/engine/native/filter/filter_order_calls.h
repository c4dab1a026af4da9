#pragma once

#include <node_api.h>

#include <vector>

namespace quiver {

// The methods of FilterIndex that order, as node/engine/vector/native-filters.ts declares them.
std::vector<napi_property_descriptor> filter_order_methods();

}  // namespace quiver
