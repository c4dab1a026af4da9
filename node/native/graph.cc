#include "graph.h"

namespace quiver {

Graph::Graph(size_t rows, size_t degree, size_t upper_degree)
    : rows_(rows),
      degree_(degree),
      upper_degree_(upper_degree),
      pages_(rows * degree * sizeof(int32_t) + 1),
      links_(reinterpret_cast<int32_t*>(pages_.data())) {}

size_t Graph::memory_bytes() const {
  return link_bytes() + upper.size() * sizeof(UpperNode) + upper_links.size() * sizeof(int32_t);
}

}  // namespace quiver
