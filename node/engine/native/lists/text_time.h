#pragma once

#include <limits>

namespace quiver {

/// The time that a text says, in milliseconds since 1970: NaN if it says none.
struct TextTime {
  double ms = std::numeric_limits<double>::quiet_NaN();

  static TextTime unknown() { return {std::numeric_limits<double>::infinity()}; }
  bool is_unknown() const { return ms == std::numeric_limits<double>::infinity(); }
};

}  // namespace quiver
