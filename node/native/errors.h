#pragma once

#include <stdexcept>
#include <string>

namespace quiver {

/// The disk failed, is full, or holds what cannot be used; carries errno's text where there is one.
struct StorageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The index was closed while the call ran.
struct ClosedError : std::runtime_error {
  ClosedError() : std::runtime_error("the vector index is closed") {}
};

/// A StorageError that says what was being done and what errno says about it.
StorageError storage_error(const std::string& what);

}  // namespace quiver
