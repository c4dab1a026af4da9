#include "graph_without_row.h"

#include <algorithm>

#include "link_lists.h"
#include "near_rows.h"

namespace quiver {

namespace {

// What is near a neighbour: as many as a builder finds (graph_builder.cc), with fewer of them expanded. Lists chosen
// among these have the recall of those that come from the builder's own walk, for half of its time
// (docs/performance.md).
constexpr NearLimits kRefined{200, 32}, kCoarse{48, 16};

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
  NearRows near_rows(codes, query);
  const NearLimits& limits = graph.refined_rows < graph.rows() ? kCoarse : kRefined;
  Links candidates;
  for (uint32_t neighbour : links_of(graph, row)) {
    std::vector<uint32_t> links = links_of(graph, neighbour);
    const auto found = std::find(links.begin(), links.end(), row);
    if (found == links.end()) continue;
    links.erase(found);
    query.set(neighbour);
    scorer.near_rows[0] = neighbour;
    scorer.score(1);
    const PoolEntry self{scorer.keys[0], neighbour};
    with_lists(graph, [&](const auto& lists) {
      near_rows.find(lists, graph.rows(), {self}, limits, neighbour, candidates);
    });
    const auto is = [](uint32_t sought) { return [sought](const PoolEntry& entry) { return entry.row() == sought; }; };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), is(row)), candidates.end());
    size_t count = 0;
    for (uint32_t link : links) {
      if (std::none_of(candidates.begin(), candidates.end(), is(link))) scorer.near_rows[count++] = link;
    }
    scorer.score(count);
    for (size_t j = 0; j < count; j++) candidates.push_back({scorer.keys[j], scorer.near_rows[j]});
    std::sort(candidates.begin(), candidates.end(), nearer);
    choose_links(codes, candidates, degree());
    changed_.push_back(neighbour);
    filter_ |= uint64_t(1) << (neighbour & 63);
    for (size_t j = 0; j < degree(); j++) lists_.push_back(j < candidates.size() ? int32_t(candidates[j].row()) : -1);
  }
}

}  // namespace quiver
