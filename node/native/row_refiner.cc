#include "row_refiner.h"

namespace quiver {

RowRefiner::RowRefiner(const RowStore& rows, Graph& graph, ListLocks& locks, size_t effort)
    : graph_(graph), effort_(effort), query_(rows), scorer_(rows, query_), writer_(rows, locks) {}

void RowRefiner::refine(uint32_t row) {
  query_.set(row);
  scorer_.near_rows[0] = row;
  scorer_.score(1);
  WalkScratch& scratch = WalkScratch::of_this_thread();
  // From the row itself, through its links: it is left out of what is found.
  const WalkResult result = walk_level<FixedPool>(BottomLists{graph_}, graph_.rows(), {scorer_.keys[0], row}, scorer_,
                                                  [](uint32_t) { return true; }, {effort_, effort_ + 1}, row, scratch);
  found_.clear();
  for (size_t i = 0; i < result.entries; i++) {
    const PoolEntry& entry = scratch.pool[i];
    if (!entry.passage()) found_.push_back({entry.key, entry.row()});
  }
  const size_t degree = graph_.degree();
  writer_.renew(graph_.links(row), degree, row, found_);
  for (size_t j = found_.size(); j-- > 0;) writer_.add(graph_.links(found_[j].row()), degree, found_[j].row(), row);
}

}  // namespace quiver
