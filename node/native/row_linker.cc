#include "row_linker.h"

#include <algorithm>

namespace quiver {

namespace {

// The lists of one level of a graph that is being built.
class GrowingLists {
 public:
  GrowingLists(faiss::HNSW& hnsw, int level)
      : hnsw_(hnsw), first_(size_t(hnsw.cum_nb_neighbors(level))), degree_(size_t(hnsw.nb_neighbors(level))) {}
  size_t degree() const { return degree_; }
  int32_t* of(uint32_t row) const { return &hnsw_.neighbors[hnsw_.offsets[row] + first_]; }

 private:
  faiss::HNSW& hnsw_;
  size_t first_;
  size_t degree_;
};

int32_t load_link(const int32_t& link) { return __atomic_load_n(&link, __ATOMIC_RELAXED); }

// Others may read the list meanwhile, and need no particular order.
void store_link(int32_t& link, int32_t row) { __atomic_store_n(&link, row, __ATOMIC_RELAXED); }

bool nearer(const PoolEntry& a, const PoolEntry& b) { return a.key > b.key; }

}  // namespace

void choose_links(const RowStore& rows, std::vector<PoolEntry>& candidates, size_t links_max) {
  if (candidates.size() < links_max) return;
  size_t chosen = 0;
  for (size_t i = 0; i < candidates.size() && chosen < links_max; i++) {
    const uint32_t row = candidates[i].row();
    const RowMeta& meta = rows.meta(row);
    const int32_t offset = 128 * rows.code_sum(row);
    bool good = true;
    for (size_t j = 0; j < chosen && good; j++) {
      const uint32_t other = candidates[j].row();
      const RowMeta& other_meta = rows.meta(other);
      const int32_t product = rows.kernels.dot_code_pair(rows.code(other), rows.code(row), rows.padded);
      const float dot = other_meta.scale * meta.scale * float(product - offset);
      const float key = rows.metric == Metric::kL2 ? dot - meta.norm - other_meta.norm : dot;
      good = key <= candidates[i].key;
    }
    if (good) candidates[chosen++] = candidates[i];
  }
  candidates.resize(chosen);
}

void RowQuery::set(uint32_t row) {
  const uint8_t* code = rows_.code(row);
  for (size_t j = 0; j < code_.size(); j++) code_[j] = int8_t(int(code[j]) - 128);
  offset_ = 128 * rows_.code_sum(row);
  meta_ = rows_.meta(row);
}

RowLinker::RowLinker(const RowStore& rows, GrowingGraph& graph, size_t effort)
    : rows_(rows),
      graph_(graph),
      effort_(effort),
      query_(rows),
      scorer_(rows, query_),
      other_query_(rows),
      other_scorer_(rows, other_query_) {}

void RowLinker::link(uint32_t row) {
  faiss::HNSW& hnsw = graph_.hnsw;
  const int row_level = hnsw.levels[row] - 1;
  int entry, level;
  {
    std::lock_guard<std::mutex> guard(graph_.entry_lock);
    entry = hnsw.entry_point;
    level = hnsw.max_level;
    if (entry < 0) {
      hnsw.max_level = row_level;
      hnsw.entry_point = int32_t(row);
      return;
    }
  }
  query_.set(row);
  scorer_.near_rows[0] = uint32_t(entry);
  scorer_.score(1);
  PoolEntry nearest{scorer_.keys[0], uint32_t(entry)};
  for (; level > row_level; level--) nearest = descend(nearest, level);
  for (; level >= 0; level--) link_at(row, nearest, level);
  // Only now, so that nobody starts at a row without links.
  std::lock_guard<std::mutex> guard(graph_.entry_lock);
  if (row_level > hnsw.max_level) {
    hnsw.max_level = row_level;
    hnsw.entry_point = int32_t(row);
  }
}

PoolEntry RowLinker::descend(PoolEntry from, int level) {
  const GrowingLists lists(graph_.hnsw, level);
  for (;;) {
    const int32_t* list = lists.of(from.row());
    size_t count = 0;
    for (int32_t link; count < lists.degree() && (link = load_link(list[count])) >= 0; count++) {
      scorer_.near_rows[count] = uint32_t(link);
    }
    scorer_.score(count);
    const PoolEntry before = from;
    for (size_t j = 0; j < count; j++) {
      if (scorer_.keys[j] > from.key) from = {scorer_.keys[j], scorer_.near_rows[j]};
    }
    if (from.marked_row == before.marked_row) return from;
  }
}

void RowLinker::link_at(uint32_t row, PoolEntry start, int level) {
  const GrowingLists lists(graph_.hnsw, level);
  WalkScratch& scratch = WalkScratch::of_this_thread();
  const WalkResult result = walk_level<FixedPool>(lists, graph_.hnsw.levels.size(), start, scorer_,
                                                  [](uint32_t) { return true; }, {effort_, effort_}, row, scratch);
  found_.assign(scratch.pool.begin(), scratch.pool.begin() + ptrdiff_t(result.entries));
  choose_links(rows_, found_, lists.degree());
  // Farthest first, as FAISS does.
  std::reverse(found_.begin(), found_.end());
  for (const PoolEntry& entry : found_) add_link(int32_t(row), int32_t(entry.row()), level);
  for (const PoolEntry& entry : found_) add_link(int32_t(entry.row()), int32_t(row), level);
}

void RowLinker::add_link(int32_t from, int32_t to, int level) {
  const GrowingLists lists(graph_.hnsw, level);
  int32_t* list = lists.of(uint32_t(from));
  std::lock_guard<std::mutex> guard(graph_.lock_of(from));
  size_t count = 0;
  // It may be there: two rows that are added at the same time may each choose the other.
  for (; count < lists.degree() && load_link(list[count]) >= 0; count++) {
    if (load_link(list[count]) == to) return;
  }
  if (count < lists.degree()) {
    store_link(list[count], to);
    return;
  }
  other_query_.set(uint32_t(from));
  others_.clear();
  const auto score = [&](size_t scored) {
    other_scorer_.score(scored);
    for (size_t j = 0; j < scored; j++) others_.push_back({other_scorer_.keys[j], other_scorer_.near_rows[j]});
  };
  for (size_t j = 0; j < count; j++) other_scorer_.near_rows[j] = uint32_t(load_link(list[j]));
  score(count);
  other_scorer_.near_rows[0] = uint32_t(to);
  score(1);
  std::sort(others_.begin(), others_.end(), nearer);
  choose_links(rows_, others_, lists.degree());
  size_t end = 0;
  for (size_t j = others_.size(); j-- > 0;) store_link(list[end++], int32_t(others_[j].row()));
  for (; end < lists.degree(); end++) store_link(list[end], -1);
}

}  // namespace quiver
