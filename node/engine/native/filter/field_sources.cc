#include "field_sources.h"

#include "filter_evaluation.h"

namespace quiver {

std::vector<uint32_t> all_slots(const FilterIndex& index) {
  std::vector<uint32_t> words(index.slot_limit() / 32 + 1);
  PostingView(index.all()).or_into(words);
  return words;
}

void clear_bit(std::vector<uint32_t>& words, uint32_t slot) {
  if (slot / 32 < words.size()) words[slot / 32] &= ~(1u << (slot % 32));
}

std::vector<FieldSource> field_sources(const FilterIndex& index, const Characters& path,
                                       const std::vector<uint32_t>* bitmap) {
  std::vector<FieldSource> sources;
  const std::vector<const FilterField*> fields = fields_of(index, path);
  std::vector<uint32_t> left;
  bool is_all = bitmap == nullptr;
  if (bitmap != nullptr) left = *bitmap;
  for (size_t i = 0; i < fields.size(); i++) {
    sources.push_back({fields[i], left, is_all});
    if (i + 1 == fields.size()) break;
    if (is_all) {
      left = all_slots(index);
      is_all = false;
    }
    PostingView(fields[i]->present).for_each([&](uint32_t slot) { clear_bit(left, slot); });
  }
  return sources;
}

}  // namespace quiver
