// Threads that search a store on the disk while its owner fills it, so that blocks of codes go into the file, removes
// rows, seals it and closes it, built with ThreadSanitizer. The argument is a folder for files. Exits with 0 if every
// answer was sound; ThreadSanitizer exits otherwise for a race.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "errors.h"
#include "index_registry.h"
#include "search/joint_search.h"
#include "rows/segment_sealing.h"

namespace {

using namespace quiver;

constexpr size_t kDim = 8;
// More than a block of codes.
constexpr uint32_t kSlots = 70'000, kBatchSlots = 5'000, kKept = 700;
constexpr size_t kReaders = 3;

void fail(const char* what) {
  std::fprintf(stderr, "wrong: %s\n", what);
  std::_Exit(1);
}

std::vector<float> vectors_of(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> vectors(count * kDim);
  for (float& x : vectors) x = value(random);
  return vectors;
}

// Two threads search the store as two of one index. One of them answers, or none where it is being closed.
void search_jointly(const Snapshot& snapshot, const SearchRequest& request, const StopFlag& stop) {
  const bool has_rows = snapshot.rows->live() > 0;
  JointSearch joint({snapshot, snapshot}, request);
  std::vector<SlotHit> hits[2];
  std::atomic<bool> closed{false};
  const auto run = [&](size_t i) {
    SearchCost cost;
    size_t allowed = 0;
    try {
      hits[i] = joint.run(stop, cost, allowed);
    } catch (const ClosedError&) {
      closed = true;
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  if (!hits[0].empty() && !hits[1].empty()) fail("two threads answer");
  if (hits[0].empty() && hits[1].empty() && !closed && has_rows) fail("no thread answers");
  for (const std::vector<SlotHit>& some : hits) {
    for (const SlotHit& hit : some) {
      if (hit.slot >= kSlots) fail("a slot that was never put");
    }
  }
}

// A slot that moves from one store to another meanwhile is found in both, and takes the place of no other.
void search_moved(const Snapshot& snapshot, const StopFlag& stop, std::mt19937& random) {
  const size_t k = snapshot.rows->live() / 2;
  SearchRequest request{vectors_of(1, random), k, EffortKind::kCalibrated, 0, {}};
  request.allowed.count = snapshot.rows->live();
  JointSearch joint({snapshot, snapshot}, request);
  const uint32_t gone = 200;
  snapshot.rows->remove(&gone, 1);
  SearchCost cost;
  size_t allowed = 0;
  std::set<uint32_t> slots;
  for (const SlotHit& hit : joint.run(stop, cost, allowed)) slots.insert(hit.slot);
  if (slots.size() < k) fail("a slot took two places");
}

// Searches until the number leads nowhere.
void read(uint64_t number, unsigned seed, std::atomic<size_t>& answers) {
  std::mt19937 random(seed);
  while (const std::shared_ptr<Index> index = shared_index(number)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Snapshot snapshot = index->shared_snapshot();
    if (snapshot.rows == nullptr) continue;
    SearchRequest request{vectors_of(1, random), 10, EffortKind::kCalibrated, 0, {}};
    request.allowed.count = snapshot.rows->live();
    try {
      SearchCost cost;
      if (answers % 2 == 0) {
        search_jointly(snapshot, request, index->stop);
        answers++;
        continue;
      }
      const auto hits = search(snapshot, request, index->stop, cost);
      snapshot.rows->require_sound();
      for (size_t i = 0; i < hits.size(); i++) {
        if (snapshot.rows->slot(hits[i].row) >= kSlots) fail("a slot that was never put");
        if (i > 0 && hits[i].score > hits[i - 1].score) fail("the order of an answer");
      }
      answers++;
    } catch (const ClosedError&) {
    }
  }
}

}  // namespace

int main(int, char** words) {
  std::mt19937 random(20'462);
  auto index = std::make_shared<Index>();
  const RowKind kind{Metric::kCosine, Quantization::kInt8, kDim, select_kernels(nullptr), true};
  const std::string folder = words[1];
  index->snapshot = {std::make_shared<RowStore>(kind, folder + "/segment-0", 0), nullptr, Effort::guess(), nullptr};
  const uint64_t number = share(index);
  std::atomic<size_t> answers{0};
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < kReaders; i++) readers.emplace_back([=, &answers] { read(number, i, answers); });
  const auto await_more = [&] {
    for (const size_t before = answers; answers < before + 20;)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  std::vector<uint32_t> slots(kBatchSlots);
  for (uint32_t first = 0; first < kSlots; first += kBatchSlots) {
    for (uint32_t i = 0; i < kBatchSlots; i++) slots[i] = first + i;
    index->snapshot.rows->append(slots.data(), vectors_of(kBatchSlots, random).data(), kBatchSlots);
    const size_t before = answers;
    while (answers < before + 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (index->snapshot.rows->spilled_bytes() == 0) fail("no code is in the file");
  // Fewer are sealed soon.
  slots.clear();
  for (uint32_t slot = kKept; slot < kSlots; slot++) slots.push_back(slot);
  index->snapshot.rows->remove(slots.data(), slots.size());
  SegmentSealing sealing(index->snapshot.rows, folder + "/segment-1");
  std::thread sealer([&] { sealing.run(0.9, 2, index->stop); });
  for (uint32_t slot = 0; slot < 100; slot++) index->snapshot.rows->remove(&slot, 1);
  await_more();
  sealer.join();
  index->replace(sealing.finish());
  if (index->snapshot.cells == nullptr || index->snapshot.rows->live() != kKept - 100) fail("what was sealed");
  for (uint32_t slot = 100; slot < 200; slot++) index->snapshot.rows->remove(&slot, 1);
  await_more();
  search_moved(index->snapshot, index->stop, random);
  index->stop = true;
  unshare(*index);
  for (std::thread& reader : readers) reader.join();
  index->clear();
  std::printf("%zu answers\n", answers.load());
  return 0;
}
