#include "bulk_encoder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "decimal_float.h"
#include "utf8.h"

namespace quiver {
namespace {

// operation-format.ts has the same numbers.
constexpr uint32_t kTimedVersion = 5;
constexpr size_t kHeaderBytes = 16;
constexpr size_t kUpsertBytes = 28;
constexpr uint32_t kTypeUpsert = 1;
constexpr uint32_t kFlagMetadata = 1;

// The root, the list and an item are around what an item holds.
constexpr size_t kItemDepth = 3;
// Names in one object, each of which is compared with all before it.
constexpr size_t kNamesMax = 64;
// Of a decimal with so few digits, JavaScript writes the same digits again.
constexpr int kExactDigits = 15;
// JavaScript writes numbers from 1e-6 on without an exponent: so many zeros may follow the point. And so many digits
// may come before it.
constexpr int kLeadingZerosMax = 5;
constexpr int kWholeDigitsMax = 21;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class BulkEncoder {
 public:
  BulkEncoder(const char* text, size_t size, const ScanBounds& bounds, const ItemBounds& items, char* target,
              size_t capacity)
      : text_(text),
        at_(text),
        end_(text + size),
        bounds_(bounds),
        items_(items),
        target_(target),
        capacity_(capacity) {}

  bool run(const std::string& nonce, EncodedBulk& out) {
    const bool is_encoded = encode(nonce, out);
    out.is_full = is_full_;
    return is_encoded;
  }

 private:
  bool encode(const std::string& nonce, EncodedBulk& out) {
    if (capacity_ < kHeaderBytes || bounds_.list.empty() || bounds_.depth_max <= kItemDepth) return false;
    size_ = kHeaderBytes;
    skip_space();
    if (!take('{')) return false;
    const char* list_start = nullptr;
    const char* list_end = nullptr;
    size_t members = 0;
    do {
      skip_space();
      const char* key = at_;
      std::string_view name;
      if (!plain_string(name)) return false;
      const std::string_view quoted(key, at_ - key);
      skip_space();
      if (!take(':')) return false;
      skip_space();
      ++members;
      if (quoted != bounds_.list) {
        if (!scalar()) return false;
      } else {
        if (list_start != nullptr) return false;
        list_start = at_;
        if (!list()) return false;
        list_end = at_;
      }
      skip_space();
    } while (take(','));
    if (!take('}') || list_start == nullptr) return false;
    skip_space();
    if (at_ != end_) return false;
    const size_t list_bytes = list_end - list_start;
    // The object and the list are values, too.
    if (members > bounds_.keys_max || members + 1 > bounds_.values_max ||
        (end_ - text_) - list_bytes > bounds_.bytes_max)
      return false;
    out.root.assign(text_, list_start - text_);
    out.root += '"';
    out.root += nonce;
    out.root += '"';
    out.root.append(list_end, end_ - list_end);
    out.count = count_;
    out.dim = dim_;
    out.size = size_;
    put32(0, kTimedVersion);
    put32(4, static_cast<uint32_t>(count_));
    std::memset(target_ + 8, 0, 8);
    return true;
  }

  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  bool word(std::string_view expected) {
    if (static_cast<size_t>(end_ - at_) < expected.size() || std::string_view(at_, expected.size()) != expected)
      return false;
    at_ += expected.size();
    return true;
  }

  // A string without escapes. `value` is what stands between the quotes.
  bool plain_string(std::string_view& value) {
    if (!take('"')) return false;
    const char* start = at_;
    bool is_ascii = true;
    for (; at_ < end_; ++at_) {
      const auto c = static_cast<unsigned char>(*at_);
      if (c == '"') break;
      if (c == '\\' || c < 0x20) return false;
      if (c >= 0x80) is_ascii = false;
    }
    if (at_ == end_) return false;
    value = std::string_view(start, at_ - start);
    ++at_;
    return is_ascii || is_utf8(value.data(), value.size());
  }

  bool digits() {
    if (at_ == end_ || !is_digit(*at_)) return false;
    while (at_ < end_ && is_digit(*at_)) ++at_;
    return true;
  }

  // What another member of the root may be.
  bool scalar() {
    if (at_ == end_) return false;
    if (*at_ == '"') {
      std::string_view value;
      return plain_string(value);
    }
    if (word("true") || word("false") || word("null")) return true;
    if (*at_ == '-') ++at_;
    if (at_ < end_ && *at_ == '0') {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (take('.') && !digits()) return false;
    return at_ == end_ || (*at_ != 'e' && *at_ != 'E');
  }

  bool list() {
    if (!take('[')) return false;
    do {
      skip_space();
      if (count_ == bounds_.list_length_max || !item()) return false;
      ++count_;
      skip_space();
    } while (take(','));
    return take(']');
  }

  bool item() {
    const char* start = at_;
    if (!take('{')) return false;
    std::string_view id;
    bool has_id = false;
    bool has_vector = false;
    bool has_metadata = false;
    metadata_.clear();
    // The item itself.
    values_ = 1;
    keys_ = 0;
    if (capacity_ - size_ < kUpsertBytes) return full();
    do {
      skip_space();
      std::string_view name;
      if (!plain_string(name)) return false;
      skip_space();
      if (!take(':')) return false;
      skip_space();
      ++keys_;
      if (name == "external_id" && !has_id) {
        has_id = true;
        ++values_;
        if (!plain_string(id) || !is_id(id)) return false;
      } else if (name == "vector" && !has_vector) {
        has_vector = true;
        ++values_;
        if (!vector()) return false;
      } else if (name == "metadata" && !has_metadata) {
        has_metadata = true;
        fields_ = 0;
        if (at_ == end_ || *at_ != '{' || !object(1) || metadata_.size() > items_.metadata_bytes_max) return false;
      } else {
        return false;
      }
      skip_space();
    } while (take(','));
    if (!take('}') || !has_id || !has_vector) return false;
    if (values_ > bounds_.values_max || keys_ > bounds_.keys_max ||
        static_cast<size_t>(at_ - start) > bounds_.bytes_max)
      return false;
    finish(id, has_metadata);
    return size_ <= capacity_ || full();
  }

  bool full() {
    is_full_ = true;
    return false;
  }

  bool is_id(std::string_view id) const {
    // No character takes less than a byte.
    if (id.empty() || id.size() > items_.id_characters_max) return false;
    for (size_t i = 0; i < id.size(); ++i) {
      const auto c = static_cast<unsigned char>(id[i]);
      // Control characters: U+007F, and U+0080 to U+009F.
      if (c == 0x7F || (c == 0xC2 && static_cast<unsigned char>(id[i + 1]) < 0xA0)) return false;
    }
    return true;
  }

  bool vector() {
    if (!take('[')) return false;
    char* numbers = target_ + size_ + kUpsertBytes;
    const size_t room = (capacity_ - size_ - kUpsertBytes) / sizeof(float);
    // Those of the first item say how many all have.
    const size_t length_max = count_ == 0 ? bounds_.vector_length_max : dim_;
    size_t length = 0;
    do {
      skip_space();
      char* kept = numbers + length * sizeof(float);
      const size_t kept_max = std::min(room, length_max) - length;
      const NumberRun run = parse_json_numbers(at_, end_, kept_max, kept);
      if (run.count == 0) return false;
      length += run.count;
      if (length > length_max) return false;
      for (size_t i = 0; i < std::min(run.count, kept_max); ++i) {
        uint32_t bits;
        std::memcpy(&bits, kept + i * sizeof bits, sizeof bits);
        if ((bits & 0x7F800000) == 0x7F800000) return false;
      }
      if (length > room) return full();
      at_ = run.end;
      skip_space();
    } while (take(','));
    if (!take(']')) return false;
    if (count_ == 0) dim_ = length;
    return length == dim_;
  }

  // An object of the metadata, at the depth `depth`, from the cursor into metadata_.
  bool object(size_t depth) {
    if (!enters(depth)) return false;
    metadata_ += '{';
    std::string_view names[kNamesMax];
    size_t count = 0;
    skip_space();
    if (!take('}')) {
      do {
        skip_space();
        std::string_view name;
        if (count == kNamesMax || !plain_string(name)) return false;
        // JSON.parse puts names that are numbers before all others, and `__proto__` needs care.
        if ((!name.empty() && is_digit(name[0])) || name == "__proto__") return false;
        for (size_t i = 0; i < count; ++i) {
          if (names[i] == name) return false;
        }
        names[count++] = name;
        ++keys_;
        ++fields_;
        if (count > 1) metadata_ += ',';
        metadata_ += '"';
        metadata_ += name;
        metadata_ += "\":";
        skip_space();
        if (!take(':')) return false;
        if (!value(depth)) return false;
        skip_space();
      } while (take(','));
      if (!take('}')) return false;
    }
    metadata_ += '}';
    return true;
  }

  bool array(size_t depth) {
    if (!enters(depth)) return false;
    metadata_ += '[';
    skip_space();
    if (!take(']')) {
      bool is_first = true;
      do {
        if (!is_first) metadata_ += ',';
        is_first = false;
        ++fields_;
        if (!value(depth)) return false;
        skip_space();
      } while (take(','));
      if (!take(']')) return false;
    }
    metadata_ += ']';
    return true;
  }

  // Takes the bracket.
  bool enters(size_t depth) {
    ++at_;
    ++values_;
    return depth <= items_.metadata_depth_max && depth + kItemDepth <= bounds_.depth_max;
  }

  // A value in an object or array that is at `depth`.
  bool value(size_t depth) {
    skip_space();
    if (at_ == end_ || fields_ > items_.metadata_fields_max || metadata_.size() > items_.metadata_bytes_max)
      return false;
    const char* start = at_;
    if (*at_ == '{') return object(depth + 1);
    if (*at_ == '[') return array(depth + 1);
    ++values_;
    if (*at_ == '"') {
      std::string_view text;
      if (!plain_string(text)) return false;
    } else if (!word("true") && !word("false") && !word("null")) {
      return number();
    }
    metadata_.append(start, at_ - start);
    return true;
  }

  // A number that JavaScript writes as it stands, but for zeros at the end of its fraction.
  bool number() {
    const char* start = at_;
    if (*at_ == '-') ++at_;
    const char* whole = at_;
    if (at_ < end_ && *at_ == '0') {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    const int whole_digits = static_cast<int>(at_ - whole);
    const char* significant_end = at_;
    if (take('.')) {
      const char* fraction = at_;
      if (!digits()) return false;
      const char* last = at_;
      while (last > fraction && last[-1] == '0') --last;
      if (last > fraction) significant_end = last;
    }
    if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) return false;
    if (whole_digits > kWholeDigitsMax) return false;
    const bool has_fraction = significant_end > whole + whole_digits;
    int significant = static_cast<int>(significant_end - whole) - (has_fraction ? 1 : 0);
    if (*whole == '0') {
      if (!has_fraction) {
        // Of -0, JSON.stringify drops the sign.
        if (whole != start) return false;
      } else {
        int zeros = 0;
        while (whole[2 + zeros] == '0') ++zeros;
        if (zeros > kLeadingZerosMax) return false;
        significant -= 1 + zeros;
      }
    }
    if (significant > kExactDigits && !is_shortest(start, significant_end)) return false;
    metadata_.append(start, significant_end - start);
    return true;
  }

  // Whether the decimal is the shortest for its double.
  static bool is_shortest(const char* start, const char* end) {
#if defined(__cpp_lib_to_chars)
    double value;
    const auto read = std::from_chars(start, end, value);
    if (read.ec != std::errc() || read.ptr != end) return false;
    // Above 2^53 the fixed form has digits that JavaScript writes as zeros.
    if (!(std::fabs(value) < 9007199254740992.0)) return false;
    char text[64];
    const auto written = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
    return written.ec == std::errc() &&
           std::string_view(text, written.ptr - text) == std::string_view(start, end - start);
#else
    return false;
#endif
  }

  void put32(size_t at, uint32_t value) { std::memcpy(target_ + at, &value, sizeof value); }

  // Ends the open operation, whose vector is there; without effect on the memory where there is no room.
  void finish(std::string_view id, bool has_metadata) {
    const size_t start = size_;
    const size_t id_at = start + kUpsertBytes + dim_ * sizeof(float);
    const size_t end = id_at + id.size() + metadata_.size();
    size_ = (end + 3) / 4 * 4;
    if (size_ > capacity_) return;
    // The host is little-endian, as the format is.
    put32(start, kTypeUpsert | (has_metadata ? kFlagMetadata << 8 : 0));
    put32(start + 4, static_cast<uint32_t>(id.size()));
    std::memset(target_ + start + 8, 0, 8);
    put32(start + 16, static_cast<uint32_t>(dim_));
    put32(start + 20, static_cast<uint32_t>(metadata_.size()));
    put32(start + 24, 0);
    std::memcpy(target_ + id_at, id.data(), id.size());
    std::memcpy(target_ + id_at + id.size(), metadata_.data(), metadata_.size());
    std::memset(target_ + end, 0, size_ - end);
  }

  const char* const text_;
  const char* at_;
  const char* const end_;
  const ScanBounds& bounds_;
  const ItemBounds& items_;
  char* const target_;
  const size_t capacity_;

  size_t count_ = 0;
  size_t dim_ = 0;
  // Where the open operation begins.
  size_t size_ = 0;
  bool is_full_ = false;
  // Of the open item.
  size_t values_ = 0;
  size_t keys_ = 0;
  size_t fields_ = 0;
  std::string metadata_;
};

}  // namespace

bool encode_bulk(const char* text, size_t size, const std::string& nonce, const ScanBounds& bounds,
                 const ItemBounds& items, char* target, size_t capacity, EncodedBulk& out) {
  return BulkEncoder(text, size, bounds, items, target, capacity).run(nonce, out);
}

}  // namespace quiver
