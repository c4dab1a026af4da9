#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "search.h"
#include "segment_search.h"
#include "shared_best.h"
#include "stop_flag.h"

namespace quiver {

/// A slot with its exact score.
struct SlotHit {
  double score;
  uint32_t slot;
};

/**
 * A search of several stores of one kind by several threads. Each store is searched by codes, and who is done last
 * scores again what may be among the best of all. One by one they would score the best of each, though most of these
 * are far from the best of all, and each original may be a read of the disk.
 *
 * Where there are several, each is searched for its part of the answer (segment_search.h), in turns: the turns of all
 * stores come one after the other, so that each goes by what all have found. How far a store is looked through depends
 * on when it was its turn, but is never less than its part of the answer needs.
 */
class JointSearch {
 public:
  // `snapshots`: taken on the thread that puts and removes.
  JointSearch(std::vector<Snapshot> snapshots, SearchRequest request);

  size_t size() const { return parts_.size(); }
  const SearchRequest& request() const { return request_; }

  /**
   * Searches stores until none is left; on any number of threads. Who is done last answers the hits of all, in no
   * order: with ties, and perhaps with more than are wanted. The others answer none, and so do all once one has thrown.
   * `allowed` grows by the number of slots that may be answers, about. Throws ClosedError when `stop` is raised;
   * StorageError.
   */
  std::vector<SlotHit> run(const StopFlag& stop, SearchCost& cost, size_t& allowed);

 private:
  struct Part {
    Snapshot snapshot;
    uint64_t changes = 0;
    // Its own `allowed`; made at its first turn.
    std::unique_ptr<SearchRequest> request;
    std::unique_ptr<SegmentSearch> search;
    BoundedRows bounded;
    // Of a part that was scanned exactly.
    std::vector<Hit> hits;
  };

  // Whose turn it is; null: all are being searched, or done.
  Part* next();
  // Answers whether it is done.
  bool take_turn(Part& part, const StopFlag& stop, SearchCost& cost, bool from_disk, size_t& allowed);
  void search_whole(Part& part, const StopFlag& stop, SearchCost& cost, bool from_disk);
  // Whether so many of the best hits have one score that stores may have more of them.
  bool may_lack_ties(std::vector<SlotHit> hits) const;
  // Searches a store again, by all its rows.
  void compare_all(Part& part, const StopFlag& stop, SearchCost& cost);
  std::vector<SlotHit> rescored(SearchCost& cost, bool from_disk);

  const SearchRequest request_;
  std::vector<Part> parts_;
  size_t live_ = 0;
  SharedBest best_;
  std::mutex mutex_;
  std::deque<Part*> turns_;
  // Stores that nobody is done with. It never falls to 0 where one has failed.
  std::atomic<size_t> left_;
};

}  // namespace quiver
