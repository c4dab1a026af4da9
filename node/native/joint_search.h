#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search.h"
#include "stop_flag.h"

namespace quiver {

/// A slot with its exact score.
struct SlotHit {
  double score;
  uint32_t slot;
};

/**
 * A search of several stores of one kind by several threads. Each store is searched by codes, and who is done last scores again
 * what may be among the best of all. One by one they would score the best of each, though most of these are far from the best
 * of all, and each original may be a read of the disk.
 */
class JointSearch {
 public:
  // `snapshots`: taken on the thread that puts and removes.
  JointSearch(std::vector<Snapshot> snapshots, SearchRequest request);

  size_t size() const { return parts_.size(); }
  const SearchRequest& request() const { return request_; }

  /**
   * Searches stores until none is left; on any number of threads. Who is done last answers the hits of all, in no order: with
   * ties, and perhaps with more than are wanted. The others answer none, and so do all once one has thrown. `allowed` grows by
   * the number of slots that may be answers, about. Throws ClosedError when `stop` is raised; StorageError.
   */
  std::vector<SlotHit> run(const StopFlag& stop, SearchCost& cost, size_t& allowed);

 private:
  struct Part {
    Snapshot snapshot;
    uint64_t changes = 0;
    BoundedRows bounded;
    // Of a part that was scanned exactly.
    std::vector<Hit> hits;
  };

  void search_part(Part& part, const StopFlag& stop, SearchCost& cost, bool from_disk, size_t& allowed);
  std::vector<SlotHit> rescored(SearchCost& cost, bool from_disk);

  const SearchRequest request_;
  std::vector<Part> parts_;
  std::atomic<size_t> next_{0};
  // Stores that nobody is done with. It never falls to 0 where one has failed.
  std::atomic<size_t> left_;
};

}  // namespace quiver
