// FAISS's own HNSW, on one thread, for `npm run bench -- curves`:
//   faiss-curve build METRIC DIM CONNECTIVITY CONSTRUCTION ROWS INDEX
//   faiss-curve search DIM QUERIES K INDEX EFFORT...
// ROWS and QUERIES are files of float32 values, row after row. `search` writes a line for each effort: the effort, the
// mean microseconds of a search, and the rows found for all queries.
#include <faiss/IndexHNSW.h>
#include <faiss/index_io.h>
#include <omp.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static std::vector<float> floats(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<float> values(static_cast<size_t>(file.tellg()) / sizeof(float));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

static int build(char** words) {
  const std::string metric = words[0];
  const int dim = std::atoi(words[1]);
  faiss::IndexHNSWFlat index(dim, std::atoi(words[2]), metric == "l2" ? faiss::METRIC_L2 : faiss::METRIC_INNER_PRODUCT);
  index.hnsw.efConstruction = std::atoi(words[3]);
  const std::vector<float> rows = floats(words[4]);
  index.add(static_cast<std::int64_t>(rows.size() / dim), rows.data());
  faiss::write_index(&index, words[5]);
  return 0;
}

static int search(int count, char** words) {
  omp_set_num_threads(1);
  const int dim = std::atoi(words[0]);
  const std::vector<float> queries = floats(words[1]);
  const int k = std::atoi(words[2]);
  const size_t query_count = queries.size() / dim;
  std::unique_ptr<faiss::Index> loaded(faiss::read_index(words[3]));
  auto& index = dynamic_cast<faiss::IndexHNSW&>(*loaded);
  std::vector<float> distances(k);
  std::vector<std::int64_t> found(query_count * k);
  for (int i = 4; i < count; i++) {
    index.hnsw.efSearch = std::atoi(words[i]);
    double micros = 0;
    // The first pass warms up.
    for (int pass = 0; pass < 2; pass++) {
      const auto start = std::chrono::steady_clock::now();
      for (size_t query = 0; query < query_count; query++)
        index.search(1, &queries[query * dim], k, distances.data(), &found[query * k]);
      micros = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
               static_cast<double>(query_count);
    }
    std::printf("%s %.3f", words[i], micros);
    for (const std::int64_t row : found) std::printf(" %lld", static_cast<long long>(row));
    std::printf("\n");
  }
  return 0;
}

int main(int count, char** words) {
  const std::string mode = count > 1 ? words[1] : "";
  if (mode == "build" && count == 8) return build(words + 2);
  if (mode == "search" && count > 6) return search(count - 2, words + 2);
  std::fprintf(stderr, "faiss-curve: see the source for its arguments\n");
  return 2;
}
