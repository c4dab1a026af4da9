#include "remembered_filters.h"

#include <algorithm>
#include <utility>

namespace quiver {

std::shared_ptr<const FoundSlots> RememberedFilters::find(uint64_t index, uint64_t changes, const uint32_t* words,
                                                          size_t count,
                                                          const std::function<std::optional<FoundSlots>()>& make,
                                                          const std::function<bool()>& is_unchanged) {
  // While the index is being changed, nothing is known of how it will be.
  if (changes % 2 != 0) return nullptr;
  Entry& entry = entry_of(index, words, count);
  entry.used_at = ++now_;
  if (entry.changes != changes) {
    forget(entry);
    entry.changes = changes;
    entry.asked = 0;
  }
  if (entry.slots != nullptr) return entry.slots;
  // One that could not be made is not tried each time.
  if (++entry.asked != kAsked) return nullptr;
  std::optional<FoundSlots> found = make();
  if (!found.has_value() || !is_unchanged()) return nullptr;
  const size_t slots = found->count;
  FoundSlots bitmap;
  bitmap.listed = false;
  bitmap.count = slots;
  bitmap.words = std::move(*found).as_bitmap();
  const size_t bytes = bitmap.words.size() * sizeof(uint32_t);
  if (bytes > kBytesMax) return nullptr;
  while (bytes_ + bytes > kBytesMax) {
    forget(*std::min_element(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      const bool has = a.slots != nullptr;
      return has != (b.slots != nullptr) ? has : a.used_at < b.used_at;
    }));
  }
  bytes_ += bytes;
  entry.slots = std::make_shared<const FoundSlots>(std::move(bitmap));
  return entry.slots;
}

RememberedFilters::Entry& RememberedFilters::entry_of(uint64_t index, const uint32_t* words, size_t count) {
  Entry* oldest = &entries_[0];
  for (Entry& entry : entries_) {
    if (entry.index == index && entry.words.size() == count && std::equal(words, words + count, entry.words.begin()))
      return entry;
    if (entry.used_at < oldest->used_at) oldest = &entry;
  }
  forget(*oldest);
  *oldest = Entry();
  oldest->index = index;
  // An odd number: no index has it when it is asked.
  oldest->changes = 1;
  oldest->words.assign(words, words + count);
  return *oldest;
}

void RememberedFilters::forget(Entry& entry) {
  if (entry.slots == nullptr) return;
  entry.asked = 0;
  bytes_ -= entry.slots->words.size() * sizeof(uint32_t);
  entry.slots = nullptr;
}

}  // namespace quiver
