#pragma once

#include "rows/row_store.h"

namespace quiver {

// What scoring a row of a scan costs: a part per row, and a part per byte of its code. A rough fit to figures of an
// AVX-512 machine (scans and walks of 100,000 × 128 and of text embeddings of 384 dimensions).
constexpr double kScanRowNs = 5, kScanByteNs = 1.0 / 12;
// Looking through a cell costs a part per row that it holds, beside the scan of its allowed rows.
constexpr double kCellRowNs = 2;
// A filter has to do with the vectors if the number of allowed rows that are found is not as expected, by so many
// standard deviations.
constexpr double kChance = 3;
// A search of cells that has taken this part of a scan's time asks whether what is left takes longer than a scan: what
// is wanted may lie anywhere then. It asks again after so many times as many rows. Before, what it has found is too
// poor to tell how far it will have to go.
constexpr double kScanPart = 0.5, kAskAgain = 1.25;

inline double scan_ns(const RowStore& rows, double count) {
  return count * (kScanRowNs + kScanByteNs * double(rows.codes().bytes));
}

}  // namespace quiver
