#include "index_save.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "codes/build_codes.h"
#include "files/checked_file.h"
#include "errors.h"
#include "threads.h"
#include "graph/walk.h"

namespace quiver {

namespace {

// "QVRVEC" and the format's version, in little-endian order. Version 1 ends its header with an
// effort of another kind, so it is measured again. Version 3 is for codes of another kind than int8, which still has
// version 2: earlier programs read it.
constexpr uint64_t kMagic1 = 0x0001434556525651;
constexpr uint64_t kMagic2 = 0x0002434556525651;
constexpr uint64_t kMagic3 = 0x0003434556525651;
// Version 4 is for stores on the disk, which have cells and no graph. Version 5 also says how far a search for few rows
// goes; without that, a store that is one of several is searched for as many as one that is alone.
constexpr uint64_t kMagic4 = 0x0004434556525651;
constexpr uint64_t kMagic5 = 0x0005434556525651;

// Levels above the bottom: by the builder's probabilities, one row in 24^16 has as many.
constexpr uint32_t kLevelsMax = 16;
// More than any calibration finds: of rows that a walk keeps, and of anything else.
constexpr float kPoolMax = 1 << 20, kEffortMax = 1 << 30;
// Rows whose links are copied and written at a time: some hundred kilobytes.
constexpr size_t kCopiedRows = 4096;

struct Header {
  uint64_t magic;
  uint32_t metric;
  uint32_t dim;
  uint64_t rows;
  uint64_t graph_rows;
  uint32_t degree;
  uint32_t upper_degree;
  uint64_t upper_nodes;
  uint64_t upper_links;
  int32_t entry_node;
  int32_t entry_row;
  int32_t top_level;
  uint32_t has_graph;
};

// Follows the header in versions 2 and 3.
struct SavedEffort {
  Reach at_10, at_100, passing_100, passing_400;
  float largest_norm;
  // Rows at the end of the graph that wait for their refinement.
  uint32_t coarse_rows;
  uint64_t rows;
};

// Follows the effort in versions 3 to 5.
struct SavedCodes {
  uint32_t quantization;
  float deviations;
  float passing_deviations;
};

// Follows the codes in versions 4 and 5, and in version 5 is followed by what was measured for few rows. Where cells
// start comes last of all.
struct SavedCells {
  uint64_t count;
  Cells::Measured measured;
};

bool is_of_disk(const Header& header) { return header.magic == kMagic4 || header.magic == kMagic5; }

// Follows the header in version 1, whose graphs had all rows linked with care.
struct SavedEffort1 {
  uint32_t values[4];
  uint64_t rows;
};

template <class T>
void write_all(CheckedWriter& file, const std::vector<T>& values) {
  file.write(values.data(), values.size() * sizeof(T));
}

template <class T>
std::vector<T> read_all(CheckedReader& file, size_t count) {
  // The header has passed its checksum. This prevents a wrong one from asking for more memory than the file can fill.
  if (count > file.bytes() / sizeof(T)) throw StorageError("a saved vector index is shorter than its header says");
  std::vector<T> values(count);
  file.read(values.data(), count * sizeof(T));
  return values;
}

// Refinement may write links meanwhile, so what is summed and written is a copy of each.
void write_links(CheckedWriter& file, const Graph& graph) {
  std::vector<int32_t> links(kCopiedRows * graph.degree());
  for (size_t first = 0; first < graph.rows(); first += kCopiedRows) {
    const size_t count = std::min(kCopiedRows, graph.rows() - first) * graph.degree();
    for (size_t i = 0; i < count; i += graph.degree()) graph.read_list(first + i / graph.degree(), &links[i]);
    file.write(links.data(), count * sizeof(int32_t));
  }
}

void require(bool condition) {
  if (!condition) throw StorageError("a saved vector index contradicts itself");
}

bool in_range(int64_t value, size_t end) { return value >= -1 && value < int64_t(end); }

// What the walk and FAISS rely on: upper nodes in the order of their rows, each list within the links, links of a level
// to nodes that have that level, and an entry that is on the top level.
void check_upper_levels(const Graph& graph) {
  const size_t degree = graph.upper_degree();
  require(graph.upper.empty() || degree > 0);
  for (size_t node = 0; node < graph.upper.size(); node++) {
    const Graph::UpperNode& upper = graph.upper[node];
    require(upper.row < graph.rows() && (node == 0 || upper.row > graph.upper[node - 1].row));
    require(upper.levels > 0 && upper.levels <= kLevelsMax);
    require(upper.first_link + size_t(upper.levels) * degree <= graph.upper_links.size());
    for (size_t level = 1; level <= upper.levels; level++) {
      for (size_t j = 0; j < degree; j++) {
        const int32_t link = graph.upper_list(node, level)[j];
        require(in_range(link, graph.upper.size()));
        require(link < 0 || graph.upper[size_t(link)].levels >= level);
      }
    }
  }
  if (graph.entry_node < 0) {
    require(graph.top_level == 0);
  } else {
    const Graph::UpperNode& entry = graph.upper[size_t(graph.entry_node)];
    require(int64_t(entry.row) == graph.entry_row && int64_t(entry.levels) == graph.top_level);
  }
}

// Pools of a size that is not a number, or is far too large, would ask for all memory.
bool usable(const Reach& reach) {
  const auto within = [](float value, float low, float high) { return value >= low && value <= high; };
  const bool out_of_reach = reach.pool == 0 && reach.expanded == 0 && reach.scored == 0;
  return within(reach.gamma, 0, kEffortMax) && (out_of_reach || (within(reach.pool, 1, kPoolMax) &&
         within(reach.expanded, 1, kEffortMax) && within(reach.scored, 1, kEffortMax)));
}

// The effort, and in `coarse_rows` how many rows at the end of the graph wait for their refinement.
Effort read_effort(CheckedReader& file, const Header& header, size_t& coarse_rows) {
  coarse_rows = 0;
  if (header.magic == kMagic1) {
    SavedEffort1 ignored;
    file.read(&ignored, sizeof ignored);
    return Effort::guess();
  }
  SavedEffort saved;
  file.read(&saved, sizeof saved);
  require(usable(saved.at_10) && usable(saved.at_100) && usable(saved.passing_100) && usable(saved.passing_400));
  require(saved.largest_norm >= 0 && saved.rows <= header.rows && saved.coarse_rows <= header.graph_rows);
  coarse_rows = saved.coarse_rows;
  return {saved.at_10,        saved.at_100, saved.passing_100, saved.passing_400,
          saved.largest_norm, kDeviations,  kDeviations,       size_t(saved.rows)};
}

// What version 3 says besides of codes and effort; the versions before had int8 codes.
Quantization read_codes(CheckedReader& file, const Header& header, Effort& effort) {
  if (header.magic != kMagic3 && !is_of_disk(header)) return Quantization::kInt8;
  SavedCodes saved;
  file.read(&saved, sizeof saved);
  require(saved.quantization <= uint32_t(Quantization::kBinary));
  for (float deviations : {saved.deviations, saved.passing_deviations})
    require(deviations > 0 && deviations <= kDeviations);
  effort.deviations = saved.deviations;
  effort.passing_deviations = saved.passing_deviations;
  return Quantization(saved.quantization);
}

// With `compact` links in memory; in the file they have 32 bits.
std::shared_ptr<const Graph> read_graph(CheckedReader& file, const Header& header, size_t coarse_rows, bool compact) {
  require(header.graph_rows > 0 && header.graph_rows <= header.rows);
  require(header.degree > 0 && header.degree <= kDegreeMax && header.upper_degree <= kDegreeMax);
  // Rows are below 2^30 and degrees at most 64, so no product of them overflows.
  require(header.graph_rows * header.degree <= file.bytes() / sizeof(int32_t));
  auto graph = std::make_shared<Graph>(header.graph_rows, header.degree, header.upper_degree, compact);
  std::vector<int32_t> links(kCopiedRows * graph->degree());
  for (size_t first = 0; first < graph->rows(); first += kCopiedRows) {
    const size_t count = std::min(kCopiedRows, graph->rows() - first) * graph->degree();
    file.read(links.data(), count * sizeof(int32_t));
    for (size_t i = 0; i < count; i++) require(in_range(links[i], graph->rows()));
    for (size_t i = 0; i < count; i += graph->degree()) graph->write_list(first + i / graph->degree(), &links[i]);
  }
  graph->upper = read_all<Graph::UpperNode>(file, header.upper_nodes);
  graph->upper_links = read_all<int32_t>(file, header.upper_links);
  graph->entry_node = header.entry_node;
  graph->entry_row = header.entry_row;
  graph->top_level = header.top_level;
  require(in_range(graph->entry_row, graph->rows()) && in_range(graph->entry_node, graph->upper.size()));
  check_upper_levels(*graph);
  graph->refined_rows = graph->rows() - coarse_rows;
  return graph;
}

// From one checksum to another.
void load_originals(RowStore& store, const std::vector<uint32_t>& checksums, size_t from, size_t end, unsigned threads,
                    const StopFlag& stop) {
  std::atomic<size_t> next{from};
  const auto load = [&](unsigned) {
    for (size_t i = next++; i < end; i = next++) {
      if (stop.load(std::memory_order_relaxed)) throw ClosedError();
      const size_t first = i * OriginalsFile::kChecksumRows;
      const size_t count = std::min(OriginalsFile::kChecksumRows, store.count() - first);
      if (store.load_rows(first, count) != checksums[i]) {
        throw StorageError(store.path + " does not match its checksums");
      }
    }
  };
  // A thread takes longer to start than few rows to read.
  if (end - from <= 1) return load(0);
  run_in_threads(threads, load);
}

void load_originals(RowStore& store, const std::vector<uint32_t>& checksums, unsigned threads, const StopFlag& stop) {
  // On the disk a block of memory after the other: each is in a file before the next begins.
  const size_t rows = size_t(1) << store.codes().shift();
  const size_t part = store.on_disk ? std::max<size_t>(1, rows / OriginalsFile::kChecksumRows) : checksums.size();
  for (size_t from = 0; from < checksums.size(); from += part) {
    const size_t end = std::min(from + part, checksums.size());
    load_originals(store, checksums, from, end, threads, stop);
    if (store.on_disk) store.spill(std::min(end * OriginalsFile::kChecksumRows, store.count()));
  }
}

bool usable(float beyond) { return beyond >= -kEffortMax && beyond <= kEffortMax; }
bool usable(double visited) { return visited >= 0 && visited < double(kItemLimit); }

SavedCells read_cells(CheckedReader& file) {
  SavedCells saved;
  file.read(&saved, sizeof saved);
  require(saved.count < kItemLimit && usable(saved.measured.beyond_by_place));
  for (float beyond : saved.measured.beyond) require(usable(beyond));
  for (double visited : saved.measured.visited) require(usable(visited));
  return saved;
}

Cells::MeasuredFew read_few(CheckedReader& file) {
  Cells::MeasuredFew few;
  file.read(&few, sizeof few);
  for (size_t rank = 0; rank < Cells::kFew; rank++)
    require(usable(few.beyond[rank]) && usable(few.beyond_by_place[rank]) && usable(few.visited[rank]));
  for (float farthest : few.farthest) require(usable(farthest));
  return few;
}

}  // namespace

SaveImage::SaveImage(const Snapshot& snapshot)
    : store(snapshot.rows),
      graph(snapshot.graph),
      cells(snapshot.rows->on_disk ? snapshot.cells : nullptr),
      effort(snapshot.effort),
      rows(store->count()),
      coarse_rows(graph == nullptr ? 0 : graph->rows() - graph->refined_rows),
      dead(store->dead_words(rows)),
      checksums(store->originals().checksums()) {}

void write_save(const SaveImage& image, const std::string& path, const StopFlag& stop) {
  image.store->originals().sync();
  if (stop.load(std::memory_order_relaxed)) throw ClosedError();
  Header header;
  std::memset(&header, 0, sizeof header);
  const Quantization quantization = image.store->codes().quantization;
  header.magic = image.store->on_disk ? kMagic5 : quantization == Quantization::kInt8 ? kMagic2 : kMagic3;
  header.metric = uint32_t(image.store->metric);
  header.dim = uint32_t(image.store->dim);
  header.rows = image.rows;
  if (image.graph != nullptr) {
    header.has_graph = 1;
    header.graph_rows = image.graph->rows();
    header.degree = uint32_t(image.graph->degree());
    header.upper_degree = uint32_t(image.graph->upper_degree());
    header.upper_nodes = image.graph->upper.size();
    header.upper_links = image.graph->upper_links.size();
    header.entry_node = image.graph->entry_node;
    header.entry_row = image.graph->entry_row;
    header.top_level = image.graph->top_level;
  }
  CheckedWriter file(path);
  file.write(&header, sizeof header);
  const Effort& effort = image.effort;
  const SavedEffort saved{effort.at_10, effort.at_100, effort.passing_100, effort.passing_400,
                          effort.largest_norm, uint32_t(image.coarse_rows), effort.rows};
  file.write(&saved, sizeof saved);
  if (header.magic == kMagic3 || header.magic == kMagic5) {
    const SavedCodes codes{uint32_t(quantization), effort.deviations, effort.passing_deviations};
    file.write(&codes, sizeof codes);
  }
  const size_t cells = image.cells == nullptr ? 0 : image.cells->count();
  if (header.magic == kMagic5) {
    SavedCells saved;
    std::memset(&saved, 0, sizeof saved);
    Cells::MeasuredFew few{};
    saved.count = cells;
    if (cells > 0) {
      saved.measured = image.cells->measured();
      few = image.cells->measured_few();
    }
    file.write(&saved, sizeof saved);
    file.write(&few, sizeof few);
  }
  file.write_checksum();
  if (image.graph != nullptr) {
    write_links(file, *image.graph);
    write_all(file, image.graph->upper);
    write_all(file, image.graph->upper_links);
  }
  std::vector<uint32_t> slots(image.rows);
  for (size_t row = 0; row < image.rows; row++) slots[row] = image.store->slot(row);
  write_all(file, slots);
  write_all(file, image.dead);
  write_all(file, image.checksums);
  if (cells > 0) write_all(file, image.cells->starts());
  file.write_checksum();
  if (stop.load(std::memory_order_relaxed)) throw ClosedError();
  file.commit();
}

Snapshot read_save(const std::string& path, const std::string& originals_path, const RowKind& kind, unsigned threads,
                   const StopFlag& stop) {
  CheckedReader file(path);
  Header header;
  file.read(&header, sizeof header);
  if (header.magic != kMagic1 && header.magic != kMagic2 && header.magic != kMagic3 && !is_of_disk(header)) {
    throw StorageError(path + " is no saved vector index");
  }
  size_t coarse_rows;
  Effort effort = read_effort(file, header, coarse_rows);
  const Quantization quantization = read_codes(file, header, effort);
  SavedCells cells{};
  Cells::MeasuredFew few{};
  if (is_of_disk(header)) cells = read_cells(file);
  if (header.magic == kMagic5) few = read_few(file);
  file.expect_checksum();
  if (header.metric != uint32_t(kind.metric) || header.dim != kind.dim)
    throw StorageError(path + " is of another collection");
  if (is_of_disk(header) != kind.on_disk) throw StorageError(path + " is of an index that is kept elsewhere");
  if (quantization != kind.quantization) throw StorageError(path + " has codes of another kind");
  Snapshot snapshot{nullptr, nullptr, Effort::guess(), nullptr};
  // Before anything is multiplied by it or read into memory.
  require(header.rows < kItemLimit && header.has_graph <= 1 && (!is_of_disk(header) || header.has_graph == 0));
  if (header.has_graph != 0) {
    snapshot.graph = read_graph(file, header, coarse_rows, kind.has_compact_links());
    snapshot.effort = effort;
  }
  const auto slots = read_all<uint32_t>(file, header.rows);
  const auto dead = read_all<uint64_t>(file, (header.rows + 63) / 64);
  const auto checksums =
      read_all<uint32_t>(file, (header.rows + OriginalsFile::kChecksumRows - 1) / OriginalsFile::kChecksumRows);
  const auto starts = read_all<uint32_t>(file, cells.count == 0 ? 0 : cells.count + 1);
  file.expect_checksum();
  file.expect_end();
  for (size_t i = 1; i < starts.size(); i++) require(starts[i] >= starts[i - 1]);
  require(starts.empty() || (starts.front() == 0 && starts.back() == header.rows));
  for (uint32_t slot : slots) require(slot < kItemLimit);
  // Bits beyond the last row would delete rows that are added later.
  require(header.rows % 64 == 0 || dead.back() >> (header.rows % 64) == 0);
  snapshot.rows = std::make_shared<RowStore>(kind, originals_path, header.rows);
  load_originals(*snapshot.rows, checksums, threads, stop);
  snapshot.rows->originals().adopt_checksums(checksums);
  snapshot.rows->load_slots(slots.data(), dead.data());
  if (!starts.empty()) {
    BuildCodes codes(snapshot.rows);
    snapshot.cells = std::make_shared<Cells>(*snapshot.rows, codes.of(header.rows, threads, stop), starts,
                                             cells.measured, few, threads, stop);
    snapshot.rows->spill_all();
  }
  return snapshot;
}

}  // namespace quiver
