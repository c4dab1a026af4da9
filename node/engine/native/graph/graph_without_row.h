#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph.h"
#include "codes/codes.h"

namespace quiver {

/**
 * The bottom lists of a graph (see WideLists) about as they would be had one row never been added. Each neighbour that
 * has a link to it gets its list chosen anew as a builder does, from its other links and from what is near it.
 * To leave the row out alone would make its neighbours hard to find, because many are linked through it. To choose
 * among the links of both would make them too easy to find: that many lead to one place is no list that a builder
 * makes.
 */
class GraphWithoutRow {
 public:
  // `codes`: int8 codes.
  GraphWithoutRow(const Codes& codes, const Graph& graph, uint32_t row);

  size_t degree() const { return graph_.degree(); }
  const int32_t* of(uint32_t row) const {
    if ((filter_ >> (row & 63) & 1) != 0) {
      for (size_t i = 0; i < changed_.size(); i++) {
        if (changed_[i] == row) return lists_.data() + i * degree();
      }
    }
    if (graph_.width() == LinkWidth::kBits32) return graph_.links(row);
    graph_.read_list(row, list_);
    return list_;
  }
  void prefetch(uint32_t row) const { prefetch_list(graph_.packed(row), graph_.stride()); }

 private:
  const Graph& graph_;
  // The last list that was read, where links have fewer than 32 bits; so it is for one thread at a time.
  mutable int32_t list_[kDegreeMax];
  std::vector<uint32_t> changed_;
  // One list of `degree` links for each of them.
  std::vector<int32_t> lists_;
  // Bit (row & 63) of each of them.
  uint64_t filter_ = 0;
};

}  // namespace quiver
