#include "graph_without_row.h"

#include <algorithm>

#include "link_lists.h"

namespace quiver {

namespace {

std::vector<uint32_t> links_of(const Graph& graph, uint32_t row) {
  int32_t list[kDegreeMax];
  graph.read_list(row, list);
  std::vector<uint32_t> links;
  for (size_t j = 0; j < graph.degree() && list[j] >= 0; j++) links.push_back(uint32_t(list[j]));
  return links;
}

}  // namespace

GraphWithoutRow::GraphWithoutRow(const Codes& codes, const Graph& graph, uint32_t row) : graph_(graph) {
  RowQuery query(codes);
  Scorer<RowQuery> scorer(codes, query);
  const std::vector<uint32_t> own = links_of(graph, row);
  std::vector<PoolEntry> candidates;
  for (uint32_t neighbour : own) {
    std::vector<uint32_t> links = links_of(graph, neighbour);
    const auto found = std::find(links.begin(), links.end(), row);
    if (found == links.end()) continue;
    links.erase(found);
    links.insert(links.end(), own.begin(), own.end());
    std::sort(links.begin(), links.end());
    links.erase(std::unique(links.begin(), links.end()), links.end());
    links.erase(std::remove(links.begin(), links.end(), neighbour), links.end());
    query.set(neighbour);
    candidates.clear();
    for (size_t first = 0; first < links.size(); first += kDegreeMax) {
      const size_t count = std::min(kDegreeMax, links.size() - first);
      std::copy_n(links.begin() + ptrdiff_t(first), count, scorer.near_rows);
      scorer.score(count);
      for (size_t j = 0; j < count; j++) candidates.push_back({scorer.keys[j], scorer.near_rows[j]});
    }
    std::sort(candidates.begin(), candidates.end(), nearer);
    choose_links(codes, candidates, degree());
    changed_.push_back(neighbour);
    filter_ |= uint64_t(1) << (neighbour & 63);
    for (size_t j = 0; j < degree(); j++) lists_.push_back(j < candidates.size() ? int32_t(candidates[j].row()) : -1);
  }
}

}  // namespace quiver
