#include "number_column.h"

#include <vector>

namespace quiver {

namespace {

// Slots whose numbers tell where bounds shall be.
constexpr uint32_t kSampledSlots = 4096;

}  // namespace

void NumberColumn::make_bounds() {
  std::vector<double> sample;
  const uint32_t step = std::max<uint32_t>(1, capacity / kSampledSlots);
  for (uint32_t slot = 0; slot < capacity; slot += step) {
    const double number = at(slot).load(std::memory_order_relaxed);
    if (!std::isnan(number)) sample.push_back(number);
  }
  std::sort(sample.begin(), sample.end());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  bounds[0] = -kInfinity;
  for (uint32_t i = 1; i + 1 < kRanks; i++)
    bounds[i] = sample.empty() ? kInfinity : sample[i * sample.size() / (kRanks - 1)];
  bounds[kRanks - 1] = kInfinity;
  has_bounds = 1;
}

}  // namespace quiver
