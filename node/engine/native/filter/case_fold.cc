#include "case_fold.h"

#include <atomic>
#include <memory>

namespace quiver {

namespace {

std::atomic<const CaseFold*> the_one{nullptr};

}  // namespace

void CaseFold::install(const uint16_t* units, const uint32_t* pairs, size_t pair_count) {
  if (the_one.load(std::memory_order_acquire) != nullptr) return;
  auto made = std::make_unique<CaseFold>();
  made->units_.assign(units, units + 65'536);
  made->pairs_.assign(pairs, pairs + pair_count * 2);
  const CaseFold* expected = nullptr;
  // Threads may come at the same time with the same table. It stays for the life of the process.
  if (the_one.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) made.release();
}

const CaseFold* CaseFold::installed() { return the_one.load(std::memory_order_acquire); }

uint16_t CaseFold::low_of(uint16_t high, uint16_t low) const {
  const uint32_t point = 0x10000 + ((uint32_t(high) - 0xd800) << 10) + (uint32_t(low) - 0xdc00);
  size_t from = 0, to = pairs_.size() / 2;
  while (from < to) {
    const size_t middle = (from + to) / 2;
    if (pairs_[middle * 2] < point) from = middle + 1;
    else to = middle;
  }
  if (from == pairs_.size() / 2 || pairs_[from * 2] != point) return low;
  return uint16_t(0xdc00 + ((pairs_[from * 2 + 1] - 0x10000) & 0x3ff));
}

}  // namespace quiver
