#pragma once

#include <cstdint>
#include <string>

namespace quiver {

/** How much of the manifest of a database has been on stable storage, and its content so far. */
struct ManifestWatermark {
  // That of its name.
  uint64_t number;
  uint64_t size;
  // CRC-32C of its first `size` bytes.
  uint32_t content;
};

/**
 * The watermark is in the third block of the file of the watermark of synced changes (synced_watermark.h), which
 * earlier versions do not read. RocksDB takes a manifest that was cut for one that ends there: tables that were added
 * since are none of the database then, and are removed as such, although later changes in the log show the full count
 * of changes.
 *
 * A watermark is written after each sync of a manifest, and is not synced itself: it is never ahead of what it is
 * about. 32 bytes: u64 number, u64 size, u32 content, u32 magic, u32 zero, u32 CRC-32C of the bytes before;
 * little-endian.
 */

// Never throws: what can't be noted is not checked at the next opening.
void raise_manifest_watermark(const std::string& folder, const ManifestWatermark& watermark) noexcept;

// Throws DamagedError if the manifest that CURRENT names has a watermark, and lacks some of what was stored, or has
// something else there; StorageError if a file can't be read.
void refuse_changed_manifest(const std::string& folder);

}  // namespace quiver
