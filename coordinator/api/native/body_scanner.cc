#include "body_scanner.h"

#include "decimal_float.h"
#include "utf8.h"

namespace quiver {
namespace {

// Elements of a list are returned in runs: of this many bytes, so that small elements do not cost a call each, and of
// this many values, so that parsing one run never blocks the caller's thread for long. api/body/body-scanner.ts has the
// same numbers.
constexpr size_t kPartBytes = 64 * 1024;
constexpr size_t kPartValues = 4096;
// The depth of the stack in the list's elements: the root and the list.
constexpr size_t kElementDepth = 2;
// Digits of 2^53, up to which a double holds every whole number. long-integers.ts has the same number.
constexpr ptrdiff_t kLongIntegerDigits = 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// test/support/models/plain-scan.ts is the same state machine: the two must refuse the same bodies at the same byte.
class Scanner {
 public:
  Scanner(const char* text, size_t size, const std::string& nonce, const ScanBounds& bounds, ScannedBody& out)
      : text_(text), at_(text), end_(text + size), copied_(text), nonce_(nonce), bounds_(bounds), out_(out) {
    stack_.reserve(bounds.depth_max);
  }

  void run() {
    while (state_ != State::kDone && out_.flaw == Flaw::kNone) step();
  }

 private:
  enum class State { kValue, kFirstElement, kFirstKey, kKey, kAfter, kDone };

  void refuse(Flaw flaw) {
    if (out_.flaw != Flaw::kNone) return;
    out_.flaw = flaw;
    out_.at = at_ - text_;
    out_.is_in_list = in_list_;
  }

  void step() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    if (state_ == State::kAfter && stack_.empty()) return finish();
    if (at_ == end_) return refuse(Flaw::kSyntax);
    switch (state_) {
      case State::kFirstElement:
        return *at_ == ']' ? close() : value();
      case State::kFirstKey:
        return *at_ == '}' ? close() : key();
      case State::kValue:
        return value();
      case State::kKey:
        return key();
      case State::kAfter:
      case State::kDone:
        return after();
    }
  }

  void finish() {
    if (at_ != end_) return refuse(Flaw::kSyntax);
    if (!bounds_.list.empty() && (end_ - text_) - list_bytes_ > bounds_.bytes_max) return refuse(Flaw::kBytes);
    out_.root.append(copied_, end_ - copied_);
    state_ = State::kDone;
  }

  void key() {
    key_ = at_;
    if (*at_ != '"') return refuse(Flaw::kSyntax);
    if (!skip_string()) return;
    key_size_ = at_ - key_;
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
    if (at_ == end_ || *at_ != ':') return refuse(Flaw::kSyntax);
    if (++keys_ > bounds_.keys_max) return refuse(Flaw::kKeys);
    ++at_;
    state_ = State::kValue;
  }

  void after() {
    const bool in_object = stack_.back() == '{';
    if (*at_ == ',') {
      ++at_;
      state_ = in_object ? State::kKey : State::kValue;
    } else if (*at_ == (in_object ? '}' : ']')) {
      close();
    } else {
      refuse(Flaw::kSyntax);
    }
  }

  bool is_key(const char* name, size_t size) const {
    return key_size_ == size && std::char_traits<char>::compare(key_, name, size) == 0;
  }

  // Whether the next value belongs to a member of the root, or of an element of the list.
  bool in_root() const { return stack_.size() == 1 && stack_[0] == '{'; }
  bool in_element() const { return in_list_ && stack_.size() == kElementDepth + 1 && stack_[kElementDepth] == '{'; }

  void value() {
    if (in_list_ && stack_.size() == kElementDepth) open_element();
    const bool in_vector = vector_depth_ != 0 && vector_depth_ == stack_.size();
    const char c = *at_;
    if (c == '-' || is_digit(c)) {
      if (in_vector) return vector_number();
      if (skip_number()) scalar();
      return;
    }
    // Not an array that holds only numbers. JSON.parse and the validation find out what is wrong with it.
    if (in_vector) leave_vector();
    if (out_.flaw != Flaw::kNone) return;
    if (c == '"') {
      if (skip_string()) scalar();
    } else if (c == '{' || c == '[') {
      open(c);
    } else if (skip_word("true", 4) || skip_word("false", 5) || skip_word("null", 4)) {
      scalar();
    } else {
      refuse(Flaw::kSyntax);
    }
  }

  void scalar() {
    count(1);
    end_value();
  }

  void count(size_t values) {
    values_ += values;
    if (values_ > bounds_.values_max) refuse(Flaw::kValues);
  }

  void open(char kind) {
    if (stack_.size() == bounds_.depth_max) return refuse(Flaw::kDepth);
    count(1);
    if (kind == '[' && in_root() && !bounds_.list.empty() && is_key(bounds_.list.data(), bounds_.list.size())) {
      open_list();
    } else if (kind == '[' && !is_vector_met_ && (in_root() || in_element()) && is_key("\"vector\"", 8)) {
      is_vector_met_ = true;
      vector_depth_ = stack_.size() + 1;
      vector_start_ = at_;
      vector_first_ = out_.floats.size();
      vector_numbers_ = 0;
    }
    stack_.push_back(kind);
    ++at_;
    state_ = kind == '{' ? State::kFirstKey : State::kFirstElement;
  }

  void close() {
    ++at_;
    if (vector_depth_ != 0 && vector_depth_ == stack_.size()) close_vector();
    if (in_list_ && stack_.size() == kElementDepth) close_list();
    stack_.pop_back();
    end_value();
  }

  void end_value() {
    state_ = State::kAfter;
    if (in_list_ && stack_.size() == kElementDepth) close_element();
  }

  void open_list() {
    out_.root.append(copied_, at_ - copied_);
    out_.root += '"';
    out_.root += nonce_;
    out_.root += '"';
    out_.elements.clear();
    out_.parts.clear();
    out_.list_length = 0;
    out_.has_list = true;
    list_ = at_;
    in_list_ = true;
  }

  void close_list() {
    close_part();
    in_list_ = false;
    list_bytes_ += at_ - list_;
    copied_ = at_;
  }

  bool is_kept() const { return out_.list_length < bounds_.list_length_max; }

  void open_element() {
    element_ = at_;
    root_values_ = values_;
    root_keys_ = keys_;
    values_ = 0;
    keys_ = 0;
    is_root_vector_met_ = is_vector_met_;
    is_vector_met_ = false;
    if (!is_kept()) return;
    if (part_bytes_ == 0) {
      part_ = out_.elements.size();
    } else {
      out_.elements += ',';
    }
    copied_ = at_;
  }

  void close_element() {
    const size_t size = at_ - element_;
    if (size > bounds_.bytes_max) return refuse(Flaw::kBytes);
    if (is_kept()) {
      out_.elements.append(copied_, at_ - copied_);
      part_bytes_ += size;
      part_values_ += values_;
      if (part_bytes_ >= kPartBytes || part_values_ >= kPartValues) close_part();
    }
    ++out_.list_length;
    values_ = root_values_;
    keys_ = root_keys_;
    is_vector_met_ = is_root_vector_met_;
  }

  void close_part() {
    if (part_bytes_ == 0) return;
    out_.parts.push_back(static_cast<uint32_t>(part_));
    out_.parts.push_back(static_cast<uint32_t>(out_.elements.size()));
    part_bytes_ = 0;
    part_values_ = 0;
  }

  // The number at the cursor, and those that follow it at once.
  void vector_number() {
    const size_t kept_max =
        vector_numbers_ <= bounds_.vector_length_max ? bounds_.vector_length_max + 1 - vector_numbers_ : 0;
    const NumberRun run = parse_json_numbers(at_, end_, kept_max, out_.floats);
    if (run.count == 0) {
      // This finds the byte.
      skip_number();
      return;
    }
    at_ = run.end;
    vector_numbers_ += run.count;
    state_ = State::kAfter;
  }

  void leave_vector() {
    out_.floats.resize(vector_first_);
    vector_depth_ = 0;
    count(vector_numbers_);
  }

  void close_vector() {
    vector_depth_ = 0;
    if (in_list_ && !is_kept()) {
      out_.floats.resize(vector_first_);
      return;
    }
    std::string& text = in_list_ ? out_.elements : out_.root;
    text.append(copied_, vector_start_ - copied_);
    text += '"';
    text += nonce_;
    text += std::to_string(vector_first_);
    text += ':';
    text += std::to_string(out_.floats.size());
    text += '"';
    copied_ = at_;
  }

  bool refused() {
    refuse(Flaw::kSyntax);
    return false;
  }

  bool skip_word(const char* word, size_t size) {
    if (static_cast<size_t>(end_ - at_) < size || std::char_traits<char>::compare(at_, word, size) != 0) return false;
    at_ += size;
    return true;
  }

  static const char* digits_end(const char* at, const char* end) {
    while (at < end && is_digit(*at)) ++at;
    return at;
  }

  bool refused_at(const char* at) {
    at_ = at;
    return refused();
  }

  bool skip_number() {
    // In registers: a body may hold nothing but numbers.
    const char* at = at_;
    const char* const end = end_;
    if (*at == '-') ++at;
    const char* const whole = at;
    if (at < end && *at == '0') {
      ++at;
    } else {
      at = digits_end(at, end);
      if (at == whole) return refused_at(at);
      if (at - whole >= kLongIntegerDigits) out_.has_long_integers = true;
    }
    if (at < end && *at == '.') {
      const char* const fraction = ++at;
      at = digits_end(at, end);
      if (at == fraction) return refused_at(at);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
      ++at;
      if (at < end && (*at == '+' || *at == '-')) ++at;
      const char* const exponent = at;
      at = digits_end(at, end);
      if (at == exponent) return refused_at(at);
    }
    at_ = at;
    return true;
  }

  bool skip_string() {
    ++at_;
    while (at_ < end_) {
      const char c = *at_;
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return refused();
      ++at_;
      if (c == '\\' && !skip_escape()) return false;
    }
    return refused();
  }

  bool skip_escape() {
    if (at_ == end_) return refused();
    const char c = *at_;
    if (c == 'u') {
      ++at_;
      for (int i = 0; i < 4; ++i) {
        if (at_ == end_ || !is_hex(*at_)) return refused();
        ++at_;
      }
      return true;
    }
    if (c != '"' && c != '\\' && c != '/' && c != 'b' && c != 'f' && c != 'n' && c != 'r' && c != 't') return refused();
    ++at_;
    return true;
  }

  const char* const text_;
  const char* at_;
  const char* const end_;
  // Everything before this was copied to the root or the elements, or replaced.
  const char* copied_;
  const std::string& nonce_;
  const ScanBounds& bounds_;
  ScannedBody& out_;

  State state_ = State::kValue;
  // The brackets of the open objects and arrays, outermost first.
  std::string stack_;
  // The last key that was found. It counts if an object is on top of the stack.
  const char* key_ = nullptr;
  size_t key_size_ = 0;
  // Values and keys of the open element, otherwise of the root; the second pair keeps those of the root while an
  // element is open.
  size_t values_ = 0;
  size_t root_values_ = 0;
  size_t keys_ = 0;
  size_t root_keys_ = 0;

  bool in_list_ = false;
  const char* list_ = nullptr;
  size_t list_bytes_ = 0;
  const char* element_ = nullptr;
  // The open run of elements: its start in the elements, and its bytes. There is none while the bytes are 0.
  size_t part_ = 0;
  size_t part_bytes_ = 0;
  size_t part_values_ = 0;

  // Only the first vector of an element (and of the root) is extracted. A repeated one stays as it is, so that the text
  // never grows by more than one placeholder per element.
  bool is_vector_met_ = false;
  bool is_root_vector_met_ = false;
  // Size of the stack inside the open vector; 0 if there is none.
  size_t vector_depth_ = 0;
  const char* vector_start_ = nullptr;
  size_t vector_first_ = 0;
  size_t vector_numbers_ = 0;
};

}  // namespace

ScannedBody scan_body(const char* text, size_t size, const std::string& nonce, const ScanBounds& bounds) {
  ScannedBody scanned;
  if (!is_utf8(text, size)) {
    scanned.flaw = Flaw::kEncoding;
    return scanned;
  }
  Scanner(text, size, nonce, bounds, scanned).run();
  return scanned;
}

void format_vector(const float* values, size_t count, std::string& out) {
  out += '[';
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    append_shortest(values[i], out);
  }
  out += ']';
}

}  // namespace quiver
