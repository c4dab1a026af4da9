#include "index_registry.h"

#include <mutex>
#include <unordered_map>

namespace quiver {

namespace {

struct Registry {
  std::mutex lock;
  std::unordered_map<uint64_t, std::weak_ptr<Index>> indexes;
  uint64_t last_number = 0;
};

// Never destroyed: a thread may still be searching while the process ends.
Registry& registry() {
  static Registry& only = *new Registry;
  return only;
}

}  // namespace

uint64_t share(const std::shared_ptr<Index>& index) {
  Registry& all = registry();
  std::lock_guard<std::mutex> guard(all.lock);
  if (index->shared_number == 0) {
    all.indexes.emplace(all.last_number + 1, index);
    index->shared_number = ++all.last_number;
  }
  return index->shared_number;
}

void unshare(Index& index) {
  if (index.shared_number == 0) return;
  Registry& all = registry();
  std::lock_guard<std::mutex> guard(all.lock);
  all.indexes.erase(index.shared_number);
}

std::shared_ptr<Index> shared_index(uint64_t number) {
  Registry& all = registry();
  std::lock_guard<std::mutex> guard(all.lock);
  const auto found = all.indexes.find(number);
  return found == all.indexes.end() ? nullptr : found->second.lock();
}

}  // namespace quiver
