#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "dictionary_keys.h"
#include "fact_column.h"
#include "heap.h"
#include "posting.h"
#include "text_signature.h"
#include "text_time.h"

namespace quiver {

enum class RangeOperator { kGt, kGte, kLt, kLte };

inline bool in_range(int comparison, RangeOperator range) {
  switch (range) {
    case RangeOperator::kGt:
      return comparison > 0;
    case RangeOperator::kGte:
      return comparison >= 0;
    case RangeOperator::kLt:
      return comparison < 0;
    case RangeOperator::kLte:
      break;
  }
  return comparison <= 0;
}

/**
 * The values of one type under one path: value → the slots that have it. A value has a number (id), by which its key
 * and its posting are kept; ids of values that no slot has any more are used again. One writer; `find`, `size`,
 * `limit`, `for_each_in_range` and `range_steps` for readers on any thread, as for a Posting.
 *
 * Keys are found through a table of ids (linear probing: Knuth, TAOCP 3, 6.4, algorithm L), which is made when there
 * are more than a few. What grows is copied, and the copy published.
 */
template <class Keys>
class ValueDictionary {
 public:
  using Key = typename Keys::Key;

  explicit ValueDictionary(Heap& heap) : heap_(heap) {}
  // When no reader is left.
  ~ValueDictionary() {
    Entries* entries = entries_.load(std::memory_order_relaxed);
    for (uint32_t id = 0; id < limit_.load(std::memory_order_relaxed); id++) {
      if (keeps_postings) free_slots(heap_, entries->posting(id));
      Keys::release(heap_, entries->key(id).load(std::memory_order_relaxed));
    }
    if (entries != nullptr) heap_.release(entries, Entries::bytes(entries->capacity));
    Probes* probes = probes_.load(std::memory_order_relaxed);
    if (probes != nullptr) heap_.release(probes, Probes::bytes(probes->mask + 1));
    Order* order = order_.load(std::memory_order_relaxed);
    if (order != nullptr) free_order(order, true);
    delete facts_.load(std::memory_order_relaxed);
  }
  ValueDictionary(const ValueDictionary&) = delete;
  ValueDictionary& operator=(const ValueDictionary&) = delete;

  // False: the postings are words of the owner's own, which are never 0 while their key is in use.
  bool keeps_postings = true;

  // Number of distinct values.
  uint32_t size() const { return size_.load(std::memory_order_relaxed); }
  // Of these, the strings of which a key has the beginning alone.
  uint32_t long_count() const { return long_count_.load(std::memory_order_relaxed); }
  // Above every id.
  uint32_t limit() const { return limit_.load(std::memory_order_acquire); }

  // The posting of a value; null if there is none.
  const Posting* find(const Key& key) const {
    const int64_t id = id_of(key);
    return id < 0 ? nullptr : &entries_.load()->posting(uint32_t(id));
  }

  /// Calls visit(posting) for every value on the right side of the bound.
  template <class Visit>
  void for_each_in_range(RangeOperator range, const Key& bound, const Visit& visit) const {
    const Order* order = order_.load();
    const uint32_t limit = limit_.load(std::memory_order_acquire);
    const Entries* entries = entries_.load();
    if (entries == nullptr) return;
    const bool from_below = range == RangeOperator::kLt || range == RangeOperator::kLte;
    const bool strictly = range == RangeOperator::kLt || range == RangeOperator::kGte;
    for (uint32_t i = 0; order != nullptr && i < order->runs; i++) {
      const Run& run = *order->run(i);
      const uint32_t split = split_of(*entries, run, bound, strictly);
      for (uint32_t at = from_below ? 0 : split, end = from_below ? split : run.length; at < end; at++) {
        visit(entries->posting(run.id(at)));
      }
    }
    for (uint32_t id = order == nullptr ? 0 : order->covered; id < limit; id++) {
      const Posting& posting = entries->posting(id);
      if (posting.load(std::memory_order_acquire) == 0) continue;
      if (in_range(Keys::compare(entries->key(id).load(std::memory_order_acquire), bound), range)) visit(posting);
    }
  }

  /**
   * Calls visit(posting) for every value of which place(stored key) is 0. It is below 0 for keys that come before those
   * in their order, and above 0 for those that come after them.
   */
  template <class Place, class Visit>
  void for_each_at(const Place& place, const Visit& visit) const {
    const Order* order = order_.load();
    const uint32_t limit = limit_.load(std::memory_order_acquire);
    const Entries* entries = entries_.load();
    if (entries == nullptr) return;
    const auto place_of = [&](uint32_t id) { return place(entries->key(id).load(std::memory_order_acquire)); };
    for (uint32_t i = 0; order != nullptr && i < order->runs; i++) {
      const Run& run = *order->run(i);
      const uint32_t first = first_of(run, 0, [&](uint32_t id) { return place_of(id) >= 0; });
      const uint32_t end = first_of(run, first, [&](uint32_t id) { return place_of(id) > 0; });
      for (uint32_t at = first; at < end; at++) visit(entries->posting(run.id(at)));
    }
    for (uint32_t id = order == nullptr ? 0 : order->covered; id < limit; id++) {
      const Posting& posting = entries->posting(id);
      if (posting.load(std::memory_order_acquire) != 0 && place_of(id) == 0) visit(posting);
    }
  }

  /// Calls visit(posting) for every string that begins with the prefix.
  template <class Visit>
  void for_each_beginning(const Key& prefix, const Visit& visit) const {
    for_each_at([&](uint64_t stored) { return Keys::compare_beginning(stored, prefix); }, visit);
  }

  /// Calls visit(posting) for every value from `low` to `high`.
  template <class Visit>
  void for_each_between(const Key& low, const Key& high, const Visit& visit) const {
    const auto place = [&](uint64_t stored) {
      return Keys::compare(stored, low) < 0 ? -1 : Keys::compare(stored, high) > 0 ? 1 : 0;
    };
    for_each_at(place, visit);
  }

  /// Calls visit(posting) for every value that is none of the keys.
  template <class Visit>
  void for_each_but(const std::vector<Key>& keys, const Visit& visit) const {
    std::vector<uint32_t> known;
    for (const Key& key : keys) {
      const int64_t id = id_of(key);
      if (id >= 0) known.push_back(uint32_t(id));
    }
    std::sort(known.begin(), known.end());
    const uint32_t limit = limit_.load(std::memory_order_acquire);
    const Entries* entries = entries_.load();
    if (entries == nullptr) return;
    auto next = known.begin();
    for (uint32_t id = 0; id < limit; id++) {
      while (next != known.end() && *next < id) next++;
      if (next != known.end() && *next == id) continue;
      const Posting& posting = entries->posting(id);
      if (posting.load(std::memory_order_acquire) != 0) visit(posting);
    }
  }

  // What is known of strings besides their slots, made when it is first asked for.
  struct Facts {
    explicit Facts(Heap& heap) : signatures(heap), times(heap) {}
    FactColumn<TextSignature> signatures;
    FactColumn<TextTime> times;
  };
  // Any thread: null if nobody asked.
  const Facts* facts() const { return facts_.load(); }

  /// Calls visit(key, posting) for every value, but for those whose fact there says that they don't pass.
  template <class Fact, class Passes, class Visit>
  void for_each_likely(const FactColumn<Fact>* column, const Passes& passes, const Visit& visit) const {
    const auto* facts = column == nullptr ? nullptr : column->facts();
    const uint32_t limit = limit_.load(std::memory_order_acquire);
    const Entries* entries = entries_.load();
    if (entries == nullptr) return;
    const auto look = [&](uint32_t id) {
      const Posting& posting = entries->posting(id);
      if (posting.load(std::memory_order_acquire) == 0) return;
      visit(Keys::key_of(entries->key(id).load(std::memory_order_acquire)), posting);
    };
    const uint32_t covered = facts == nullptr ? 0 : std::min(limit, facts->covered());
    for (uint32_t id = 0; id < covered; id++) {
      if (passes(facts->at(id))) look(id);
    }
    for (uint32_t id = covered; id < limit; id++) look(id);
  }

  // How many values for_each_likely has to look at whatever the facts are.
  template <class Fact>
  uint32_t unlikely_from(const FactColumn<Fact>* column) const {
    const auto* facts = column == nullptr ? nullptr : column->facts();
    return limit() - (facts == nullptr ? 0 : std::min(limit(), facts->covered()));
  }

  /**
   * Makes up to so many more facts of a column of `facts`, if there are many values: by `make(key)`. Answers whether
   * there is more to do.
   */
  template <class Fact, class Make>
  bool make_facts(FactColumn<Fact> Facts::*column, uint32_t count, const Make& make) {
    Facts* facts = facts_.load(std::memory_order_relaxed);
    if (facts == nullptr && size() <= kTestedMax) return false;
    if (facts == nullptr) facts_.store(facts = new Facts(heap_));
    const Entries& entries = *entries_.load(std::memory_order_relaxed);
    const auto make_one = [&](uint32_t id) {
      const uint64_t stored = entries.key(id).load(std::memory_order_relaxed);
      return stored == 0 ? Fact::unknown() : make(Keys::key_of(stored));
    };
    return (facts->*column).make_some(limit_.load(std::memory_order_relaxed), count, make_one) >= kTestedMax;
  }

  // Values that for_each_in_range has to compare one by one.
  uint32_t range_steps() const {
    const Order* order = order_.load();
    return limit() - (order == nullptr ? 0 : order->covered);
  }

  /**
   * Sorts a part of the keys if there are many, so that the first range over a million strings takes no second at once:
   * at most kRunMax. Identifiers that nobody compares cost nothing. Answers whether there is more to do.
   */
  bool sort_some() {
    Order* order = order_.load(std::memory_order_relaxed);
    const uint32_t limit = limit_.load(std::memory_order_relaxed);
    if (order == nullptr) {
      if (size() <= kTestedMax) return false;
      // Keys in a run stay in place, so from here on ids are not used again.
      retired_ids_.insert(retired_ids_.end(), free_ids_.begin(), free_ids_.end());
      free_ids_.clear();
    }
    const uint32_t covered = order == nullptr ? 0 : order->covered;
    if (limit - covered < kTestedMax) return false;
    const uint32_t next = std::min(limit, covered + kRunMax);
    const Entries& entries = *entries_.load(std::memory_order_relaxed);
    std::vector<uint32_t> ids;
    for (uint32_t id = covered; id < next; id++) {
      if (entries.posting(id).load(std::memory_order_relaxed) != 0) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) {
      return Keys::compare(entries.key(a).load(std::memory_order_relaxed),
                           Keys::key_of(entries.key(b).load(std::memory_order_relaxed))) < 0;
    });
    Run* run = static_cast<Run*>(heap_.allocate(Run::bytes(uint32_t(ids.size()))));
    run->length = uint32_t(ids.size());
    if (!ids.empty()) std::memcpy(run + 1, ids.data(), ids.size() * sizeof(uint32_t));
    const uint32_t runs = order == nullptr ? 0 : order->runs;
    Order* grown = static_cast<Order*>(heap_.allocate(Order::bytes(runs + 1)));
    if (order != nullptr) std::memcpy(static_cast<void*>(grown + 1), order + 1, runs * sizeof(Run*));
    grown->covered = next;
    grown->runs = runs + 1;
    grown->run(runs) = run;
    order_.store(grown);
    if (order != nullptr) heap_.retire(order, Order::bytes(runs));
    return limit - next >= kTestedMax;
  }

  // Answers whether the value is new.
  bool add(const Key& key, uint32_t slot) {
    bool is_new;
    add_slot(heap_, posting_for(key, is_new), slot);
    if (is_new) list(key);
    return is_new;
  }

  // Answers whether no slot has the value any more.
  bool remove(const Key& key, uint32_t slot) {
    const int64_t id = id_of(key);
    if (id < 0) return false;
    Posting& posting = entries_.load(std::memory_order_relaxed)->posting(uint32_t(id));
    remove_slot(heap_, posting, slot);
    if (posting.load(std::memory_order_relaxed) != 0) return false;
    release(uint32_t(id));
    return true;
  }

  // Sets the whole posting of a value, by `change(posting)`; answers whether the value is new.
  template <class Change>
  bool put(const Key& key, const Change& change) {
    bool is_new;
    change(posting_for(key, is_new));
    if (is_new) list(key);
    return is_new;
  }

  // Forgets a value, whose posting is the caller's.
  void forget(const Key& key) {
    const int64_t id = id_of(key);
    if (id < 0) return;
    entries_.load(std::memory_order_relaxed)->posting(uint32_t(id)).store(0);
    release(uint32_t(id));
  }

  // Changes every posting by `change(posting)`; answers how many values are gone afterwards. Writer's thread.
  template <class Change>
  uint32_t change_all(const Change& change) {
    uint32_t gone = 0;
    for (uint32_t id = 0; id < limit_.load(std::memory_order_relaxed); id++) {
      Posting& posting = entries_.load(std::memory_order_relaxed)->posting(id);
      if (posting.load(std::memory_order_relaxed) == 0) continue;
      change(posting);
      if (posting.load(std::memory_order_relaxed) != 0) continue;
      release(id);
      gone++;
    }
    return gone;
  }

  // Calls visit(key, posting) for up to `count` values with an id from `from` on. Answers the id to continue with, or
  // −1. A walk over all pages visits values that keep a slot all the time once. Writer's thread.
  template <class Visit>
  int64_t page(uint32_t from, uint32_t count, const Visit& visit) const {
    uint32_t id = from;
    const Entries* entries = entries_.load(std::memory_order_relaxed);
    const uint32_t limit = limit_.load(std::memory_order_relaxed);
    for (; id < limit && count > 0; id++) {
      if (entries->posting(id).load(std::memory_order_relaxed) == 0) continue;
      visit(Keys::key_of(entries->key(id).load(std::memory_order_relaxed)), PostingView(entries->posting(id)));
      count--;
    }
    return id < limit ? int64_t(id) : -1;
  }

 private:
  struct Entries;
  struct Run;
  struct Order;

 public:
  // The values in the order of their keys, or the other way round; a bound is the first or what comes before the first.
  // Writer's thread, and nothing may change the dictionary while it lives.
  class Walk {
   public:
    struct Bound {
      const Key& key;
      bool included;
    };

    Walk(const ValueDictionary& values, bool descending, const std::optional<Bound>& from)
        : entries_(values.entries_.load(std::memory_order_relaxed)), descending_(descending) {
      if (entries_ == nullptr) return;
      const Order* order = values.order_.load(std::memory_order_relaxed);
      const auto is_above = [&](uint32_t id, bool included) {
        const int comparison = Keys::compare(key_word(id), from->key);
        return comparison > 0 || (included && comparison == 0);
      };
      for (uint32_t i = 0; order != nullptr && i < order->runs; i++) {
        const Run* run = order->run(i);
        const auto is_behind = [&](uint32_t id) { return is_above(id, descending != from->included); };
        const uint32_t split = !from ? descending ? run->length : 0 : first_of(*run, 0, is_behind);
        if (!descending) add(run, split);
        else if (split > 0) add(run, split - 1);
      }
      const uint32_t limit = values.limit_.load(std::memory_order_relaxed);
      for (uint32_t id = order == nullptr ? 0 : order->covered; id < limit; id++) {
        if (is_alive(id) && (!from || is_above(id, descending != from->included) != descending))
          heads_.push_back({key_word(id), id, 0, nullptr});
      }
      std::make_heap(heads_.begin(), heads_.end(), comes_later());
    }

    bool at_end() const { return heads_.empty(); }
    Key key() const { return Keys::key_of(heads_.front().key); }
    PostingView posting() const { return PostingView(entries_->posting(heads_.front().id)); }
    void next() {
      std::pop_heap(heads_.begin(), heads_.end(), comes_later());
      const Head last = heads_.back();
      heads_.pop_back();
      if (last.run == nullptr || (descending_ && last.place == 0)) return;
      if (add(last.run, descending_ ? last.place - 1 : last.place + 1))
        std::push_heap(heads_.begin(), heads_.end(), comes_later());
    }

   private:
    // The next value of a run, or one that is in none.
    struct Head {
      uint64_t key;
      uint32_t id;
      uint32_t place;
      const Run* run;
    };
    // A heap has what is greatest by this first.
    auto comes_later() const {
      return [descending = descending_](const Head& a, const Head& b) {
        const int comparison = Keys::compare(a.key, Keys::key_of(b.key));
        return descending ? comparison < 0 : comparison > 0;
      };
    }

    uint64_t key_word(uint32_t id) const { return entries_->key(id).load(std::memory_order_relaxed); }
    bool is_alive(uint32_t id) const { return entries_->posting(id).load(std::memory_order_relaxed) != 0; }
    bool add(const Run* run, uint32_t place) {
      while (place < run->length && !is_alive(run->id(place))) {
        if (descending_ && place == 0) return false;
        descending_ ? place-- : place++;
      }
      if (place >= run->length) return false;
      const uint32_t id = run->id(place);
      heads_.push_back({key_word(id), id, place, run});
      return true;
    }

    const Entries* const entries_;
    const bool descending_;
    std::vector<Head> heads_;
  };

 private:
  // Up to this many keys are searched one by one: metadata with many rare keys make very many small dictionaries.
  static constexpr uint32_t kFewMax = 8;
  // Fewer keys than this are tested one by one for a range; more are sorted.
  static constexpr uint32_t kTestedMax = 4'096;
  // Keys sorted at once: some milliseconds for strings.
  static constexpr uint32_t kRunMax = 32'768;
  static constexpr uint32_t kGone = UINT32_MAX;

  // Keys, then postings, by id.
  struct Entries {
    uint32_t capacity;
    uint32_t padding;

    std::atomic<uint64_t>& key(uint32_t id) const { return words()[id]; }
    Posting& posting(uint32_t id) const { return words()[capacity + id]; }
    std::atomic<uint64_t>* words() const {
      return reinterpret_cast<std::atomic<uint64_t>*>(const_cast<Entries*>(this) + 1);
    }
    static size_t bytes(uint32_t capacity) { return sizeof(Entries) + size_t(capacity) * 16; }
  };
  // id + 1 by hash; 0 where empty, kGone where one was.
  struct Probes {
    uint32_t mask;
    // Of the places, those that are not empty.
    uint32_t used;

    std::atomic<uint32_t>& at(uint32_t i) const {
      return reinterpret_cast<std::atomic<uint32_t>*>(const_cast<Probes*>(this) + 1)[i];
    }
    static size_t bytes(size_t capacity) { return sizeof(Probes) + capacity * 4; }
  };
  // Ids in the order of their keys; never changed.
  struct Run {
    uint32_t length;

    uint32_t id(uint32_t i) const { return reinterpret_cast<const uint32_t*>(this + 1)[i]; }
    static size_t bytes(uint32_t length) { return sizeof(Run) + size_t(length) * 4; }
  };
  // Runs that hold all ids below `covered`.
  struct Order {
    uint32_t covered;
    uint32_t runs;

    Run*& run(uint32_t i) const { return reinterpret_cast<Run**>(const_cast<Order*>(this) + 1)[i]; }
    static size_t bytes(uint32_t runs) { return sizeof(Order) + size_t(runs) * sizeof(Run*); }
  };

  int64_t id_of(const Key& key) const {
    const Probes* probes = probes_.load();
    if (probes == nullptr) {
      const uint32_t limit = limit_.load(std::memory_order_acquire);
      const Entries* entries = entries_.load();
      for (uint32_t id = 0; id < limit; id++) if (is_at(*entries, id, key)) return id;
      return -1;
    }
    for (uint32_t at = Keys::hash(key) & probes->mask;; at = (at + 1) & probes->mask) {
      const uint32_t found = probes->at(at).load(std::memory_order_acquire);
      if (found == 0) return -1;
      // The entries as of now: those of an id are there before it is.
      if (found != kGone && is_at(*entries_.load(), found - 1, key)) return found - 1;
    }
  }

  static bool is_at(const Entries& entries, uint32_t id, const Key& key) {
    return entries.posting(id).load(std::memory_order_acquire) != 0 &&
           Keys::equal(entries.key(id).load(std::memory_order_acquire), key);
  }

  // How many ids of the run have a key below the bound, or at most the bound if `strictly` is false.
  static uint32_t split_of(const Entries& entries, const Run& run, const Key& bound, bool strictly) {
    uint32_t from = 0, to = run.length;
    while (from < to) {
      const uint32_t middle = (from + to) / 2;
      const int comparison = Keys::compare(entries.key(run.id(middle)).load(std::memory_order_acquire), bound);
      if (comparison < 0 || (!strictly && comparison == 0)) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  // The first place of a run, from `from` on, whose id passes; those that pass come last.
  template <class Passes>
  static uint32_t first_of(const Run& run, uint32_t from, const Passes& passes) {
    uint32_t to = run.length;
    while (from < to) {
      const uint32_t middle = (from + to) / 2;
      if (passes(run.id(middle))) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  // The posting of a value. One that is new is empty, and readers find it after `list`.
  Posting& posting_for(const Key& key, bool& is_new) {
    const int64_t known = id_of(key);
    is_new = known < 0;
    if (!is_new) return entries_.load(std::memory_order_relaxed)->posting(uint32_t(known));
    const uint32_t limit = limit_.load(std::memory_order_relaxed);
    Entries* entries = entries_.load(std::memory_order_relaxed);
    if (free_ids_.empty() && (entries == nullptr || limit == entries->capacity)) entries = grow(entries);
    fresh_ = free_ids_.empty() ? limit : free_ids_.back();
    if (!free_ids_.empty()) free_ids_.pop_back();
    Facts* facts = facts_.load(std::memory_order_relaxed);
    if (facts != nullptr) {
      facts->signatures.forget(fresh_);
      facts->times.forget(fresh_);
    }
    entries->key(fresh_).store(Keys::store(heap_, key), std::memory_order_release);
    return entries->posting(fresh_);
  }

  void list(const Key& key) {
    const uint32_t limit = limit_.load(std::memory_order_relaxed);
    if (fresh_ == limit) limit_.store(limit + 1, std::memory_order_release);
    const uint32_t size = size_.load(std::memory_order_relaxed) + 1;
    size_.store(size, std::memory_order_relaxed);
    if (Keys::is_long(key)) long_count_.fetch_add(1, std::memory_order_relaxed);
    Probes* probes = probes_.load(std::memory_order_relaxed);
    if (probes == nullptr ? limit_.load(std::memory_order_relaxed) <= kFewMax : false) return;
    if (probes == nullptr || (probes->used + 1) * 5 > (probes->mask + 1) * 3) {
      make_probes();
      return;
    }
    insert(*probes, Keys::hash(key), fresh_);
  }

  static void insert(Probes& probes, uint32_t hash, uint32_t id) {
    uint32_t at = hash & probes.mask;
    while (probes.at(at).load(std::memory_order_relaxed) != 0) at = (at + 1) & probes.mask;
    probes.at(at).store(id + 1, std::memory_order_release);
    probes.used++;
  }

  // A table of the values that there are, with room for as many more.
  void make_probes() {
    uint32_t capacity = 16;
    while (uint64_t(capacity) * 3 < uint64_t(size()) * 10) capacity *= 2;
    Probes* probes = static_cast<Probes*>(heap_.allocate(Probes::bytes(capacity)));
    probes->mask = capacity - 1;
    const Entries& entries = *entries_.load(std::memory_order_relaxed);
    for (uint32_t id = 0; id < limit_.load(std::memory_order_relaxed); id++) {
      if (entries.posting(id).load(std::memory_order_relaxed) == 0) continue;
      insert(*probes, Keys::stored_hash(entries.key(id).load(std::memory_order_relaxed)), id);
    }
    Probes* before = probes_.load(std::memory_order_relaxed);
    probes_.store(probes);
    if (before != nullptr) heap_.retire(before, Probes::bytes(before->mask + 1));
  }

  Entries* grow(Entries* before) {
    const uint32_t capacity = before == nullptr ? 1 : before->capacity + std::max(1u, before->capacity / 2);
    Entries* entries = static_cast<Entries*>(heap_.allocate(Entries::bytes(capacity)));
    entries->capacity = capacity;
    if (before != nullptr) {
      std::memcpy(static_cast<void*>(entries->words()), before->words(), size_t(before->capacity) * 8);
      std::memcpy(static_cast<void*>(entries->words() + capacity), before->words() + before->capacity,
                  size_t(before->capacity) * 8);
    }
    entries_.store(entries);
    if (before != nullptr) heap_.retire(before, Entries::bytes(before->capacity));
    return entries;
  }

  // Gives up the id of a value without slots.
  void release(uint32_t id) {
    size_.store(size_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    std::atomic<uint64_t>& key = entries_.load(std::memory_order_relaxed)->key(id);
    if (Keys::is_long(Keys::key_of(key.load(std::memory_order_relaxed))))
      long_count_.fetch_sub(1, std::memory_order_relaxed);
    Probes* probes = probes_.load(std::memory_order_relaxed);
    if (probes != nullptr) {
      uint32_t at = Keys::stored_hash(key.load(std::memory_order_relaxed)) & probes->mask;
      while (probes->at(at).load(std::memory_order_relaxed) != id + 1) at = (at + 1) & probes->mask;
      probes->at(at).store(kGone, std::memory_order_release);
    }
    Order* order = order_.load(std::memory_order_relaxed);
    if (order == nullptr) {
      recycle(id);
      return;
    }
    retired_ids_.push_back(id);
    if (retired_ids_.size() <= kTestedMax + size() / 2) return;
    order_.store(nullptr);
    free_order(order, false);
    for (const uint32_t gone : retired_ids_) recycle(gone);
    retired_ids_.clear();
    retired_ids_.shrink_to_fit();
  }

  void recycle(uint32_t id) {
    std::atomic<uint64_t>& key = entries_.load(std::memory_order_relaxed)->key(id);
    const uint64_t stored = key.load(std::memory_order_relaxed);
    key.store(0);
    Keys::retire(heap_, stored);
    free_ids_.push_back(id);
  }

  void free_order(Order* order, bool at_once) {
    const auto drop = [&](void* block, size_t bytes) {
      at_once ? heap_.release(block, bytes) : heap_.retire(block, bytes);
    };
    for (uint32_t i = 0; i < order->runs; i++) drop(order->run(i), Run::bytes(order->run(i)->length));
    drop(order, Order::bytes(order->runs));
  }

  Heap& heap_;
  std::atomic<Entries*> entries_{nullptr};
  std::atomic<Probes*> probes_{nullptr};
  std::atomic<Order*> order_{nullptr};
  std::atomic<Facts*> facts_{nullptr};
  std::atomic<uint32_t> limit_{0};
  std::atomic<uint32_t> size_{0};
  std::atomic<uint32_t> long_count_{0};
  // The id of the value that is about to be listed.
  uint32_t fresh_ = 0;
  std::vector<uint32_t> free_ids_;
  // Ids whose value is gone but whose key an order still needs.
  std::vector<uint32_t> retired_ids_;
};

using NumberDictionary = ValueDictionary<NumberKeys>;
using StringDictionary = ValueDictionary<StringKeys>;

}  // namespace quiver
