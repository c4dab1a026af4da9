#pragma once

#include <cstdint>

#include "case_fold.h"
#include "filter_words.h"
#include "lists/dictionary_keys.h"
#include "lists/text_signature.h"

namespace quiver {

// A code unit of a text without the difference of cases.
inline uint16_t folded_at(const Characters& text, uint32_t i, const CaseFold& fold) {
  const uint16_t unit = text.at(i);
  if ((unit & 0xfc00) == 0xdc00 && i > 0) {
    const uint16_t before = text.at(i - 1);
    if ((before & 0xfc00) == 0xd800) return fold.low_of(before, unit);
  }
  return fold.unit(unit);
}

// Of a long text, of which a part is not known, all bits are set.
inline TextSignature signature_of(const Characters& key, const CaseFold& fold) {
  if (StringKeys::is_long(key)) return TextSignature::unknown();
  TextSignature signature;
  uint16_t a = 0, b = 0;
  for (uint32_t i = 0; i < key.count; i++) {
    const uint16_t c = folded_at(key, i, fold);
    if (i >= 2) signature.add(a, b, c);
    a = b;
    b = c;
  }
  return signature;
}

}  // namespace quiver
