#pragma once

#include <node_api.h>

#include <vector>

namespace quiver {

struct CountedValue;
class WordReader;

// A scalar as FilterWords write it. Throws std::invalid_argument.
CountedValue value_of(WordReader& words);
// It in JavaScript; a long text is its key.
napi_value scalar_value(napi_env env, const CountedValue& value);

// The methods of FilterIndex that count, as node/engine/vector/native-filters.ts declares them.
std::vector<napi_property_descriptor> filter_count_methods();

}  // namespace quiver
