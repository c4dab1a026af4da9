#include "index_object.h"

#include <stdexcept>

#include "index_registry.h"

namespace quiver {

namespace {

void stop_index_at_env_end(void* data) { static_cast<Index*>(data)->stop = true; }

// JavaScript object → index. The holder is freed with the object.
struct Holder {
  std::shared_ptr<Index> index;
};

constexpr napi_type_tag kTypeTag = {0x5156525645435449, 0x4e44455831000001};

void free_holder(napi_env env, void* data, void*) {
  Holder* holder = static_cast<Holder*>(data);
  napi_remove_env_cleanup_hook(env, stop_index_at_env_end, holder->index.get());
  holder->index->stop = true;
  unshare(*holder->index);
  delete holder;
}

}  // namespace

void wrap_index(napi_env env, napi_value self, std::shared_ptr<Index> index) {
  auto holder = std::make_unique<Holder>();
  holder->index = std::move(index);
  if (napi_type_tag_object(env, self, &kTypeTag) != napi_ok ||
      napi_wrap(env, self, holder.get(), free_holder, nullptr, nullptr) != napi_ok) {
    throw std::invalid_argument("vector indexes are made by new");
  }
  napi_add_env_cleanup_hook(env, stop_index_at_env_end, holder->index.get());
  holder.release();
}

std::shared_ptr<Index> index_of(napi_env env, napi_value self) {
  bool tagged = false;
  void* data = nullptr;
  if (napi_check_object_type_tag(env, self, &kTypeTag, &tagged) != napi_ok || !tagged ||
      napi_unwrap(env, self, &data) != napi_ok || data == nullptr) {
    throw std::invalid_argument("not a vector index");
  }
  return static_cast<Holder*>(data)->index;
}

}  // namespace quiver
