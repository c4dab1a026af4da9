#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "search.h"
#include "stop_flag.h"

namespace quiver {

/**
 * The state of an index at one moment, as a save keeps it: everything but the originals, which the save refers to by
 * their number of rows and their checksums. Made on JavaScript's thread, written on another.
 */
struct SaveImage {
  std::shared_ptr<RowStore> store;
  std::shared_ptr<const Graph> graph;
  Effort effort;
  size_t rows;
  std::vector<uint64_t> dead;
  std::vector<uint32_t> checksums;

  explicit SaveImage(const Snapshot& snapshot);
};

/**
 * Writes the image to `path`: originals synced first, the file written aside, synced and renamed, the folder synced.
 * One file: header, links, slots, dead bits, checksums of the originals; CRC-32C over the header and over the rest.
 * Throws StorageError; ClosedError when `stop` is raised.
 */
void write_save(const SaveImage& image, const std::string& path, const StopFlag& stop);

/**
 * Reads a save and the originals beside it, checking both against their checksums, and computes the codes again.
 * Throws StorageError if anything is missing, torn or made for another metric or dimension.
 */
Snapshot read_save(const std::string& path, const std::string& originals_path, Metric metric, size_t dim,
                   const Kernels& kernels, unsigned threads, const StopFlag& stop);

}  // namespace quiver
