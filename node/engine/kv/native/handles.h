#pragma once

#include <node_api.h>

#include <memory>
#include <stdexcept>
#include <utility>

namespace quiver {

// Type tags of the objects that JavaScript holds. Objects of another addon, or any others, are refused.
template <class T>
struct HandleTag;

template <class T>
void free_handle(napi_env, void* data, void*) {
  delete static_cast<std::shared_ptr<T>*>(data);
}

// An object that shares ownership of `value` until it is collected. Null with an exception pending on failure.
template <class T>
napi_value make_handle(napi_env env, std::shared_ptr<T> value) {
  napi_value object;
  auto holder = std::make_unique<std::shared_ptr<T>>(std::move(value));
  if (napi_create_object(env, &object) != napi_ok ||
      napi_type_tag_object(env, object, &HandleTag<T>::kTag) != napi_ok ||
      napi_wrap(env, object, holder.get(), free_handle<T>, nullptr, nullptr) != napi_ok) {
    return nullptr;
  }
  holder.release();
  return object;
}

// What the object holds. Throws std::invalid_argument if it was not made by `make_handle<T>`.
template <class T>
std::shared_ptr<T>& held_by(napi_env env, napi_value object) {
  bool tagged = false;
  void* data = nullptr;
  if (napi_check_object_type_tag(env, object, &HandleTag<T>::kTag, &tagged) != napi_ok || !tagged ||
      napi_unwrap(env, object, &data) != napi_ok) {
    throw std::invalid_argument(HandleTag<T>::kWanted);
  }
  return *static_cast<std::shared_ptr<T>*>(data);
}

// The value that the object shares. Throws std::invalid_argument for any other object, and for one that let go of it.
template <class T>
std::shared_ptr<T> handled(napi_env env, napi_value object) {
  std::shared_ptr<T> value = held_by<T>(env, object);
  if (value == nullptr) throw std::invalid_argument(HandleTag<T>::kWanted);
  return value;
}

// The object lets go of its value now and not when it is collected; calls under way keep it. Idempotent.
template <class T>
void let_go(napi_env env, napi_value object) {
  held_by<T>(env, object).reset();
}

}  // namespace quiver
