#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "field_sources.h"
#include "filter_field.h"
#include "filter_index.h"
#include "filter_words.h"
#include "lists/exact_sum.h"

namespace quiver {

/// A scalar that some slots have under a path: of one kind, so that 1, "1" and true are three.
struct CountedValue {
  ValueKind kind = ValueKind::kNull;
  double number = 0;
  // Points into the index.
  Characters text;
  uint32_t count = 0;
  // One of the slots.
  uint32_t slot = 0;
};

// Numbers, texts, false, true, null: numbers by size, texts by UTF-16 code units. Below 0, 0 or above 0.
int compare_values(const CountedValue& a, const CountedValue& b);

// 128 bits of a value, the same in every process.
std::array<uint64_t, 2> value_hash(const CountedValue& value);

/**
 * Counts what slots have under one path (field_sources.h): all slots of the index, or those of a bitmap. A slot with a
 * value in an array counts once for each distinct value. Writer's thread, and nothing may change the index while it
 * lives.
 */
class FieldCounts {
 public:
  // `bitmap` null: all slots.
  FieldCounts(const FilterIndex& index, const Characters& path, const std::vector<uint32_t>* bitmap);

  // How many of the slots have the path.
  uint64_t present() const;

  struct Wanted {
    bool by_value = false;
    uint32_t limit = 0;
    // Texts that begin so, and nothing else.
    std::optional<Characters> prefix;
    // Values whose hash has this remainder by `parts`.
    uint32_t parts = 1, part = 0;
  };
  struct Values {
    // The first `limit` in the order that is wanted: the greatest counts first and then by value, or by value.
    std::vector<CountedValue> first;
    // The greatest count of the others.
    uint32_t bound = 0;
    uint32_t distinct = 0;
  };
  Values values(const Wanted& wanted) const;

  // How many slots have the value.
  uint32_t count_of(const CountedValue& value) const;

  struct Numbers {
    uint64_t count = 0;
    // Other scalars than numbers and null.
    uint64_t others = 0;
    double min = 0, max = 0;
    ExactSum sum;
  };
  Numbers numbers(bool wants_sum) const;

  // Numbers from `low` to `high`: each with its count if they are no more than `max`, else how many there are in
  // kSpreadParts parts of equal width (spread_part).
  static constexpr uint32_t kSpreadParts = 4'096;
  struct Spread {
    bool is_listed = true;
    std::vector<double> values;
    std::vector<uint32_t> counts;
  };
  Spread spread(double low, double high, uint32_t max) const;

  // Distinct values but null: their hashes up to `max`, beyond that registers of a HyperLogLog.
  static constexpr uint32_t kRegisterBits = 16;
  struct Distinct {
    uint64_t count = 0;
    std::vector<uint64_t> hashes;
    std::vector<uint8_t> registers;
  };
  Distinct distinct(uint32_t max, bool wants_hashes) const;

  // How many slots have a number, or a text that says a time, from each edge to below the next.
  std::vector<uint32_t> buckets(const std::vector<double>& edges, bool of_times) const;
  // The least and the greatest time that texts say, in milliseconds since 1970; NaN if none does.
  std::array<double, 2> times() const;

 private:
  static uint32_t count_in(const FieldSource& source, const PostingView& posting);
  static uint32_t count_in_source(const FieldSource& source, const CountedValue& value);
  static bool any_in(const FieldSource& source, const PostingView& posting);
  // Calls visit(value with its count, posting) for every value that a slot has and wants(value) says.
  template <bool kWithNumbers, class Wants, class Visit>
  void each_value(const Wants& wants, const Visit& visit) const;
  template <class Visit>
  void each_text(const Visit& visit) const;
  template <class Visit>
  void each_number(const Visit& visit) const;
  // Calls visit(number, source, posting).
  template <class Visit>
  void each_measure(bool of_times, const Visit& visit) const;
  // How many slots have a number from each edge to below the next, where no slot has two numbers; empty: one has.
  std::vector<uint32_t> buckets_of_single_numbers(const std::vector<double>& edges) const;

  std::vector<FieldSource> sources_;
};

// The part of a spread in which a number is: the order of doubles, cut into pieces of 2^shift neighbours.
uint64_t number_rank(double number);
uint32_t spread_shift(double low, double high);

}  // namespace quiver
