#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cells/cells.h"
#include "search/search.h"
#include "stop_flag.h"

namespace quiver {

/**
 * The state of an index at one moment, for a save: everything but the originals, to which the save refers by their
 * number of rows and their checksums. Made on JavaScript's thread, written on another.
 */
struct SaveImage {
  std::shared_ptr<RowStore> store;
  std::shared_ptr<const Graph> graph;
  // Of a store on the disk; else they are made anew.
  std::shared_ptr<const Cells> cells;
  Effort effort;
  size_t rows;
  // Rows at the end of the graph that wait for their refinement.
  size_t coarse_rows;
  std::vector<uint64_t> dead;
  std::vector<uint32_t> checksums;

  explicit SaveImage(const Snapshot& snapshot);
};

/**
 * Writes the image to `path`: first syncs the originals, then writes the file under a temporary name, syncs and renames
 * it, and syncs the folder. One file: header, links, slots, dead bits, checksums of the originals; CRC-32C over the
 * header and over the rest. Throws StorageError; ClosedError when `stop` is raised.
 */
void write_save(const SaveImage& image, const std::string& path, const StopFlag& stop);

/**
 * Reads a save and the originals beside it, compares both with their checksums, and computes the codes again. Throws
 * StorageError if anything is missing, torn or made for another metric, quantization or dimension.
 */
Snapshot read_save(const std::string& path, const std::string& originals_path, const RowKind& kind, unsigned threads,
                   const StopFlag& stop);

}  // namespace quiver
