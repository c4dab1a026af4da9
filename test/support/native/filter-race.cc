// Threads that evaluate filters while the owner of the index puts, removes and replaces slots, built with
// ThreadSanitizer. Exits with 0 if every answer was right; ThreadSanitizer exits otherwise for a race.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "filter/case_fold.h"
#include "filter/filter_evaluation.h"
#include "filter/filter_index.h"
#include "filter/remembered_filters.h"

namespace {

using namespace quiver;

// Over two chunks of slots, so that lists of all their forms come and go.
constexpr uint32_t kSlots = 66'000, kStep = 4;
constexpr uint32_t kItems = kSlots / kStep;
constexpr size_t kReaders = 3;
constexpr int kRounds = 6;
// That the readers find before the owner goes on.
constexpr size_t kAnswers = 5;

using Words = std::vector<uint32_t>;

void add_text(Words& words, const std::string& text) {
  words.push_back(uint32_t(text.size()) * 2);
  const size_t from = words.size();
  words.resize(from + (text.size() + 3) / 4);
  std::memcpy(words.data() + from, text.data(), text.size());
}

void add_wide(Words& words, const std::string& text) {
  words.push_back(uint32_t(text.size()) * 2 + 1);
  const size_t from = words.size();
  words.resize(from + (text.size() + 1) / 2);
  for (size_t i = 0; i < text.size(); i++) reinterpret_cast<uint16_t*>(words.data() + from)[i] = uint8_t(text[i]);
}

void add_number(Words& words, double number) {
  words.resize(words.size() + 2);
  std::memcpy(words.data() + words.size() - 2, &number, sizeof number);
}

void fail(const char* what) {
  std::fprintf(stderr, "wrong: %s\n", what);
  std::_Exit(1);
}

// What an item holds follows from its version, which is 0 while it is not there.
std::string kind_of(uint32_t version) { return "kind-" + std::to_string(version % 3); }
double price_of(uint32_t item, uint32_t version) { return double((item * 31 + version * 17) % 1'000'000); }
std::string own_of(uint32_t item, uint32_t version) {
  return "own-" + std::to_string(item) + "-" + std::to_string(version);
}
bool is_sold(uint32_t version) { return version % 5 < 2; }
std::string day_of(uint32_t version) {
  const uint32_t day = version % 28 + 1;
  return "2024-01-" + std::string(day < 10 ? "0" : "") + std::to_string(day);
}

struct Story {
  FilterIndex index;
  uint32_t kind = 0, price = 0, sold = 0;
  // As the change counter of a shard: odd while a slot is removed.
  std::atomic<uint32_t> changes{0};
  // Version of each item before and after a write of it is done.
  std::array<std::atomic<uint32_t>, kItems> begun{}, answered{};
  std::atomic<bool> ended{false};
  std::atomic<size_t> answers{0}, tests{0}, remembered{0};

  Words change(uint32_t item, uint32_t version, bool puts) const {
    Words words{item * kStep, puts ? 1u : 0u};
    words.push_back(kind * 16 + 5);
    add_text(words, kind_of(version));
    words.push_back(price * 16 + 4);
    add_number(words, price_of(item, version));
    words.push_back(sold * 16 + (is_sold(version) ? 2 : 3));
    // A value of its own, so that values come and go.
    words.push_back(sold * 16 + 8 + 5);
    add_text(words, own_of(item, version));
    words.push_back(sold * 16 + 8 + 5);
    add_text(words, day_of(version));
    return words;
  }

  void apply(const Words& words) {
    WordReader reader(words.data(), words.size());
    index.apply(reader);
  }

  void put(uint32_t item, uint32_t version) {
    begun[item] = version;
    apply(change(item, version, true));
    answered[item] = version;
  }

  void remove(uint32_t item) {
    changes++;
    apply(change(item, answered[item], false));
    answered[item] = 0;
    begun[item] = 0;
    changes++;
  }
};

struct Asked {
  Words words;
  bool (*passes)(uint32_t item, uint32_t version);
};

// A test of texts: contains, with cases folded.
Words within(const std::string& path, const std::string& text) {
  Words words{7};
  add_wide(words, path);
  words.insert(words.end(), {1, 1, uint32_t(text.size())});
  for (const char c : text) words.push_back(uint8_t(c));
  return words;
}

constexpr double kFirstDay = 1'704'067'200'000, kDay = 86'400'000;

std::vector<Asked> filters() {
  Words equal{3}, range{5}, own{5}, both{0, 2}, not_equal{2, 3}, few{4}, days{9};
  add_wide(days, "sold");
  add_number(days, kFirstDay + 3 * kDay);
  add_number(days, kFirstDay + 9 * kDay);
  add_wide(equal, "kind");
  equal.push_back(5);
  add_text(equal, "kind-1");
  add_wide(range, "price");
  range.insert(range.end(), {2, 4});
  add_number(range, 400'000);
  add_wide(own, "sold");
  own.insert(own.end(), {1, 5});
  add_text(own, "own-7");
  both.push_back(3);
  add_wide(both, "sold");
  both.push_back(2);
  both.insert(both.end(), range.begin(), range.end());
  add_wide(not_equal, "kind");
  not_equal.push_back(5);
  add_text(not_equal, "kind-2");
  add_wide(few, "price");
  few.push_back(40);
  for (int i = 0; i < 40; i++) {
    few.push_back(4);
    add_number(few, i);
  }
  return {{equal, [](uint32_t, uint32_t version) { return version % 3 == 1; }},
          {range, [](uint32_t item, uint32_t version) { return price_of(item, version) < 400'000; }},
          {own, [](uint32_t item, uint32_t version) { return own_of(item, version) >= "own-7"; }},
          {both, [](uint32_t item, uint32_t version) { return is_sold(version) && price_of(item, version) < 400'000; }},
          {not_equal, [](uint32_t, uint32_t version) { return version % 3 != 2; }},
          {few, [](uint32_t item, uint32_t version) { return price_of(item, version) < 40; }},
          {within("sold", "wn-12"),
           [](uint32_t item, uint32_t version) { return own_of(item, version).find("wn-12") != std::string::npos; }},
          {days, [](uint32_t, uint32_t version) { return version % 28 >= 3 && version % 28 <= 9; }}};
}

// What passes, asked slot by slot.
std::vector<uint32_t> kept_of(const SlotTest& test) {
  std::vector<uint32_t> slots(kSlots), passed(kSlots), bitmap(kSlots / 32 + 1);
  std::iota(slots.begin(), slots.end(), 0u);
  passed.resize(test.keep(slots.data(), slots.size(), passed.data()));
  for (const uint32_t slot : passed) bitmap[slot / 32] |= 1u << (slot % 32);
  return bitmap;
}

// What is remembered of a filter that is asked again and again.
std::shared_ptr<const FoundSlots> remembered_of(Story& story, RememberedFilters& memory, const Words& words) {
  const FilterCondition filter = read_filter(words.data(), words.size());
  for (uint32_t asked = 0; asked < RememberedFilters::kAsked; asked++) {
    const uint64_t changes = story.index.changes();
    const auto make = [&] { return resolve_filter(story.index, filter, std::numeric_limits<double>::infinity()); };
    const auto is_unchanged = [&] { return story.index.is_unchanged(changes); };
    std::shared_ptr<const FoundSlots> found = memory.find(1, changes, words.data(), words.size(), make, is_unchanged);
    if (found != nullptr) return found;
  }
  return nullptr;
}

void read(Story& story, unsigned seed) {
  std::mt19937 random(seed);
  RememberedFilters memory;
  const std::vector<Asked> all = filters();
  std::vector<uint32_t> before(kItems);
  while (!story.ended) {
    const Asked& asked = all[random() % all.size()];
    const uint32_t changes = story.changes;
    for (uint32_t item = 0; item < kItems; item++) before[item] = story.answered[item];
    std::vector<uint32_t> bitmap;
    {
      const Reading reading;
      if (!reading.admitted()) fail("no seat for a reader");
      const FilterCondition filter = read_filter(asked.words.data(), asked.words.size());
      constexpr double kForever = std::numeric_limits<double>::infinity();
      const std::shared_ptr<const FoundSlots> remembered =
          random() % 3 == 0 ? remembered_of(story, memory, asked.words) : nullptr;
      const std::optional<SlotTest> test =
          remembered == nullptr && random() % 2 == 0
              ? test_of_filter(story.index, filter, kForever, [](size_t) { return true; })
              : std::nullopt;
      bitmap = remembered != nullptr ? remembered->words
               : test.has_value()    ? kept_of(*test)
                                     : std::move(*resolve_filter(story.index, filter, kForever)).as_bitmap();
      if (test.has_value()) story.tests++;
      if (remembered != nullptr) story.remembered++;
    }
    if ((changes & 1) != 0 || story.changes != changes) continue;
    for (uint32_t item = 0; item < kItems; item++) {
      const uint32_t slot = item * kStep, version = story.begun[item];
      const bool found = slot / 32 < bitmap.size() && (bitmap[slot / 32] >> (slot % 32) & 1) != 0;
      if (story.changes != changes) break;
      if (found && (version == 0 || !asked.passes(item, version))) fail("a slot that does not pass");
      if (!found && before[item] != 0 && asked.passes(item, before[item])) fail("a slot was missed");
    }
    story.answers++;
  }
}

// When slots are remembered, and for how long.
void check_memory() {
  RememberedFilters memory;
  size_t made = 0;
  size_t words = 1;
  bool stays = true;
  const auto ask = [&](uint32_t filter, uint64_t changes, uint64_t index = 1) {
    const auto make = [&]() -> std::optional<FoundSlots> {
      made++;
      FoundSlots found;
      found.listed = false;
      found.words.assign(words, filter);
      return found;
    };
    const std::shared_ptr<const FoundSlots> found =
        memory.find(index, changes, &filter, 1, make, [&] { return stays; });
    if (found != nullptr && found->words.at(0) != filter) fail("the slots of another filter");
    return found != nullptr;
  };
  const auto settle = [&](uint32_t filter, uint64_t changes) {
    for (uint32_t i = 1; i < RememberedFilters::kAsked; i++)
      if (ask(filter, changes)) fail("slots that were remembered at once");
    return ask(filter, changes);
  };
  if (!settle(7, 2) || !ask(7, 2) || made != 1) fail("a filter that is asked again is not remembered");
  if (ask(7, 3) || ask(7, 4)) fail("slots are remembered beyond a change");
  if (ask(7, 2, 5)) fail("the slots of another index");
  stays = false;
  if (settle(8, 2) || ask(8, 2) || made != 2) fail("slots are remembered though the index was changed meanwhile");
  stays = true;
  for (uint32_t filter = 100; filter < 140; filter++) if (!settle(filter, 2)) fail("a later filter is not remembered");
  if (!ask(139, 2) || ask(100, 2)) fail("the filter that was asked last is not kept, or the first one is");
  words = RememberedFilters::kBytesMax / sizeof(uint32_t) / 2;
  for (uint32_t filter = 200; filter < 203; filter++) {
    if (!settle(filter, 2)) fail("a large bitmap is not remembered");
    if (memory.bytes() > RememberedFilters::kBytesMax) fail("more bytes than may be kept");
  }
  if (ask(200, 2) || !ask(201, 2) || !ask(202, 2)) fail("other bitmaps than the first made room");
  words = RememberedFilters::kBytesMax / sizeof(uint32_t) + 1;
  if (settle(300, 2)) fail("a bitmap is larger than what may be kept");
}

}  // namespace

int main() {
  check_memory();
  std::vector<uint16_t> cases(65'536);
  for (size_t unit = 0; unit < cases.size(); unit++) cases[unit] = uint16_t(unit);
  for (char c = 'A'; c <= 'Z'; c++) cases[uint8_t(c)] = uint16_t(c - 'A' + 'a');
  CaseFold::install(cases.data(), nullptr, 0);
  auto story = std::make_unique<Story>();
  const auto field = [&](const char* name) {
    Words words;
    add_text(words, name);
    WordReader reader(words.data(), words.size());
    return story->index.add_field(FilterIndex::kRoot, reader.characters());
  };
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < kReaders; i++) readers.emplace_back([&story, i] { read(*story, i); });
  // Readers look for fields that are not there yet, too.
  story->kind = field("kind");
  story->price = field("price");
  story->sold = field("sold");
  std::mt19937 random(20'261);
  uint32_t version = 0;
  const auto await_more = [&] {
    for (const size_t before = story->answers; story->answers < before + kAnswers;)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  for (int round = 0; round < kRounds; round++) {
    // New slots alone, in any order; then some go, and their slots are used again.
    for (uint32_t i = 0; i < kItems / 4; i++) {
      const uint32_t item = random() % kItems;
      if (story->answered[item] == 0) story->put(item, ++version);
      if (i % 256 == 0) std::this_thread::yield();
    }
    await_more();
    for (const size_t i : {1, 2, 6, 7}) {
      // As the owner does before it evaluates them: a column comes, keys are sorted, signatures or times are made.
      if (round % 2 == 0) continue;
      const Words searched = filters()[i].words;
      prepare_filter(story->index, read_filter(searched.data(), searched.size()));
    }
    // In slices, with writes between them.
    for (uint32_t i = 0; i < kItems / 6; i++) {
      const uint32_t item = random() % kItems;
      if (story->answered[item] != 0) story->remove(item);
      else if (i % 8 == 0) story->put(item, ++version);
      if (i % 64 == 0) story->index.order_some(2'000);
    }
    await_more();
  }
  if (story->index.field(story->price).column.load() == nullptr) fail("no column was made");
  if (story->index.field(story->price).order.load() == nullptr) fail("its numbers were not put in order");
  const auto* facts = story->index.field(story->sold).strings.load()->facts();
  if (facts == nullptr || facts->signatures.facts() == nullptr || facts->times.facts() == nullptr)
    fail("no signatures or times were made");
  if (story->remembered == 0) fail("nothing was remembered");
  if (story->tests == 0) fail("no filter was asked slot by slot");
  story->ended = true;
  for (std::thread& reader : readers) reader.join();
  std::printf("%zu answers\n", story->answers.load());
  return 0;
}
