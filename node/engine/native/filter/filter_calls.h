#pragma once

#include <node_api.h>

#include <functional>
#include <memory>
#include <optional>

#include "filter_evaluation.h"
#include "filter_index.h"
#include "filter_program.h"
#include "lists/heap.h"
#include "remembered_filters.h"

namespace quiver {

class Arguments;

// The class FilterIndex, as node/engine/vector/native-filters.ts declares it. Null with a pending exception.
napi_value define_filter_index(napi_env env);

// The index that a method is called of. Throws std::invalid_argument.
FilterIndex& filter_index_of(napi_env env, const Arguments& arguments);

// The function foldCases, as node/engine/vector/native-binding.ts declares it. Null with a pending exception.
napi_value define_fold_cases(napi_env env);

/**
 * A filter index that is read on the calling thread, which need not own it, and a filter: argument `first` is the
 * number of the index, the next one the filter's words, which must stay. The thread reads for as long as this object
 * lives. Throws std::invalid_argument, std::bad_alloc.
 */
class SharedFilter {
 public:
  SharedFilter(const Arguments& arguments, size_t first);

  // Nothing if the index is gone, holds items outside its lists, or the filter takes long.
  std::optional<FoundSlots> resolve() const;
  // The slots, where the filter was asked before, nothing has changed since, and so many are wanted as a bitmap; null
  // otherwise.
  std::shared_ptr<const FoundSlots> remembered(RememberedFilters& memory,
                                               const std::function<bool(size_t)>& is_wanted) const;
  // As test_of_filter. Who has used it asks `is_whole`, or forgets what it found.
  std::optional<SlotTest> test(const std::function<bool(size_t)>& enough) const;
  // Whether all items are in the lists.
  bool is_whole() const;

 private:
  std::optional<FoundSlots> resolve(double ns_max) const;

  const std::shared_ptr<FilterIndex> index_;
  const uint64_t number_;
  const uint32_t* const words_;
  const size_t count_;
  const FilterCondition filter_;
  const Reading reading_;
};

}  // namespace quiver
