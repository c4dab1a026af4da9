#pragma once

#include <optional>
#include <vector>

#include "filter/boost_values.h"
#include "search.h"

namespace quiver {

/**
 * As `search_inline`, by boosted scores: rows with their unboosted scores, among them the best k of all by boosted ones
 * and all that tie with the last, in no order, and few others: numbers are known only about (BoostValues::Number).
 * Nothing, soon, where that takes long, or is not for a walk or a scan. Numbers must be those of `values` meanwhile.
 */
std::optional<std::vector<Hit>> search_boosted(const Snapshot& snapshot, const SearchRequest& request,
                                               const BoostValues& values, const StopFlag& stop, SearchCost& cost);

}  // namespace quiver
