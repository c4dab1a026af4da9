#pragma once

#include <node_api.h>

namespace quiver {

class Arguments;

// The function boostValues, as node/engine/vector/native-binding.ts declares it.
napi_value boost_values_here(napi_env env, const Arguments& arguments);

// The method FilterIndex.makeBoostValues, as node/engine/vector/native-filters.ts declares it.
napi_property_descriptor boost_method();

}  // namespace quiver
