#include "link_lists.h"

#include <algorithm>

namespace quiver {

namespace {

void write_list(int32_t* list, size_t degree, const Links& links) {
  size_t end = 0;
  for (size_t j = links.size(); j-- > 0;) store_link(list[end++], int32_t(links[j].row()));
  for (; end < degree; end++) store_link(list[end], -1);
}

}  // namespace

void choose_links(const Codes& codes, Links& candidates, size_t links_max) {
  if (candidates.size() < links_max) return;
  size_t chosen = 0;
  for (size_t i = 0; i < candidates.size() && chosen < links_max; i++) {
    const uint32_t row = candidates[i].row();
    const RowMeta& meta = codes.meta(row);
    const int32_t offset = 128 * codes.code_sum(row);
    bool good = true;
    for (size_t j = 0; j < chosen && good; j++) {
      const uint32_t other = candidates[j].row();
      const RowMeta& other_meta = codes.meta(other);
      const int32_t product = codes.kernels.dot_code_pair(codes.code(other), codes.code(row), codes.padded);
      const float dot = other_meta.scale * meta.scale * float(product - offset);
      const float key = codes.metric == Metric::kL2 ? dot - meta.norm - other_meta.norm : dot;
      good = key <= candidates[i].key;
    }
    if (good) candidates[chosen++] = candidates[i];
  }
  candidates.resize(chosen);
}

size_t LinkWriter::score(const int32_t* list, size_t degree, uint32_t row) {
  size_t count = 0;
  for (int32_t link; count < degree && (link = load_link(list[count])) >= 0; count++) {
    scorer_.near_rows[count] = uint32_t(link);
  }
  query_.set(row);
  scorer_.score(count);
  return count;
}

void LinkWriter::renew_list(int32_t* list, size_t degree, uint32_t row, Links& candidates) {
  const size_t count = score(list, degree, row), near = candidates.size();
  for (size_t j = 0; j < count; j++) {
    const PoolEntry link{scorer_.keys[j], scorer_.near_rows[j]};
    const auto found = candidates.begin() + ptrdiff_t(near);
    if (std::none_of(candidates.begin(), found, [&](const PoolEntry& entry) { return entry.row() == link.row(); })) {
      candidates.push_back(link);
    }
  }
  std::sort(candidates.begin() + ptrdiff_t(near), candidates.end(), nearer);
  std::inplace_merge(candidates.begin(), candidates.begin() + ptrdiff_t(near), candidates.end(), nearer);
  choose(candidates, degree);
  write_list(list, degree, candidates);
}

void LinkWriter::add_to_list(int32_t* list, size_t degree, uint32_t from, uint32_t to) {
  size_t count = 0;
  // It may be there: two rows that are added at the same time may each choose the other.
  for (; count < degree && load_link(list[count]) >= 0; count++) {
    if (load_link(list[count]) == int32_t(to)) return;
  }
  if (count < degree) {
    store_link(list[count], int32_t(to));
    return;
  }
  score(list, degree, from);
  links_.clear();
  for (size_t j = 0; j < count; j++) links_.push_back({scorer_.keys[j], scorer_.near_rows[j]});
  scorer_.near_rows[0] = to;
  scorer_.score(1);
  links_.push_back({scorer_.keys[0], to});
  std::sort(links_.begin(), links_.end(), nearer);
  choose(links_, degree);
  write_list(list, degree, links_);
}

}  // namespace quiver
