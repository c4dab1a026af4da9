#include "time_of_text.h"

#include <cstdint>
#include <limits>

namespace quiver {

namespace {

constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();
constexpr uint32_t kCharactersMax = 48, kFractionDigits = 6;

// Reads a text from its beginning.
class DateReader {
 public:
  explicit DateReader(const Characters& text) : text_(text) {}

  bool at_end() const { return at_ == text_.count; }
  bool takes(uint16_t character) {
    if (at_end() || text_.at(at_) != character) return false;
    at_++;
    return true;
  }
  // So many digits; false if there are others.
  bool number(uint32_t digits, int64_t& value) {
    value = 0;
    for (uint32_t i = 0; i < digits; i++) {
      if (!is_digit()) return false;
      value = value * 10 + (text_.at(at_++) - '0');
    }
    return true;
  }
  // A fraction of a second in microseconds; what is finer is left out.
  bool fraction(int64_t& micros) {
    micros = 0;
    if (!is_digit()) return false;
    uint32_t digits = 0;
    for (; is_digit(); at_++) {
      if (digits == kFractionDigits) continue;
      micros = micros * 10 + (text_.at(at_) - '0');
      digits++;
    }
    for (; digits < kFractionDigits; digits++) micros *= 10;
    return true;
  }

 private:
  bool is_digit() const { return !at_end() && text_.at(at_) >= '0' && text_.at(at_) <= '9'; }

  const Characters& text_;
  uint32_t at_ = 0;
};

bool is_leap(int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int64_t days_of_month(int64_t year, int64_t month) {
  if (month == 2) return is_leap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Days since 1970 in the Gregorian calendar. Years begin with March here, so that a leap day ends one.
int64_t days_since_1970(int64_t year, int64_t month, int64_t day) {
  const int64_t y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;
  // Of 0000-03-01, and no year is before it but January and February of 0000.
  const int64_t leaps = y >= 0 ? y / 4 - y / 100 + y / 400 : -1;
  return y * 365 + leaps + (m * 153 + 2) / 5 + day - 1 - 719'468;
}

}  // namespace

double time_of_text(const Characters& text) {
  if (text.count < 10 || text.count > kCharactersMax) return kNoTime;
  DateReader reader(text);
  int64_t year, month, day, hour = 0, minute = 0, second = 0, micros = 0, offset = 0;
  if (!reader.number(4, year) || !reader.takes('-') || !reader.number(2, month) || !reader.takes('-') ||
      !reader.number(2, day))
    return kNoTime;
  if (month < 1 || month > 12 || day < 1 || day > days_of_month(year, month)) return kNoTime;
  if (reader.takes('T') || reader.takes('t') || reader.takes(' ')) {
    if (!reader.number(2, hour) || !reader.takes(':') || !reader.number(2, minute)) return kNoTime;
    if (reader.takes(':')) {
      if (!reader.number(2, second)) return kNoTime;
      if ((reader.takes('.') || reader.takes(',')) && !reader.fraction(micros)) return kNoTime;
    }
    if (hour > 23 || minute > 59 || second > 60) return kNoTime;
    const bool spaced = reader.takes(' ');
    const bool after = reader.takes('+');
    if (after || reader.takes('-')) {
      int64_t hours, minutes = 0;
      if (!reader.number(2, hours)) return kNoTime;
      if (!reader.at_end()) {
        reader.takes(':');
        if (!reader.number(2, minutes)) return kNoTime;
      }
      if (hours > 23 || minutes > 59) return kNoTime;
      offset = (hours * 60 + minutes) * (after ? 1 : -1);
    } else if (!reader.takes('Z') && !reader.takes('z') && spaced) {
      return kNoTime;
    }
  }
  if (!reader.at_end()) return kNoTime;
  const int64_t seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute - offset) * 60 + second;
  return double(seconds * 1000) + double(micros) / 1000.0;
}

}  // namespace quiver
