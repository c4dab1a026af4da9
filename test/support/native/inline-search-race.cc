// Threads that search an index inline while its owner changes, rebuilds and closes it, built with ThreadSanitizer. The
// argument is a folder for files. Exits with 0 if every answer was sound; ThreadSanitizer exits otherwise for a race.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "search/calibration.h"
#include "rows/compaction.h"
#include "errors.h"
#include "graph/graph_builder.h"
#include "index_registry.h"

namespace {

using namespace quiver;

constexpr size_t kDim = 16;
// Under ThreadSanitizer a graph of more takes long to build, and races in it are found in one of these.
constexpr uint32_t kSlots = 300;
constexpr size_t kReaders = 3;
constexpr int kRounds = 2;

std::vector<float> vectors_of(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> vectors(count * kDim);
  for (float& x : vectors) x = value(random);
  return vectors;
}

void fail(const char* what) {
  std::fprintf(stderr, "wrong: %s\n", what);
  std::_Exit(1);
}

// Searches until the number leads nowhere; answers how many answers there were.
void read(uint64_t number, unsigned seed, std::atomic<size_t>& answers) {
  std::mt19937 random(seed);
  std::chrono::steady_clock::duration taken{};
  while (const std::shared_ptr<Index> index = shared_index(number)) {
    // Graphs are built at a low priority, which gets next to nothing beside threads that hardly rest.
    std::this_thread::sleep_for(std::clamp<std::chrono::steady_clock::duration>(
        20 * taken, std::chrono::milliseconds(1), std::chrono::milliseconds(50)));
    const auto since = std::chrono::steady_clock::now();
    const Snapshot snapshot = index->shared_snapshot();
    if (snapshot.rows == nullptr) continue;
    SearchRequest request{
        vectors_of(1, random), 10, seed % 2 == 0 ? EffortKind::kCalibrated : EffortKind::kGiven, 20, {}};
    request.allowed.count = snapshot.rows->live();
    try {
      SearchCost cost;
      const auto hits = search_inline(snapshot, request, index->stop, cost);
      snapshot.rows->require_sound();
      if (!hits.has_value()) continue;
      for (size_t i = 0; i < hits->size(); i++) {
        if (snapshot.rows->slot((*hits)[i].row) >= kSlots) fail("a slot that was never put");
        if (i > 0 && (*hits)[i].score > (*hits)[i - 1].score) fail("the order of an answer");
      }
      answers++;
      taken = std::chrono::steady_clock::now() - since;
    } catch (const ClosedError&) {
    }
  }
}

void put(Index& index, const std::vector<uint32_t>& slots, std::mt19937& random) {
  index.snapshot.rows->append(slots.data(), vectors_of(slots.size(), random).data(), slots.size());
}

void change(Index& index, std::mt19937& random) {
  std::vector<uint32_t> slots;
  for (uint32_t slot = uint32_t(random() % 7); slot < kSlots; slot += 7) slots.push_back(slot);
  index.snapshot.rows->remove(slots.data(), slots.size());
  put(index, slots, random);
}

// Answers how many answers there were.
size_t run(Quantization quantization, const std::string& folder) {
  std::mt19937 random(20'261);
  auto index = std::make_shared<Index>();
  const RowKind kind{Metric::kCosine, quantization, kDim, select_kernels(nullptr)};
  index->snapshot = {std::make_shared<RowStore>(kind, folder + "/originals-0", 0), nullptr, Effort::guess()};
  const uint64_t number = share(index);
  std::atomic<size_t> answers{0};
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < kReaders; i++) readers.emplace_back([=, &answers] { read(number, i, answers); });
  const auto await_more = [&] {
    for (const size_t before = answers; answers < before + 20;)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  std::vector<uint32_t> all_slots;
  for (uint32_t slot = 0; slot < kSlots; slot++) put(*index, {slot}, random);
  for (uint32_t slot = 0; slot < kSlots; slot++) all_slots.push_back(slot);
  // So many rows that some get sketches; most of them die, and so take no time to be linked.
  while (index->snapshot.rows->count() < Sketches::kChunkRows) put(*index, all_slots, random);
  if (Sketches::pay(kind)) {
    std::shared_ptr<const Sketches> sketches;
    const Snapshot rows = index->snapshot;
    std::thread sketcher([&] { sketches = std::make_shared<Sketches>(*rows.rows, nullptr, 0, 2, index->stop); });
    change(*index, random);
    sketcher.join();
    if (sketches->end() != Sketches::kChunkRows) fail("rows without sketches");
    index->set_sketches(sketches);
    change(*index, random);
    await_more();
  }
  for (int round = 1; round <= kRounds; round++) {
    change(*index, random);
    const Snapshot before = index->snapshot;
    std::shared_ptr<const Graph> graph;
    const Care care = round % 2 == 0 ? Care::kThorough : Care::kQuick;
    BuildCodes codes(before.rows);
    std::thread builder([&] {
      GraphGrowth growth(before.graph, before.rows->kind().has_compact_links());
      // In two steps, as one growth makes many.
      const size_t first = before.rows->count() - 100, all = before.rows->count();
      growth.extend(*before.rows, codes.of(first, 2, index->stop), first, care, 2, index->stop);
      graph = growth.extend(*before.rows, codes.of(all, 2, index->stop), all, care, 2, index->stop);
    });
    change(*index, random);
    builder.join();
    index->replace({before.rows, graph, index->snapshot.effort, nullptr,
                    Sketches::without(index->snapshot.sketches, graph->rows())});
    await_more();
    const Codes& int8 = codes.of(graph->rows(), 2, index->stop);
    std::thread refiner(
        [&] { refine_graph(*before.rows, int8, const_cast<Graph&>(*graph), 0, graph->rows(), 2, index->stop); });
    change(*index, random);
    await_more();
    refiner.join();
    index->set_effort(calibrate(index->snapshot, int8, 0.9, 1, index->stop));
    await_more();
    if (round % 2 != 0) continue;
    Compaction compaction(index->snapshot.rows, folder + "/originals-" + std::to_string(round));
    std::thread copier([&] { compaction.copy(500, 2, index->stop); });
    change(*index, random);
    copier.join();
    index->replace(compaction.finish());
    await_more();
  }
  unshare(*index);
  index->stop = true;
  index->clear();
  index.reset();
  for (std::thread& reader : readers) reader.join();
  return answers;
}

}  // namespace

int main(int, char** arguments) {
  // Graphs with wide links, and with narrow ones.
  const size_t answers = run(Quantization::kInt8, arguments[1]) + run(Quantization::kBinary, arguments[1]);
  std::printf("%zu answers\n", answers);
  return 0;
}
