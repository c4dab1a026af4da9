#include "filter_index.h"

#include <memory>
#include <stdexcept>

namespace quiver {

namespace {

// The key of a field in the table of all: the number of its parent as two characters, then its own.
std::vector<uint16_t> full_key(uint32_t parent, const Characters& key) {
  std::vector<uint16_t> full{uint16_t(parent), uint16_t(parent >> 16)};
  full.reserve(2 + key.count);
  for (uint32_t i = 0; i < key.count; i++) full.push_back(key.at(i));
  return full;
}

}  // namespace

FilterIndex::FilterIndex() { children_.keeps_postings = false; }

FilterIndex::~FilterIndex() {
  for (NumberedField* field : fields_) delete field;
  free_slots(heap_, all_);
}

Characters FilterIndex::characters_of(const std::vector<uint16_t>& key) {
  return {reinterpret_cast<const uint8_t*>(key.data()), uint32_t(key.size()), true};
}

uint32_t FilterIndex::add_field(uint32_t parent, const Characters& key) {
  if (parent != kRoot) field(parent);
  uint32_t number = uint32_t(fields_.size());
  if (free_numbers_.empty()) {
    if (number >= uint32_t(1) << 28) throw std::length_error("a filter index holds at most 2^28 fields");
    fields_.push_back(nullptr);
  } else {
    number = free_numbers_.back();
    free_numbers_.pop_back();
  }
  auto made = std::make_unique<NumberedField>(heap_, number);
  made->key = full_key(parent, key);
  children_.put(characters_of(made->key), [&](Posting& posting) {
    posting.store(reinterpret_cast<uint64_t>(static_cast<FilterField*>(made.get())));
  });
  fields_[number] = made.release();
  entries++;
  return number;
}

void FilterIndex::drop_field(uint32_t number) {
  field(number);
  NumberedField* gone = fields_[number];
  children_.forget(characters_of(gone->key));
  fields_[number] = nullptr;
  free_numbers_.push_back(number);
  entries--;
  heap_.retire(gone, [](void* object) { delete static_cast<NumberedField*>(object); });
}

FilterField& FilterIndex::field(uint32_t number) const {
  if (number >= fields_.size() || fields_[number] == nullptr) throw std::invalid_argument("no such field");
  return *fields_[number];
}

const FilterField* FilterIndex::child_of(const FilterField* parent, const Characters& key) const {
  const std::vector<uint16_t> full =
      full_key(parent == nullptr ? kRoot : static_cast<const NumberedField*>(parent)->number, key);
  const Posting* found = children_.find(characters_of(full));
  return found == nullptr ? nullptr : reinterpret_cast<const FilterField*>(found->load());
}

void FilterIndex::apply(WordReader& words) {
  const Change change_of_lists(*this);
  const uint32_t slot = words.next();
  if (slot >= uint32_t(1) << 30) throw std::invalid_argument("slot out of range");
  const bool puts = words.next() == 1;
  if (!puts) remove_slot(heap_, all_, slot);
  else if (slot >= slot_limit_.load(std::memory_order_relaxed)) slot_limit_.store(slot + 1, std::memory_order_release);
  const auto change = [&](Posting& posting) {
    puts ? add_slot(heap_, posting, slot) : void(remove_slot(heap_, posting, slot));
  };
  while (!words.at_end()) {
    const uint32_t head = words.next();
    FilterField& one = field(head >> 4);
    const bool is_element = (head & 8) != 0;
    if ((head & 7) > uint32_t(ValueKind::kComposite)) throw std::invalid_argument("no such kind of value");
    const ValueKind kind = ValueKind(head & 7);
    if (!is_element) change(one.present);
    switch (kind) {
      case ValueKind::kNone:
        break;
      case ValueKind::kNull:
        change(one.nulls);
        break;
      case ValueKind::kTrue:
        change(one.trues);
        break;
      case ValueKind::kFalse:
        change(one.falses);
        break;
      case ValueKind::kNumber: {
        const double value = words.number();
        if (puts) entries += one.add_number(value, slot, is_element);
        else entries -= one.remove_number(value, slot);
        break;
      }
      case ValueKind::kString:
      case ValueKind::kComposite: {
        std::atomic<StringDictionary*>& dictionary = kind == ValueKind::kString ? one.strings : one.composites;
        const Characters text = words.characters();
        if (puts) entries += one.add_text(dictionary, text, slot);
        else entries -= one.remove_text(dictionary, text, slot);
      }
    }
  }
  // Last, so that who finds the slot among all finds all its values, too.
  if (puts) add_slot(heap_, all_, slot);
  heap_.collect();
}

bool FilterIndex::order_some(uint32_t slots) {
  if (!wants_orders) return false;
  heap_.collect();
  for (NumberedField* one : fields_) {
    if (one == nullptr || !one->wants_order()) continue;
    one->order_some(slots);
    return true;
  }
  return wants_orders = false;
}

void FilterIndex::remove_everywhere(const std::vector<uint32_t>& bitmap) {
  const Change change_of_lists(*this);
  std::vector<uint32_t> left;
  PostingView(all_).for_each([&](uint32_t slot) {
    if (slot / 32 >= bitmap.size() || (bitmap[slot / 32] >> (slot % 32) & 1) == 0) left.push_back(slot);
  });
  set_slots(heap_, all_, left);
  for (FilterField* one : fields_) if (one != nullptr) entries -= one->remove_everywhere(bitmap);
  heap_.collect();
}

}  // namespace quiver
