#include "row_refiner.h"

namespace quiver {

namespace {

// The lists of a graph where its links have 32 bits: written in place.
struct WideEdit {
  Graph& graph;
  size_t degree() const { return graph.degree(); }
  int32_t* edit(uint32_t row, int32_t*) const { return graph.links(row); }
  void commit(uint32_t, const int32_t*) const {}
};

// Where they have fewer, a copy is written.
struct NarrowEdit {
  Graph& graph;
  size_t degree() const { return graph.degree(); }
  int32_t* edit(uint32_t row, int32_t* buffer) const {
    graph.read_list(row, buffer);
    return buffer;
  }
  void commit(uint32_t row, const int32_t* list) const { graph.write_list(row, list); }
};

}  // namespace

RowRefiner::RowRefiner(const Codes& codes, Graph& graph, ListLocks& locks, const NearLimits& limits)
    : graph_(graph),
      limits_(limits),
      query_(codes),
      scorer_(codes, query_),
      near_rows_(codes, query_),
      writer_(codes, locks) {}

void RowRefiner::refine(uint32_t row) {
  query_.set(row);
  scorer_.near_rows[0] = row;
  scorer_.score(1);
  const PoolEntry self{scorer_.keys[0], row};
  // From the row itself, through its links: it is left out of what is found. And from where a search for it would
  // begin: a row that was linked quickly may have its links in a wrong place, from which no way leads to the right one.
  const PoolEntry other = descend(graph_, scorer_);
  with_lists(graph_, [&](const auto& lists) {
    near_rows_.find(lists, graph_.rows(), {self, other}, limits_, row, found_);
  });
  if (graph_.width() == LinkWidth::kBits32) {
    link(WideEdit{graph_}, row);
  } else {
    link(NarrowEdit{graph_}, row);
  }
}

template <class Lists>
void RowRefiner::link(const Lists& lists, uint32_t row) {
  writer_.renew(lists, row, found_);
  for (size_t j = found_.size(); j-- > 0;) writer_.add(lists, found_[j].row(), row);
}

}  // namespace quiver
