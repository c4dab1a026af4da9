#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "errors.h"
#include "query.h"
#include "search.h"

namespace quiver {

// Passes over rows, for whatever keeps the best of them: Candidates, or what has the same members.

// Rows scanned between two checks of the stop flag and of the row count.
constexpr size_t kBatch = 64;
// Of rows whose sketches leave them a chance.
constexpr size_t kSketchBatch = 16;
// So much of a code is asked for as soon as its row is known to be scored.
constexpr size_t kPrefetchBytes = 256;

inline void stop_if_closed(const StopFlag& stop) {
  if (stop.load(std::memory_order_relaxed)) throw ClosedError();
}

// Calls add(row, key, meta) for the rows in `batch`.
template <class Add>
void score_batch(const RowStore& rows, const Query& query, const uint32_t* batch, size_t count, const Add& add) {
  const uint8_t* codes[kBatch] = {};
  int32_t products[kBatch];
  for (size_t j = 0; j < count; j++) codes[j] = rows.code(batch[j]);
  rows.codes().dot(codes, count, query.code(), rows.codes().padded, products);
  for (size_t j = 0; j < count; j++) {
    const RowMeta& meta = rows.meta(batch[j]);
    add(batch[j], query.key(products[j], meta), meta);
  }
}

// Adds the rows in `batch` (known to be live and allowed) to the candidates.
template <class AnyCandidates>
void add_batch(const RowStore& rows, const Query& query, const uint32_t* batch, size_t count,
               AnyCandidates& candidates) {
  score_batch(rows, query, batch, count,
              [&](uint32_t row, float key, const RowMeta& meta) { candidates.add(row, key, meta); });
}

// Whether the bitmap is that of several stores, and this one's rows are found sooner without it.
inline bool has_few_rows(const RowStore& rows, const Allowed& allowed) {
  constexpr size_t kSlotsPerRow = 4;
  return rows.on_disk && allowed.remembered != nullptr && kSlotsPerRow * allowed.remembered->count > rows.count();
}

// Calls visit(rows, count) for batches of the live, allowed rows from `first` on (if slots are listed: all of them).
template <class Visit>
void for_each_batch(const RowStore& rows, size_t first, const Allowed& allowed, const StopFlag& stop,
                    const Visit& visit) {
  uint32_t batch[kBatch];
  size_t count = 0;
  const auto add = [&](uint32_t row) {
    batch[count++] = row;
    if (count < kBatch) return;
    stop_if_closed(stop);
    visit(batch, count);
    count = 0;
  };
  if (allowed.kind == Allowed::Kind::kSlots) {
    for (uint32_t slot : allowed.words) {
      const uint32_t row = rows.row_of(slot);
      if (row != kNoRow) add(row);
    }
  } else if (allowed.kind == Allowed::Kind::kBitmap && first == 0 && !has_few_rows(rows, allowed)) {
    const std::vector<uint32_t>& words = allowed.bitmap();
    for (size_t word = 0; word < words.size(); word++) {
      for (uint32_t bits = words[word]; bits != 0; bits &= bits - 1) {
        const uint32_t row = rows.row_of(uint32_t(word * 32) + uint32_t(__builtin_ctz(bits)));
        if (row != kNoRow) add(row);
      }
    }
  } else {
    // The count is read again at the end, so that a slot that is put meanwhile is found at its old or its new row.
    size_t row = first;
    for (size_t end = rows.count(); row < end; end = rows.count()) {
      for (; row < end; row++) {
        if (!rows.dead(row) && allowed.has(rows.slot(row))) add(uint32_t(row));
      }
    }
  }
  if (count > 0) visit(batch, count);
}

// Adds the allowed, live rows from `first` on: those whose sketches leave them a chance, and those without a sketch.
template <class AnyCandidates>
void scan_later(const Snapshot& snapshot, const Query& query, const SearchRequest& request, const Allowed& allowed,
                size_t first, const StopFlag& stop, AnyCandidates& candidates, SearchCost& cost) {
  const RowStore& rows = *snapshot.rows;
  const auto visit = [&](const uint32_t* batch, size_t count) {
    cost.scored += count;
    add_batch(rows, query, batch, count, candidates);
  };
  const Sketches* sketches = snapshot.sketches.get();
  if (sketches != nullptr && first < sketches->end()) {
    uint32_t batch[kSketchBatch];
    size_t waiting = 0, kept = 0;
    const auto visit_batch = [&] {
      visit(batch, waiting);
      waiting = 0;
      // The sooner the floor rises, the fewer rows reach it.
      if (candidates.size() < kept + request.k) return;
      candidates.raise_floor();
      kept = candidates.size();
    };
    const auto add = [&](size_t row) {
      if (rows.dead(row) || !allowed.has(rows.slot(row))) return;
      __builtin_prefetch(&rows.meta(row));
      for (size_t at = 0; at < std::min(rows.codes().bytes, kPrefetchBytes); at += 64)
        __builtin_prefetch(rows.code(row) + at);
      batch[waiting++] = uint32_t(row);
      if (waiting == kSketchBatch) visit_batch();
    };
    for (; first < sketches->begin(); first++) add(first);
    const SketchQuery by_sketches(rows, *sketches, request.query.data());
    candidates.raise_floor();
    kept = candidates.size();
    SketchLine line{};
    float floor = -std::numeric_limits<float>::infinity();
    for (size_t row = first / kSketchRows * kSketchRows; row < sketches->end(); row += kSketchRows) {
      if (candidates.floor() > floor) {
        floor = candidates.floor();
        line = by_sketches.line(floor);
      }
      if (row % Sketches::kChunkRows == 0) stop_if_closed(stop);
      uint64_t left = row < first ? ~uint64_t(0) << (first - row) : ~uint64_t(0);
      if (std::isfinite(floor)) left &= by_sketches.reaching(sketches->block(row), line, floor);
      cost.left_out += kSketchRows - size_t(__builtin_popcountll(left));
      for (; left != 0; left &= left - 1) add(row + size_t(__builtin_ctzll(left)));
    }
    visit_batch();
    first = sketches->end();
  }
  for_each_batch(rows, first, allowed, stop, visit);
}

}  // namespace quiver
