#include "boost_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace quiver {

namespace {

using Kind = BoostValues::Kind;
using Shape = BoostValues::Shape;

// Longest time of a filter on a thread that serves, and of one whose slots are remembered (filter_calls.cc).
constexpr double kFactorNs = 5e5, kRememberedNs = 3e6;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLatitudeMax = 90, kLongitudeMax = 180;
// As in shared/contract/shard/boosts.ts and in node/engine/filter/geo-points.ts.
constexpr double kLeast = 0.001, kMost = 1e18, kRadiusMetres = 6'371'008.8, kRadians = 3.14159265358979323846 / 180;
// More than the mathematics of two languages differ by, as a part of a number.
constexpr double kFactorSlack = 1e-9;

// A boost as it is written.
struct WrittenBoost {
  Kind kind = Kind::kFilter;
  Shape shape = Shape::kNone;
  double weight = 0, inside = 0, outside = 0, missing = 0;
  double origin[2] = {0, 0};
  double scale = 1, offset = 0, at = 0;
  Characters path;
  const uint32_t* filter = nullptr;
  size_t filter_words = 0;
};

bool is_decay(Shape shape) { return shape >= Shape::kExp; }

WrittenBoost read_boost(WordReader& words) {
  WrittenBoost boost;
  const uint32_t kind = words.next();
  if (kind > uint32_t(Kind::kPlace)) throw std::invalid_argument("no such boost");
  boost.kind = Kind(kind);
  if (boost.kind == Kind::kFilter) {
    boost.inside = words.number();
    boost.outside = words.number();
    boost.filter_words = words.next();
    boost.filter = words.some(boost.filter_words);
    return boost;
  }
  const uint32_t shape = words.next();
  if (shape > uint32_t(Shape::kLinear)) throw std::invalid_argument("no such shape of a boost");
  boost.shape = Shape(shape);
  if (!is_decay(boost.shape) && boost.kind != Kind::kNumber) throw std::invalid_argument("a modifier is of numbers");
  boost.weight = words.number();
  boost.missing = words.number();
  if (is_decay(boost.shape)) {
    for (double& coordinate : boost.origin) coordinate = words.number();
    boost.scale = words.number();
    boost.offset = words.number();
    boost.at = words.number();
  }
  boost.path = words.characters();
  if (!boost.path.wide && boost.path.count > 0) throw std::invalid_argument("a path that is not wide");
  return boost;
}

// The one field that a path means. False: it may mean several.
bool only_field(const FilterIndex& index, const Characters& path, const FilterField*& field) {
  const std::vector<const FilterField*> fields = fields_of(index, path);
  field = fields.empty() ? nullptr : fields[0];
  return fields.size() <= 1;
}

// The fields inside it that are the coordinates of a place; null where there is none.
const FilterField* coordinate_of(const FilterIndex& index, const FilterField* field, const char* name) {
  std::vector<uint8_t> wide;
  for (const char* at = name; *at != 0; at++) {
    wide.push_back(uint8_t(*at));
    wide.push_back(0);
  }
  return index.child_of(field, {wide.data(), uint32_t(wide.size() / 2), true});
}

// Whether some slot has a list there: its elements are in the column, too, but no coordinates.
bool has_lists(const FilterField& field) {
  const StringDictionary* composites = field.composites.load();
  return composites != nullptr && composites->size() > 0;
}

// False: it has to be made first.
bool column_of(const std::atomic<SlotNumbers*>& by_slot, const SlotNumbers::Column*& column) {
  const SlotNumbers* own = by_slot.load();
  column = own == nullptr ? nullptr : own->column();
  return column != nullptr;
}

double number_in(const SlotNumbers::Column* column, uint32_t slot) {
  const uint64_t bits = column == nullptr ? SlotNumbers::kNone : column->bits(slot);
  if (bits == SlotNumbers::kNone) return kNaN;
  if (bits == SlotNumbers::kSeveral) return kInfinity;
  double number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

double metres_between(const double* origin, double latitude, double longitude) {
  const double north = std::sin((latitude - origin[0]) * kRadians / 2);
  const double east = std::sin((longitude - origin[1]) * kRadians / 2);
  const double square =
      north * north + std::cos(origin[0] * kRadians) * std::cos(latitude * kRadians) * east * east;
  return 2 * kRadiusMetres * std::asin(std::min(1.0, std::sqrt(square)));
}

double modified(Shape shape, double value) {
  const double positive = std::max(0.0, value);
  switch (shape) {
    case Shape::kLog1p:
      return std::log1p(positive);
    case Shape::kSqrt:
      return std::sqrt(positive);
    case Shape::kSquare:
      return positive * positive;
    case Shape::kReciprocal:
      return 1 / (1 + positive);
    case Shape::kNone:
    case Shape::kExp:
    case Shape::kGauss:
    case Shape::kLinear:
      break;
  }
  return value;
}

}  // namespace

std::optional<BoostValues> BoostValues::of(FilterIndex& index, uint64_t number, WordReader words,
                                           RememberedFilters& remembered) {
  BoostValues values;
  // First: whoever is among them has its values in the lists.
  values.all_ = PostingView(index.all());
  values.adds_ = words.next() == 1;
  values.most_ = values.least_ = values.adds_ ? 0 : 1;
  while (!words.at_end()) {
    const WrittenBoost boost = read_boost(words);
    Part part;
    part.kind = boost.kind;
    part.shape = boost.shape;
    part.weight = boost.weight;
    part.inside = boost.inside;
    part.outside = boost.outside;
    std::copy(std::begin(boost.origin), std::end(boost.origin), part.origin);
    part.scale = boost.scale;
    part.offset = boost.offset;
    part.at = boost.at;
    values.width_ += boost.kind == Kind::kPlace ? 2 : 1;
    if (boost.kind == Kind::kFilter) {
      const uint64_t changes = index.changes();
      std::optional<FilterCondition> filter;
      const auto resolve = [&](double ns_max) {
        if (!filter.has_value()) filter = read_filter(boost.filter, boost.filter_words);
        return resolve_filter(index, *filter, ns_max);
      };
      part.remembered = remembered.find(
          number, changes, boost.filter, boost.filter_words, [&] { return resolve(kRememberedNs); },
          [&] { return index.is_unchanged(changes); });
      if (part.remembered == nullptr) {
        std::optional<FoundSlots> found = resolve(kFactorNs);
        if (!found.has_value()) return std::nullopt;
        part.own = std::move(*found);
      }
    } else if (!only_field(index, boost.path, part.field)) {
      return std::nullopt;
    } else if (part.field != nullptr && boost.kind == Kind::kPlace) {
      const FilterField* latitude = coordinate_of(index, part.field, "lat");
      const FilterField* longitude = coordinate_of(index, part.field, "lon");
      const auto is_made = [](const FilterField* coordinate, const SlotNumbers::Column*& column) {
        return coordinate == nullptr || (!has_lists(*coordinate) && column_of(coordinate->slot_numbers, column));
      };
      if (!is_made(latitude, part.numbers) || !is_made(longitude, part.longitudes)) return std::nullopt;
    } else if (part.field != nullptr) {
      const auto& by_slot = boost.kind == Kind::kTime ? part.field->slot_times : part.field->slot_numbers;
      if (!column_of(by_slot, part.numbers)) return std::nullopt;
    }
    part.missing = values.of_strength(part, boost.missing);
    const double most = values.most_of(part);
    values.most_ = values.adds_ ? values.most_ + most : values.most_ * most;
    values.least_ = values.adds_ ? values.least_ - kMost : values.least_ * kLeast;
    values.parts_.push_back(std::move(part));
  }
  // As each number is.
  values.most_ += kFactorSlack * (values.adds_ ? std::max(1.0, std::abs(values.most_)) : values.most_);
  return values;
}

bool BoostValues::Part::passes(uint32_t slot) const {
  const FoundSlots& found = remembered == nullptr ? own : *remembered;
  if (found.listed) return std::binary_search(found.words.begin(), found.words.end(), slot);
  return slot / 32 < found.words.size() && (found.words[slot / 32] >> (slot % 32) & 1) != 0;
}

double BoostValues::Part::value(uint32_t slot, double& longitude) const {
  if (kind == Kind::kFilter) return passes(slot) ? 1 : 0;
  const double number = number_in(numbers, slot);
  if (kind != Kind::kPlace) return number;
  longitude = number_in(longitudes, slot);
  if (std::abs(number) <= kLatitudeMax && std::abs(longitude) <= kLongitudeMax) return number;
  // What is under the path may be a place in another form, or several.
  return field == nullptr || !PostingView(field->present).has(slot) ? kNaN : kInfinity;
}

double BoostValues::Part::strength(double value, double longitude) const {
  if (!is_decay(shape)) return modified(shape, value);
  const double distance =
      kind == Kind::kPlace ? metres_between(origin, value, longitude) : std::abs(value - origin[0]);
  const double far = std::max(0.0, distance - offset) / scale;
  if (shape == Shape::kLinear) return std::max(0.0, 1 - (1 - at) * far);
  return std::pow(at, shape == Shape::kExp ? far : far * far);
}

double BoostValues::held(double number) const {
  return std::min(kMost, std::max(adds_ ? -kMost : kLeast, number));
}

double BoostValues::of_strength(const Part& part, double strength) const {
  const double neutral = adds_ ? 0 : 1;
  if (std::isnan(strength)) return neutral;
  return held(neutral + (part.weight == 0 ? 0 : part.weight * strength));
}

double BoostValues::most_of(const Part& part) const {
  if (part.kind == Kind::kFilter) return std::max(part.inside, part.outside);
  // A weight below 0 makes most of what is farthest: of nothing, at most.
  if (is_decay(part.shape)) return std::max(part.missing, of_strength(part, part.weight < 0 ? kNaN : 1));
  if (part.numbers == nullptr) return part.missing;
  const double least = part.numbers->least.load(), most = part.numbers->most.load();
  if (least > most) return part.missing;
  return std::max({part.missing, of_strength(part, modified(part.shape, least)),
                   of_strength(part, modified(part.shape, most))});
}

BoostValues::Number BoostValues::number(uint32_t slot) const {
  double all = adds_ ? 0 : 1, terms = 1;
  for (const Part& part : parts_) {
    double longitude = 0;
    const double value = part.value(slot, longitude);
    // Anything that it may be.
    if (value == kInfinity) return {least_, most_};
    const double own = part.kind == Kind::kFilter ? (value == 1 ? part.inside : part.outside)
                       : std::isnan(value)        ? part.missing
                                                  : of_strength(part, part.strength(value, longitude));
    all = adds_ ? all + own : all * own;
    terms += std::abs(own);
  }
  const double slack = kFactorSlack * (adds_ ? terms : all);
  return {all - slack, std::min(all + slack, most_)};
}

void BoostValues::write(uint32_t slot, double* values) const {
  for (const Part& part : parts_) {
    double longitude = 0;
    *values++ = part.value(slot, longitude);
    if (part.kind == Kind::kPlace) *values++ = longitude;
  }
}

void BoostValues::write_range(size_t part, double* range) const {
  const Part& own = parts_[part];
  const bool has_numbers = own.kind == Kind::kNumber && own.numbers != nullptr;
  range[0] = has_numbers ? own.numbers->least.load() : kInfinity;
  range[1] = has_numbers ? own.numbers->most.load() : -kInfinity;
}

bool make_boost_values(FilterIndex& index, WordReader words) {
  const uint32_t limit = index.slot_limit();
  const auto own = [](const FilterField* field) { return const_cast<FilterField*>(field); };
  words.next();
  while (!words.at_end()) {
    const WrittenBoost boost = read_boost(words);
    const FilterField* field = nullptr;
    if (boost.kind == Kind::kFilter || !only_field(index, boost.path, field) || field == nullptr) continue;
    if (boost.kind == Kind::kNumber && own(field)->make_slot_numbers(limit)) return true;
    if (boost.kind == Kind::kTime && own(field)->make_slot_times(limit)) return true;
    if (boost.kind != Kind::kPlace) continue;
    for (const char* name : {"lat", "lon"}) {
      const FilterField* coordinate = coordinate_of(index, field, name);
      if (coordinate != nullptr && own(coordinate)->make_slot_numbers(limit)) return true;
    }
  }
  return false;
}

}  // namespace quiver
