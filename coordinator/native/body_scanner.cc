#include "body_scanner.h"

#include "decimal_float.h"

namespace quiver {
namespace {

class Scanner {
 public:
  Scanner(const char* text, size_t size, const std::string& nonce, size_t length_max, ScannedBody& out)
      : at_(text), end_(text + size), copied_(text), nonce_(nonce), length_max_(length_max), out_(out) {}

  bool run() {
    skip_space();
    if (!object(Level::kRoot)) return false;
    out_.rest.append(copied_, end_ - copied_);
    return true;
  }

 private:
  enum class Level { kRoot, kItem };

  bool peek(char c) const { return at_ < end_ && *at_ == c; }

  bool take(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  // The grammar of objects is followed strictly here: an array is only ever replaced where a member's value stands, so a
  // malformed body can't become a well-formed one by the replacement.
  bool object(Level level) {
    if (!take('{')) return false;
    skip_space();
    if (take('}')) return true;
    for (;;) {
      const char* key = at_;
      if (!skip_string()) return false;
      const size_t key_size = at_ - key;
      skip_space();
      if (!take(':')) return false;
      skip_space();
      if (!member(level, key, key_size)) return false;
      skip_space();
      if (take('}')) return true;
      if (!take(',')) return false;
      skip_space();
    }
  }

  bool member(Level level, const char* key, size_t key_size) {
    const auto is = [&](const char* name, size_t size) { return key_size == size && std::char_traits<char>::compare(key, name, size) == 0; };
    if (peek('[')) {
      if (is("\"vector\"", 8)) return vector();
      if (level == Level::kRoot && (is("\"items\"", 7) || is("\"queries\"", 9))) return items();
    }
    return skip_value();
  }

  bool items() {
    if (!take('[')) return false;
    skip_space();
    if (take(']')) return true;
    for (;;) {
      if (!(peek('{') ? object(Level::kItem) : skip_value())) return false;
      skip_space();
      if (take(']')) return true;
      if (!take(',')) return false;
      skip_space();
    }
  }

  bool vector() {
    const char* start = at_;
    const size_t first = out_.floats.size();
    if (!numbers(first)) {
      // Not an array of numbers only: JSON.parse and the validation say what is wrong with it.
      out_.floats.resize(first);
      at_ = start;
      return skip_value();
    }
    out_.rest.append(copied_, start - copied_);
    out_.rest += '"';
    out_.rest += nonce_;
    out_.rest += std::to_string(first);
    out_.rest += ':';
    out_.rest += std::to_string(out_.floats.size());
    out_.rest += '"';
    copied_ = at_;
    return true;
  }

  bool numbers(size_t first) {
    ++at_;
    skip_space();
    if (take(']')) return true;
    for (;;) {
      float value;
      at_ = parse_json_number(at_, end_, value);
      if (at_ == nullptr) return false;
      if (out_.floats.size() - first <= length_max_) out_.floats.push_back(value);
      if (take(',')) {
        skip_space();
        continue;
      }
      skip_space();
      if (take(']')) return true;
      if (!take(',')) return false;
      skip_space();
    }
  }

  // Skips a value whose inside does not matter here. Brackets are only counted: a mismatch stays in the copied text,
  // where JSON.parse meets it.
  bool skip_value() {
    if (peek('"')) return skip_string();
    if (!peek('{') && !peek('[')) return skip_scalar();
    size_t depth = 0;
    while (at_ < end_) {
      const char c = *at_;
      if (c == '"') {
        if (!skip_string()) return false;
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return true;
    }
    return false;
  }

  bool skip_scalar() {
    const char* start = at_;
    while (at_ < end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && *at_ != ' ' && *at_ != '\n' && *at_ != '\r' && *at_ != '\t') ++at_;
    return at_ > start;
  }

  bool skip_string() {
    if (!take('"')) return false;
    while (at_ < end_) {
      const char c = *at_++;
      if (c == '"') return true;
      if (c == '\\') {
        if (at_ == end_) return false;
        ++at_;
      }
    }
    return false;
  }

  const char* at_;
  const char* end_;
  // Everything before this has been copied to the rest or replaced.
  const char* copied_;
  const std::string& nonce_;
  const size_t length_max_;
  ScannedBody& out_;
};

}  // namespace

bool scan_body(const char* text, size_t size, const std::string& nonce, size_t length_max, ScannedBody& out) {
  return Scanner(text, size, nonce, length_max, out).run();
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
