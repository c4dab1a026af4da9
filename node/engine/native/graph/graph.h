#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rows/block_array.h"

namespace quiver {

// Most links per list that the walk has room for.
constexpr size_t kDegreeMax = 64;

// How many bits a link has in memory. Fewer make a list shorter, and reading it takes longer.
enum class LinkWidth { kBits20 = 20, kBits24 = 24, kBits32 = 32 };

/**
 * The links of an HNSW graph (Malkov & Yashunin, arXiv:1603.09320) over rows 0 … rows() − 1 of a row store, as built in
 * the tables of faiss::HNSW, laid out for walking. The lists of the bottom level have a fixed stride;
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

  // `compact`: with the narrowest links that can name all rows, else 32 bits.
  Graph(size_t rows, size_t degree, size_t upper_degree, bool compact);

  size_t rows() const { return rows_; }
  // Links per list: at the bottom, and above.
  size_t degree() const { return degree_; }
  size_t upper_degree() const { return upper_degree_; }
  LinkWidth width() const { return width_; }
  // With 32 bits. The row's bottom list: `degree` rows; the first −1 ends it.
  const int32_t* links(size_t row) const { return reinterpret_cast<const int32_t*>(pages_.data()) + row * degree_; }
  int32_t* links(size_t row) { return reinterpret_cast<int32_t*>(pages_.data()) + row * degree_; }
  // Copies the row's bottom list, whatever the width, and whoever writes it meanwhile: what is no row is −1.
  void read_list(size_t row, int32_t* out) const;
  void write_list(size_t row, const int32_t* list);
  // The same for narrow lists of one width.
  template <LinkWidth kWidth>
  void read_narrow(size_t row, int32_t* out) const;
  const uint8_t* packed(size_t row) const { return pages_.data() + row * stride_; }
  // Bytes of a list.
  size_t stride() const { return stride_; }
  // An upper node's list on level 1 …: upper node numbers; the first −1 ends it.
  const int32_t* upper_list(size_t node, size_t level) const {
    return upper_links.data() + upper[node].first_link + (level - 1) * upper_degree_;
  }

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
  // Narrow lists in words of 8 bytes: first the low 16 bits of all links, then the high 4 or 8 of all.
  static constexpr size_t kLowWords = kDegreeMax * 2 / 8, kWordsMax = kDegreeMax * 3 / 8;
  size_t low_words() const { return (degree_ * 2 + 7) / 8; }
  size_t words() const { return stride_ / 8; }

  size_t rows_;
  size_t degree_;
  size_t upper_degree_;
  LinkWidth width_;
  size_t stride_;
  Pages pages_;
};

inline void prefetch_list(const void* list, size_t bytes) {
  for (size_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(static_cast<const char*>(list) + byte);
}

/// The bottom lists of a graph for walk_level, where links have 32 bits.
class WideLists {
 public:
  explicit WideLists(const Graph& graph) : graph_(graph) {}
  size_t degree() const { return graph_.degree(); }
  const int32_t* of(uint32_t row) const { return graph_.links(row); }
  void prefetch(uint32_t row) const { prefetch_list(of(row), degree() * sizeof(int32_t)); }

 private:
  const Graph& graph_;
};

/// The same where links have fewer bits.
template <LinkWidth kWidth>
class NarrowLists {
 public:
  explicit NarrowLists(const Graph& graph) : graph_(graph) {}
  size_t degree() const { return graph_.degree(); }
  const int32_t* of(uint32_t row) const {
    graph_.read_narrow<kWidth>(row, list_);
    return list_;
  }
  void prefetch(uint32_t row) const { prefetch_list(graph_.packed(row), graph_.stride()); }

 private:
  const Graph& graph_;
  mutable int32_t list_[kDegreeMax];
};

// Calls with the bottom lists of a graph, of the kind that they are.
template <class Call>
auto with_lists(const Graph& graph, const Call& call) {
  if (graph.width() == LinkWidth::kBits20) return call(NarrowLists<LinkWidth::kBits20>(graph));
  if (graph.width() == LinkWidth::kBits24) return call(NarrowLists<LinkWidth::kBits24>(graph));
  return call(WideLists(graph));
}

}  // namespace quiver
