#include "sketches.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "search/effort.h"
#include "errors.h"
#include "threads.h"

namespace quiver {

namespace {

// By how many deviations a row's key may exceed what its sketch tells. The error is nearly normal, so of the rows that
// are just good enough 1 in 700 is lost, and of better ones fewer.
constexpr float kSketchDeviations = 3;
// The tangent of a vector and its signs where the components are normally distributed, and its slope over the inverse
// cosine: see query.cc.
constexpr float kSignsInverseCosine = 1.2533141f, kSignsTangent = 0.7555106f;
constexpr float kSignsSlope = kSignsInverseCosine / kSignsTangent;
// Dimensions that a lookup has.
constexpr size_t kLookupDims = 4;
constexpr size_t kTableSize = size_t(1) << kLookupDims;
constexpr int kEntryMax = 127;
// Of a uniform error of width 1.
constexpr float kUniformDeviation = 0.28867513f;

}  // namespace

Sketches::Sketches(const RowStore& rows, const Sketches* before, size_t first, unsigned threads, const StopFlag& stop)
    : dim_(rows.dim),
      bytes_((rows.dim + 7) / 8),
      block_bytes_(kSketchRows * (bytes_ + 2 * sizeof(float))),
      begin_(full(first)),
      rotation_(before != nullptr ? before->rotation_ : std::make_shared<const Rotation>(rows.dim, rows.kernels)) {
  const size_t end = std::max(begin_, full(rows.count()));
  chunks_.resize((end - begin_) / kChunkRows);
  size_t made = 0;
  if (before != nullptr && before->begin_ <= begin_) {
    for (; made < chunks_.size() && begin_ + made * kChunkRows < before->end(); made++) {
      chunks_[made] = before->chunks_[(begin_ - before->begin_) / kChunkRows + made];
    }
  }
  std::atomic<size_t> next{made};
  run_in_background_threads(made < chunks_.size() ? threads : 0, [&](unsigned) {
    for (size_t i = next++; i < chunks_.size(); i = next++) {
      if (stop.load(std::memory_order_relaxed)) throw ClosedError();
      auto chunk = std::make_shared<const Pages>(kChunkRows / kSketchRows * block_bytes_);
      make_chunk(rows, begin_ + i * kChunkRows, chunk->data());
      chunks_[i] = std::move(chunk);
    }
  });
}

Sketches::Sketches(const Sketches& whole, size_t first)
    : dim_(whole.dim_),
      bytes_(whole.bytes_),
      block_bytes_(whole.block_bytes_),
      begin_(full(first)),
      rotation_(whole.rotation_),
      chunks_(whole.chunks_.begin() + ptrdiff_t((full(first) - whole.begin_) / kChunkRows), whole.chunks_.end()) {}

std::shared_ptr<const Sketches> Sketches::without(const std::shared_ptr<const Sketches>& sketches, size_t first) {
  if (sketches == nullptr || first >= sketches->end()) return nullptr;
  if (full(first) <= sketches->begin_) return sketches;
  return std::shared_ptr<const Sketches>(new Sketches(*sketches, first));
}

void Sketches::make_chunk(const RowStore& rows, size_t first, uint8_t* chunk) const {
  const size_t padded = padded_dim(dim_);
  std::vector<float> rotated(dim_);
  std::vector<uint8_t> signs(padded / 8);
  for (size_t i = 0; i < kChunkRows; i++) {
    uint8_t* block = chunk + i / kSketchRows * block_bytes_;
    const size_t place = i % kSketchRows, row = first + i;
    float& scale = reinterpret_cast<float*>(block + kSketchRows * bytes_)[place];
    float& norm = reinterpret_cast<float*>(block + kSketchRows * bytes_)[kSketchRows + place];
    const uint8_t* code = rows.code(row);
    for (size_t j = 0; j < dim_; j++) rotated[j] = float(int(code[j]) - 128);
    const double square = rows.kernels.dot(rotated.data(), rotated.data(), dim_);
    const RowMeta& meta = rows.meta(row);
    // A row of zeros has a key of −norm² / 2 = 0, whatever its signs.
    scale = norm = 0;
    if (square == 0) continue;
    rotation_->apply(rotated.data());
    const double product = rows.kernels.take_signs(rotated.data(), dim_, padded, signs.data());
    const float length = rows.metric == Metric::kCosine ? 1
                         : rows.metric == Metric::kIp   ? meta.norm
                                                        : std::sqrt(2 * meta.norm);
    // NaN: never below a floor.
    scale =
        rows.is_extreme(row) ? std::numeric_limits<float>::quiet_NaN() : float(length * std::sqrt(square) / product);
    norm = length;
    for (size_t j = 0; j < bytes_; j++) block[j * kSketchRows + place] = signs[j];
  }
}

SketchQuery::SketchQuery(const RowStore& rows, const Sketches& sketches, const float* vector)
    : sketches_(sketches),
      kernels_(rows.kernels),
      metric_(rows.metric),
      dim_(float(rows.dim)),
      norm_(std::sqrt(rows.kernels.dot(vector, vector, rows.dim))),
      rounding_(kDeviations * kUniformDeviation * norm_ / 127),
      tables_(sketches.bytes() * 2 * kTableSize) {
  std::vector<float> rotated(vector, vector + rows.dim);
  if (norm_ > 0) sketches.rotation().apply(rotated.data());
  const size_t lookups = 2 * sketches.bytes();
  rotated.resize(lookups * kLookupDims);
  // The largest lookup, from all its dimensions against the query to all with it.
  float widest = 0;
  for (size_t i = 0; i < lookups; i++) {
    float width = 0;
    for (size_t j = 0; j < kLookupDims; j++) width += std::fabs(rotated[i * kLookupDims + j]);
    least_ -= width;
    widest = std::max(widest, 2 * width);
  }
  if (widest == 0) return;
  const float entry_max = float(std::min<size_t>(kEntryMax, UINT16_MAX / lookups));
  weight_ = widest / entry_max;
  // Each lookup has a uniform error of variance weight² / 12.
  unsure_ = kSketchDeviations * weight_ * std::sqrt(float(lookups) / 12);
  for (size_t i = 0; i < lookups; i++) {
    const float* part = &rotated[i * kLookupDims];
    for (size_t bits = 0; bits < kTableSize; bits++) {
      float sum = 0;
      for (size_t j = 0; j < kLookupDims; j++) sum += std::fabs(part[j]) + ((bits >> j & 1) != 0 ? part[j] : -part[j]);
      tables_[i * kTableSize + bits] = uint8_t(std::lrint(sum / weight_));
    }
  }
}

SketchLine SketchQuery::line(float floor) const {
  // What the query has beside the row's direction makes the error, and for a row that reaches the floor that is at most
  // its distance to the row (l2), or follows from their angle (cosine). Of ip, rows of any length may reach it.
  float beside = norm_;
  if (metric_ == Metric::kL2) beside = std::min(norm_, std::sqrt(std::max(0.0f, norm_ * norm_ - 2 * floor)));
  if (metric_ == Metric::kCosine && floor > 0) beside = std::sqrt(std::max(0.0f, norm_ * norm_ - floor * floor));
  const float error = kSketchDeviations * beside / std::sqrt(std::max(1.0f, dim_ - 1));
  return {weight_, least_ + unsure_ + error * kSignsSlope * std::sqrt(dim_),
          error * (kSignsTangent - kSignsSlope * kSignsInverseCosine) + rounding_, metric_ == Metric::kL2 ? 0.5f : 0};
}

uint64_t SketchQuery::reaching(const uint8_t* block, const SketchLine& line, float floor) const {
  uint16_t sums[kSketchRows];
  kernels_.sum_lookups(block, sketches_.bytes(), tables_.data(), sums);
  return kernels_.reach_floor(sums, sketches_.scales(block), sketches_.norms(block), line, floor);
}

}  // namespace quiver
