#include "graph_builder.h"

#include <faiss/impl/HNSW.h>

#include <algorithm>
#include <cstring>

#include "errors.h"
#include "row_refiner.h"
#include "threads.h"

namespace quiver {

namespace {

// Links per node above the bottom, and twice as many at the bottom; measured best on embeddings of text
// (docs/performance.md).
constexpr int kLinks = 24;
// How many near rows are found to choose links from. A row that was linked quickly and then refined takes less time
// than one that was linked with care, and searches score no more rows (docs/performance.md). Quick is the least at
// which HNSW's heuristic chooses: with fewer candidates than a list holds, it keeps all.
// Most of these are expanded, too: with three in four, links are as good.
constexpr NearLimits kCareful{200, 150};
constexpr NearLimits kQuick{2 * kLinks, 2 * kLinks};
// Rows that a thread copies at a time.
constexpr size_t kCopiedRows = 16384;

// Whether FAISS can extend the graph: a graph of another shape, from a save of another version, does not fit its
// tables.
bool fits(const Graph& graph, const faiss::HNSW& hnsw) {
  if (int(graph.degree()) != hnsw.nb_neighbors(0) || int(graph.upper_degree()) != hnsw.nb_neighbors(1)) return false;
  return std::all_of(graph.upper.begin(), graph.upper.end(), [&](const Graph::UpperNode& node) {
    return size_t(node.levels) + 1 < hnsw.cum_nneighbor_per_level.size();
  });
}

// FAISS's form of a graph: levels count from 1; all lists of a node are adjacent, the bottom list first.
void copy_to_faiss(const Graph& graph, faiss::HNSW& hnsw) {
  hnsw.levels.resize(graph.rows(), 1);
  for (const Graph::UpperNode& node : graph.upper) hnsw.levels[node.row] = int(node.levels) + 1;
  hnsw.prepare_level_tab(graph.rows(), true);
  for (size_t row = 0; row < graph.rows(); row++) {
    int32_t* list = &hnsw.neighbors[hnsw.offsets[row]];
    if (graph.width() == LinkWidth::kBits32) {
      std::memcpy(list, graph.links(row), graph.degree() * sizeof(int32_t));
    } else {
      graph.read_list(row, list);
    }
  }
  for (size_t node = 0; node < graph.upper.size(); node++) {
    const Graph::UpperNode& upper = graph.upper[node];
    int32_t* out = &hnsw.neighbors[hnsw.offsets[upper.row] + graph.degree()];
    for (size_t level = 1; level <= upper.levels; level++) {
      const int32_t* list = graph.upper_list(node, level);
      for (size_t j = 0; j < graph.upper_degree(); j++, out++) {
        *out = list[j] < 0 ? -1 : int32_t(graph.upper[size_t(list[j])].row);
      }
    }
  }
  hnsw.entry_point = graph.entry_row;
  hnsw.max_level = graph.entry_row < 0 ? -1 : graph.top_level;
}

void copy_bottom_lists(const faiss::HNSW& hnsw, Graph& graph, size_t first, size_t end) {
  for (size_t row = first; row < end; row++) {
    const int32_t* list = &hnsw.neighbors[hnsw.offsets[row]];
    if (graph.width() == LinkWidth::kBits32) {
      std::memcpy(graph.links(row), list, graph.degree() * sizeof(int32_t));
    } else {
      graph.write_list(row, list);
    }
  }
}

std::shared_ptr<Graph> copy_from_faiss(const faiss::HNSW& hnsw, bool compact, unsigned threads) {
  const size_t rows = hnsw.levels.size(), degree = size_t(hnsw.nb_neighbors(0)), above = size_t(hnsw.nb_neighbors(1));
  auto graph = std::make_shared<Graph>(rows, degree, above, compact);
  std::atomic<size_t> next{0};
  run_in_background_threads(rows > kCopiedRows ? threads : 0, [&](unsigned) {
    for (size_t first = next.fetch_add(kCopiedRows); first < rows; first = next.fetch_add(kCopiedRows)) {
      copy_bottom_lists(hnsw, *graph, first, std::min(first + kCopiedRows, rows));
    }
  });
  copy_bottom_lists(hnsw, *graph, std::min(next.load(), rows), rows);
  std::vector<int32_t> node_of_row(rows, -1);
  for (size_t row = 0; row < rows; row++) {
    if (hnsw.levels[row] == 1) continue;
    node_of_row[row] = int32_t(graph->upper.size());
    const uint32_t levels = uint32_t(hnsw.levels[row]) - 1;
    graph->upper.push_back({uint32_t(row), uint32_t(graph->upper_links.size()), levels});
    const int32_t* lists = &hnsw.neighbors[hnsw.offsets[row] + degree];
    graph->upper_links.insert(graph->upper_links.end(), lists, lists + levels * above);
  }
  for (int32_t& link : graph->upper_links) link = link < 0 ? -1 : node_of_row[size_t(link)];
  graph->entry_row = hnsw.entry_point;
  graph->top_level = std::max(hnsw.max_level, 0);
  graph->entry_node = hnsw.entry_point < 0 ? -1 : node_of_row[size_t(hnsw.entry_point)];
  return graph;
}

// New rows by descending level: a RowLinker needs the nodes of a level before those of lower levels.
std::vector<std::vector<uint32_t>> rows_by_level(const RowStore& store, const faiss::HNSW& hnsw, size_t first) {
  std::vector<std::vector<uint32_t>> result;
  for (size_t row = first; row < hnsw.levels.size(); row++) {
    if (store.dead(row)) continue;
    const size_t level = size_t(hnsw.levels[row]) - 1;
    if (result.size() <= level) result.resize(level + 1);
    result[level].push_back(uint32_t(row));
  }
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace

GraphGrowth::GraphGrowth(std::shared_ptr<const Graph> base, bool compact) : compact_(compact), growing_(kLinks) {
  if (base == nullptr || !fits(*base, growing_.hnsw)) return;
  copy_to_faiss(*base, growing_.hnsw);
  newest_ = std::move(base);
}

std::shared_ptr<const Graph> GraphGrowth::extend(const RowStore& store, const Codes& codes, size_t rows,
                                                 Care care, unsigned threads, const StopFlag& stop) {
  faiss::HNSW& hnsw = growing_.hnsw;
  const size_t first = hnsw.levels.size();
  // Seeded by position: the same seed would repeat the same sequence of levels in every batch.
  hnsw.rng = faiss::RandomGenerator(int64_t(first) + 12345);
  rows = std::max(rows, first);
  hnsw.prepare_level_tab(rows - first, false);

  const NearLimits& limits = care == Care::kQuick ? kQuick : kCareful;
  for (const std::vector<uint32_t>& level_rows : rows_by_level(store, hnsw, first)) {
    std::atomic<size_t> next{0};
    run_in_background_threads(level_rows.empty() ? 0 : threads, [&](unsigned) {
      RowLinker linker(codes, growing_, limits);
      for (size_t i = next++; i < level_rows.size(); i = next++) {
        if (stop.load(std::memory_order_relaxed)) throw ClosedError();
        linker.link(level_rows[i]);
      }
    });
  }
  std::shared_ptr<Graph> graph = copy_from_faiss(hnsw, compact_, threads);
  const size_t refined = newest_ == nullptr ? 0 : newest_->refined_rows;
  graph->refined_rows = care == Care::kThorough && refined == first ? rows : refined;
  newest_ = graph;
  return graph;
}

size_t GraphGrowth::memory_bytes() const {
  const faiss::HNSW& hnsw = growing_.hnsw;
  return hnsw.neighbors.size() * sizeof(int32_t) + hnsw.levels.size() * (sizeof(int) + sizeof(size_t));
}

void refine_graph(const RowStore& store, const Codes& codes, Graph& graph, size_t first, size_t end, unsigned threads,
                  const StopFlag& stop) {
  ListLocks locks;
  std::atomic<size_t> next{first};
  run_in_background_threads(threads, [&](unsigned) {
    RowRefiner refiner(codes, graph, locks, kCareful);
    for (size_t row = next++; row < end; row = next++) {
      if (stop.load(std::memory_order_relaxed)) throw ClosedError();
      if (!store.dead(row)) refiner.refine(uint32_t(row));
    }
  });
}

}  // namespace quiver
