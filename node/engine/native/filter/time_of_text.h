#pragma once

#include "filter_words.h"

namespace quiver {

/// The time of a date as shared/contract/filter/time-of-text.ts reads it, in milliseconds since 1970; NaN if the text
/// is none.
double time_of_text(const Characters& text);

}  // namespace quiver
