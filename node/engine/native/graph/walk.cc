#include "walk.h"

#include <algorithm>

namespace quiver {

WalkScratch& WalkScratch::of_this_thread() {
  thread_local WalkScratch scratch;
  return scratch;
}

uint8_t WalkScratch::begin(size_t rows, size_t entries) {
  if (visited.size() < rows) visited.resize(rows);
  if (pool.size() < entries) pool.resize(entries);
  if (++walk_number == 0) {
    std::fill(visited.begin(), visited.end(), uint8_t(0));
    walk_number = 1;
  }
  return walk_number;
}

}  // namespace quiver
