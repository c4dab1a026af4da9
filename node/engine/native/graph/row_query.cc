#include "row_query.h"

namespace quiver {

void RowQuery::set(uint32_t row) {
  const uint8_t* code = codes_.code(row);
  for (size_t j = 0; j < code_.size(); j++) code_[j] = int8_t(int(code[j]) - 128);
  offset_ = 128 * codes_.code_sum(row);
  meta_ = codes_.meta(row);
}

}  // namespace quiver
