#include "index_registry.h"

#include <mutex>
#include <unordered_map>

namespace quiver {

namespace {

// The shared indexes of one kind.
template <class Shared>
class Registry {
 public:
  // Never destroyed: a thread may still be searching while the process ends.
  static Registry& only() {
    static Registry& only = *new Registry;
    return only;
  }

  uint64_t share(const std::shared_ptr<Shared>& index) {
    std::lock_guard<std::mutex> guard(lock_);
    if (index->shared_number == 0) {
      indexes_.emplace(last_number_ + 1, index);
      index->shared_number = ++last_number_;
    }
    return index->shared_number;
  }

  void unshare(Shared& index) {
    if (index.shared_number == 0) return;
    std::lock_guard<std::mutex> guard(lock_);
    indexes_.erase(index.shared_number);
  }

  std::shared_ptr<Shared> find(uint64_t number) {
    std::lock_guard<std::mutex> guard(lock_);
    const auto found = indexes_.find(number);
    return found == indexes_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex lock_;
  std::unordered_map<uint64_t, std::weak_ptr<Shared>> indexes_;
  uint64_t last_number_ = 0;
};

}  // namespace

uint64_t share(const std::shared_ptr<Index>& index) { return Registry<Index>::only().share(index); }
uint64_t share(const std::shared_ptr<FilterIndex>& index) { return Registry<FilterIndex>::only().share(index); }

void unshare(Index& index) { Registry<Index>::only().unshare(index); }
void unshare(FilterIndex& index) { Registry<FilterIndex>::only().unshare(index); }

std::shared_ptr<Index> shared_index(uint64_t number) { return Registry<Index>::only().find(number); }
std::shared_ptr<FilterIndex> shared_filters(uint64_t number) { return Registry<FilterIndex>::only().find(number); }

}  // namespace quiver
