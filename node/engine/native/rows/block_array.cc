#include "block_array.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace quiver {

namespace {

constexpr size_t kHugePage = size_t(2) << 20;

}  // namespace

Pages::Pages(size_t bytes) : data_(nullptr), bytes_(bytes) {
  const bool large = bytes >= 2 * kHugePage;
  const size_t reserved = large ? bytes + kHugePage : bytes;
  void* mapped = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<uint8_t*>(mapped);
  if (!large) return;
  const size_t lead = (kHugePage - reinterpret_cast<uintptr_t>(data_) % kHugePage) % kHugePage;
  if (lead > 0) munmap(data_, lead);
  if (lead < kHugePage) munmap(data_ + lead + bytes, kHugePage - lead);
  data_ += lead;
#if defined(MADV_HUGEPAGE)
  madvise(data_ + kHugePage, bytes - kHugePage, MADV_HUGEPAGE);
#endif
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

Pages::Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

BlockArray::BlockArray(size_t stride, unsigned shift)
    : stride_(stride),
      shift_(shift),
      mask_((size_t(1) << shift) - 1),
      table_(static_cast<uint8_t**>(std::calloc(kItemLimit >> shift, sizeof(uint8_t*)))) {
  if (table_ == nullptr) throw std::bad_alloc();
}

size_t BlockArray::block_bytes() const {
  // Whole pages, so that what follows a block stays unmapped and trimming stays page-aligned.
  constexpr size_t kPage = size_t(64) << 10;
  return ((stride_ << shift_) + kPage - 1) / kPage * kPage;
}

void BlockArray::spill(size_t count, SpillFile& file) {
  for (; (spilled_ + 1) << shift_ <= count && spilled_ < blocks_.size(); spilled_++) {
    file.take(blocks_[spilled_].data(), block_bytes());
  }
}

void BlockArray::reserve(size_t count) {
  const size_t bytes = block_bytes();
  while (capacity() < count) {
    blocks_.emplace_back(bytes);
    table_[blocks_.size() - 1] = blocks_.back().data();
  }
}

}  // namespace quiver
