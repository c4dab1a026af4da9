#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quiver {

/**
 * Texts without the difference of cases, as node/engine/filter/case-fold.ts defines it: one code unit for each.
 * JavaScript knows Unicode, so the table comes from there, once for the process, before the first filter that needs it.
 */
class CaseFold {
 public:
  // `units`: what each of the 65,536 code units becomes; `pairs`: code points beyond them, rising, each followed by
  // what it becomes.
  static void install(const uint16_t* units, const uint32_t* pairs, size_t pair_count);
  // Null before it is installed.
  static const CaseFold* installed();

  uint16_t unit(uint16_t of) const { return units_[of]; }
  // The low half of what a surrogate pair becomes, whose high half stays.
  uint16_t low_of(uint16_t high, uint16_t low) const;

 private:
  std::vector<uint16_t> units_;
  std::vector<uint32_t> pairs_;
};

}  // namespace quiver
