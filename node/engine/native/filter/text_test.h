#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "filter_words.h"
#include "lists/text_signature.h"

namespace quiver {

class CaseFold;

/**
 * What a filter asks of a text, given the key of the text in a StringDictionary (shared/contract/shard/value-key.ts).
 * Of a long text a key has the beginning alone, which may not be enough to know. node/engine/filter/text-test.ts says
 * what each test means.
 */
class TextTest {
 public:
  // The numbers are those of node/engine/filter/filter-program.ts.
  enum class Kind : uint32_t { kPrefix, kContains, kLike };
  enum class Answer { kNo, kYes, kUnknown };

  // In the pattern of kLike: one character, whatever it is, and any number of them.
  static constexpr uint32_t kOne = 0x10000, kMany = 0x10001;

  TextTest() = default;
  // `pattern`: code units, folded if the test `folds`. Throws std::invalid_argument if the table for that is not
  // installed.
  TextTest(Kind kind, bool folds, std::vector<uint32_t> pattern);

  Answer of(const Characters& key) const;

  // Whether it asks for a beginning, in the very characters: what is sorted answers that.
  bool is_plain_prefix() const { return kind_ == Kind::kPrefix && fold_ == nullptr; }
  // The pattern of such a one.
  Characters prefix() const { return {reinterpret_cast<const uint8_t*>(units_.data()), uint32_t(units_.size()), true}; }
  // Whether the beginning of a long text is enough.
  bool is_always_known() const { return kind_ == Kind::kPrefix; }
  // What the signature of every text that passes has, at least.
  const TextSignature& needed() const { return needed_; }

 private:
  template <class At>
  Answer answer(const At& at, uint32_t count, bool is_long) const;
  template <class At>
  bool begins(const At& at, uint32_t count) const;
  template <class At>
  bool contains(const At& at, uint32_t count) const;
  template <class At>
  bool is_like(const At& at, uint32_t count) const;

  Kind kind_ = Kind::kPrefix;
  // Null: characters are compared as they are.
  const CaseFold* fold_ = nullptr;
  std::vector<uint32_t> pattern_;
  // The same of kPrefix and kContains, and whether all fit into a byte.
  std::vector<uint16_t> units_;
  std::vector<uint8_t> bytes_;
  bool is_narrow_ = false;
  TextSignature needed_;
};

}  // namespace quiver
