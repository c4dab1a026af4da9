#include "text_test.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "case_fold.h"
#include "text_keys.h"

namespace quiver {

namespace {

constexpr bool is_high(uint32_t unit) { return (unit & 0xfc00) == 0xd800; }
constexpr bool is_low(uint32_t unit) { return (unit & 0xfc00) == 0xdc00; }

// Code units of a text as they are, and without the difference of cases.
struct Plain {
  const Characters& text;
  uint32_t operator()(uint32_t i) const { return text.at(i); }
};
struct Folded {
  const Characters& text;
  const CaseFold& fold;
  uint32_t operator()(uint32_t i) const { return folded_at(text, i, fold); }
};

// Code units of the character at a place: a surrogate pair has two.
template <class At>
uint32_t character_at(const At& at, uint32_t i, uint32_t count) {
  return i + 1 < count && is_high(at(i)) && is_low(at(i + 1)) ? 2 : 1;
}

}  // namespace

TextTest::TextTest(Kind kind, bool folds, std::vector<uint32_t> pattern) : kind_(kind), pattern_(std::move(pattern)) {
  const CaseFold* fold = CaseFold::installed();
  if (fold == nullptr && (folds || kind != Kind::kPrefix)) throw std::invalid_argument("no table of cases");
  if (folds) fold_ = fold;
  is_narrow_ = true;
  for (const uint32_t unit : pattern_) {
    if (unit > UINT16_MAX && (kind_ != Kind::kLike || unit > kMany)) throw std::invalid_argument("no such character");
    units_.push_back(uint16_t(unit));
    is_narrow_ = is_narrow_ && unit < 256;
  }
  if (is_narrow_) bytes_.assign(pattern_.begin(), pattern_.end());
  if (fold == nullptr) return;
  // The pattern of a test that does not fold is folded for the signature.
  const Characters all{reinterpret_cast<const uint8_t*>(units_.data()), uint32_t(units_.size()), true};
  for (uint32_t i = 0; i + 2 < pattern_.size(); i++) {
    if (std::any_of(pattern_.begin() + i, pattern_.begin() + i + 3, [](uint32_t unit) { return unit > UINT16_MAX; }))
      continue;
    // The half of a character alone is in a text as its whole was folded.
    if (is_low(pattern_[i]) && (i == 0 || !is_high(pattern_[i - 1]))) continue;
    needed_.add(folded_at(all, i, *fold), folded_at(all, i + 1, *fold), folded_at(all, i + 2, *fold));
  }
}

TextTest::Answer TextTest::of(const Characters& key) const {
  const bool is_long = StringKeys::is_long(key);
  const uint32_t count = is_long ? StringKeys::kKeptCharacters : key.count;
  if (fold_ != nullptr) return answer(Folded{key, *fold_}, count, is_long);
  if (!key.wide && kind_ != Kind::kLike) {
    if (!is_narrow_)
      return is_long && (kind_ == Kind::kContains || pattern_.size() > count) ? Answer::kUnknown : Answer::kNo;
    if (kind_ == Kind::kContains) {
      if (bytes_.empty() || memmem(key.data, count, bytes_.data(), bytes_.size()) != nullptr) return Answer::kYes;
      return is_long ? Answer::kUnknown : Answer::kNo;
    }
  }
  return answer(Plain{key}, count, is_long);
}

template <class At>
TextTest::Answer TextTest::answer(const At& at, uint32_t count, bool is_long) const {
  const auto either = [](bool passes) { return passes ? Answer::kYes : Answer::kNo; };
  switch (kind_) {
    case Kind::kPrefix:
      if (is_long && pattern_.size() > count) return Answer::kUnknown;
      return either(begins(at, count));
    case Kind::kContains:
      if (contains(at, count)) return Answer::kYes;
      return is_long ? Answer::kUnknown : Answer::kNo;
    case Kind::kLike:
      break;
  }
  if (!is_long) return either(is_like(at, count));
  // What the pattern begins with, up to its first wildcard, is in the part that is known, or not.
  for (uint32_t i = 0; i < pattern_.size() && i < count && pattern_[i] <= UINT16_MAX; i++) {
    if (at(i) != pattern_[i]) return Answer::kNo;
  }
  // Whatever follows what is known, the last wildcard takes it.
  if (!pattern_.empty() && pattern_.back() == kMany && is_like(at, count)) return Answer::kYes;
  return Answer::kUnknown;
}

template <class At>
bool TextTest::begins(const At& at, uint32_t count) const {
  if (pattern_.size() > count) return false;
  for (uint32_t i = 0; i < pattern_.size(); i++) if (at(i) != pattern_[i]) return false;
  return true;
}

template <class At>
bool TextTest::contains(const At& at, uint32_t count) const {
  const uint32_t length = uint32_t(pattern_.size());
  if (length == 0) return true;
  for (uint32_t from = 0; from + length <= count; from++) {
    if (at(from) != pattern_[0]) continue;
    uint32_t i = 1;
    while (i < length && at(from + i) == pattern_[i]) i++;
    if (i == length) return true;
  }
  return false;
}

// Each `kMany` takes as little as it can, and more where what follows fails: only the last one is tried again, so the
// time is at most that of the text times the pattern.
template <class At>
bool TextTest::is_like(const At& at, uint32_t count) const {
  const uint32_t end = uint32_t(pattern_.size());
  uint32_t text = 0, next = 0, many = UINT32_MAX, tried = 0;
  while (text < count) {
    if (next < end && pattern_[next] == kMany) {
      many = next++;
      tried = text;
    } else if (next < end && pattern_[next] == kOne) {
      text += character_at(at, text, count);
      next++;
    } else if (next < end && pattern_[next] == at(text)) {
      text++;
      next++;
    } else if (many != UINT32_MAX) {
      next = many + 1;
      text = tried += character_at(at, tried, count);
    } else {
      return false;
    }
  }
  while (next < end && pattern_[next] == kMany) next++;
  return next == end;
}

}  // namespace quiver
