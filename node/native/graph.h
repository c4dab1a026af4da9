#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "block_array.h"

namespace quiver {

/**
 * The links of an HNSW graph (Malkov & Yashunin, arXiv:1603.09320) over rows 0 … rows() − 1 of a row store, as built in
 * the tables of faiss::HNSW, laid out for walking. The lists of the bottom level have a fixed stride on cache lines;
 * the few nodes of the upper levels have numbers of their own. Shared by searches, and immutable once built but for
 * refinement (row_refiner.h), which writes bottom lists a link at a time while they are walked.
 */
class Graph {
 public:
  // A node that has a level above the bottom; its number is its position here.
  struct UpperNode {
    uint32_t row;
    // Where its lists start in `upper_links`: level 1 first, `upper_degree` entries each.
    uint32_t first_link;
    uint32_t levels;
  };

  Graph(size_t rows, size_t degree, size_t upper_degree);

  size_t rows() const { return rows_; }
  // Links per list: at the bottom, and above.
  size_t degree() const { return degree_; }
  size_t upper_degree() const { return upper_degree_; }
  // The row's bottom list: `degree` rows; the first −1 ends it.
  const int32_t* links(size_t row) const { return links_ + row * degree_; }
  int32_t* links(size_t row) { return links_ + row * degree_; }
  // An upper node's list on level 1 …: upper node numbers; the first −1 ends it.
  const int32_t* upper_list(size_t node, size_t level) const {
    return upper_links.data() + upper[node].first_link + (level - 1) * upper_degree_;
  }

  size_t link_bytes() const { return rows_ * degree_ * sizeof(int32_t); }
  size_t memory_bytes() const;

  std::vector<UpperNode> upper;
  std::vector<int32_t> upper_links;
  // Upper node where walks start. −1: there is none, walks start at `entry_row`.
  int32_t entry_node = -1;
  // Row where walks start; −1 in a graph without nodes.
  int32_t entry_row = -1;
  /// Level of the entry.
  int32_t top_level = 0;
  // Rows from this one on were linked quickly, and wait for their refinement. JavaScript's thread.
  size_t refined_rows = 0;

 private:
  size_t rows_;
  size_t degree_;
  size_t upper_degree_;
  Pages pages_;
  int32_t* links_;
};

}  // namespace quiver
