#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "posting.h"

namespace quiver {

// A filter that takes longer than it may.
struct TakesLong {};

// A set of slots while it is worked on: a posting of the index as it is, a rising list, or a bitmap up to the slot
// limit.
struct Slots {
  enum class Form { kPosting, kList, kBitmap };
  Form form = Form::kList;
  PostingView posting;
  std::vector<uint32_t> words;

  static Slots of(const PostingView& posting) { return {Form::kPosting, posting, {}}; }
  static Slots list(std::vector<uint32_t> slots) { return {Form::kList, {}, std::move(slots)}; }
  static Slots bitmap(std::vector<uint32_t> words) { return {Form::kBitmap, {}, std::move(words)}; }

  bool has(uint32_t slot) const {
    if (form == Form::kPosting) return posting.has(slot);
    if (form == Form::kList) return std::binary_search(words.begin(), words.end(), slot);
    return slot / 32 < words.size() && (words[slot / 32] >> (slot % 32) & 1) != 0;
  }
};

inline size_t popcount(const std::vector<uint32_t>& words) {
  size_t count = 0;
  for (const uint32_t word : words) count += size_t(__builtin_popcount(word));
  return count;
}

/**
 * The operations on sets of slots below a limit, for one evaluation on one thread. Each is paid for in advance, in
 * expected nanoseconds; throws TakesLong when there are none left.
 */
class SlotAlgebra {
 public:
  SlotAlgebra(uint32_t limit, double ns_max)
      : limit(limit), left_ns_(ns_max), bitmap_words_((size_t(limit) + 31) / 32) {}

  // Slots from here on are left out, or may be.
  const uint32_t limit;

  void spend(double ns) {
    left_ns_ -= ns;
    if (left_ns_ < 0) throw TakesLong();
  }

  // Leaves the filter to the writer's thread, unless it is that one.
  void leave() {
    if (left_ns_ < std::numeric_limits<double>::infinity()) throw TakesLong();
  }

  // Slots in any order, each once in the list.
  static Slots list_of(std::vector<uint32_t> slots) {
    std::sort(slots.begin(), slots.end());
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    return Slots::list(std::move(slots));
  }

  // Collects slots that come in any order, each once: a list if there are few, at most so many, else a bitmap.
  class Collection {
   public:
    Collection(SlotAlgebra& algebra, size_t at_most) : algebra_(algebra), is_bitmap_(at_most > algebra.list_max()) {
      if (!is_bitmap_) return;
      algebra_.spend(double(algebra_.bitmap_words_) * kWordNs);
      words_.resize(algebra_.bitmap_words_);
    }
    void add(uint32_t slot) {
      if (slot >= algebra_.limit) return;
      if (is_bitmap_) words_[slot / 32] |= 1u << (slot % 32);
      else words_.push_back(slot);
    }
    Slots finish() {
      // Twice there, if it was removed and put again meanwhile.
      return is_bitmap_ ? Slots::bitmap(std::move(words_)) : list_of(std::move(words_));
    }

   private:
    SlotAlgebra& algebra_;
    const bool is_bitmap_;
    std::vector<uint32_t> words_;
  };

  // Collects postings: a list while the slots are few, a bitmap when they are many.
  class Union {
   public:
    explicit Union(SlotAlgebra& algebra) : algebra_(algebra) {}
    void add(const PostingView& posting) {
      if (is_bitmap_) return posting.or_into(words_);
      const size_t size = posting.size();
      if (words_.size() + size <= algebra_.list_max()) {
        posting.for_each([&](uint32_t slot) { words_.push_back(slot); });
        return;
      }
      std::vector<uint32_t> bitmap(algebra_.bitmap_words_);
      algebra_.or_into(Slots::list(std::move(words_)), bitmap);
      words_ = std::move(bitmap);
      is_bitmap_ = true;
      posting.or_into(words_);
    }
    Slots finish() {
      return is_bitmap_ ? Slots::bitmap(std::move(words_)) : list_of(std::move(words_));
    }

   private:
    SlotAlgebra& algebra_;
    std::vector<uint32_t> words_;
    bool is_bitmap_ = false;
  };

  // A list takes as much memory as a bitmap at this size, and sorting it takes about as long as reading one.
  size_t list_max() const { return 64 + limit / 512; }
  // A posting is in order already.
  size_t sorted_max() const { return 64 + limit / 32; }

  static bool is_empty(const Slots& slots) {
    if (slots.form == Slots::Form::kPosting) return slots.posting.empty();
    if (slots.form == Slots::Form::kList) return slots.words.empty();
    return std::all_of(slots.words.begin(), slots.words.end(), [](uint32_t word) { return word == 0; });
  }

  static size_t size_of(const Slots& slots) {
    if (slots.form == Slots::Form::kPosting) return slots.posting.size();
    return slots.form == Slots::Form::kList ? slots.words.size() : popcount(slots.words);
  }

  bool is_short(const Slots& slots) const {
    return slots.form == Slots::Form::kList ||
           (slots.form == Slots::Form::kPosting && slots.posting.size() <= sorted_max());
  }

  void or_into(const Slots& slots, std::vector<uint32_t>& bitmap) {
    if (slots.form == Slots::Form::kPosting) {
      slots.posting.or_into(bitmap);
    } else if (slots.form == Slots::Form::kList) {
      for (const uint32_t slot : slots.words) if (slot / 32 < bitmap.size()) bitmap[slot / 32] |= 1u << (slot % 32);
    } else {
      for (size_t i = 0; i < bitmap.size(); i++) bitmap[i] |= slots.words[i];
    }
  }

  std::vector<uint32_t> bitmap_of(const PostingView& posting) {
    spend(double(bitmap_words_) * kWordNs + double(std::min(posting.size(), size_t(limit) / 16)) * kSlotNs);
    std::vector<uint32_t> words(bitmap_words_);
    posting.or_into(words);
    return words;
  }

  std::vector<uint32_t> bitmap_of(Slots slots) {
    if (slots.form == Slots::Form::kBitmap) return std::move(slots.words);
    if (slots.form == Slots::Form::kPosting) return bitmap_of(slots.posting);
    spend(double(bitmap_words_) * kWordNs);
    std::vector<uint32_t> words(bitmap_words_);
    or_into(slots, words);
    return words;
  }

  Slots owned(Slots slots) {
    if (slots.form != Slots::Form::kPosting) return slots;
    if (!is_short(slots)) return Slots::bitmap(bitmap_of(slots.posting));
    return kept(std::move(slots), [](uint32_t) { return true; });
  }

  // The slots of a short set that pass the test; of another form, a list too.
  template <class Test>
  Slots kept(Slots slots, const Test& test) {
    spend(double(size_of(slots)) * kSlotNs);
    std::vector<uint32_t> list;
    const auto take = [&](uint32_t slot) {
      if (slot < limit && test(slot)) list.push_back(slot);
    };
    if (slots.form == Slots::Form::kPosting) {
      slots.posting.for_each(take);
    } else if (slots.form == Slots::Form::kList) {
      for (const uint32_t slot : slots.words) take(slot);
    } else {
      for (uint32_t i = 0; i < slots.words.size(); i++) {
        for (uint32_t word = slots.words[i]; word != 0; word &= word - 1) take(i * 32 + uint32_t(__builtin_ctz(word)));
      }
    }
    return Slots::list(std::move(list));
  }

  Slots intersection(Slots a, Slots b) {
    if (!is_short(a) && is_short(b)) std::swap(a, b);
    if (is_short(a)) {
      if (is_short(b) && size_of(b) < size_of(a)) std::swap(a, b);
      return kept(std::move(a), [&](uint32_t slot) { return b.has(slot); });
    }
    std::vector<uint32_t> words = bitmap_of(std::move(a));
    const std::vector<uint32_t> other = bitmap_of(std::move(b));
    for (size_t i = 0; i < words.size(); i++) words[i] &= other[i];
    return Slots::bitmap(std::move(words));
  }

  // The slots of a that are not in b.
  Slots difference(Slots a, Slots b) {
    if (is_short(a)) return kept(std::move(a), [&](uint32_t slot) { return !b.has(slot); });
    std::vector<uint32_t> words = bitmap_of(std::move(a));
    const std::vector<uint32_t> other = bitmap_of(std::move(b));
    for (size_t i = 0; i < words.size(); i++) words[i] &= ~other[i];
    return Slots::bitmap(std::move(words));
  }

  Slots united(std::vector<Slots>& sets, size_t slots) {
    if (sets.size() == 1) return std::move(sets[0]);
    if (slots <= list_max()) {
      std::vector<uint32_t> list;
      for (Slots& set : sets) {
        const Slots one = kept(std::move(set), [](uint32_t) { return true; });
        list.insert(list.end(), one.words.begin(), one.words.end());
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      return Slots::list(std::move(list));
    }
    std::vector<uint32_t> words(bitmap_words_);
    for (const Slots& set : sets) {
      spend(set.form == Slots::Form::kBitmap ? double(bitmap_words_) * kWordNs
                                             : double(std::min(size_of(set), size_t(limit) / 16)) * kSlotNs);
      or_into(set, words);
    }
    return Slots::bitmap(std::move(words));
  }

  std::vector<uint32_t> empty_bitmap() const { return std::vector<uint32_t>(bitmap_words_); }

 private:
  // What parts of the work take, roughly, in nanoseconds on the machine of docs/performance.md. They decide only what
  // is left to the writer's thread.
  static constexpr double kSlotNs = 2, kWordNs = 0.5;

  double left_ns_;
  const size_t bitmap_words_;
};

}  // namespace quiver
