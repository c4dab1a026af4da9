#pragma once

#include <stdexcept>
#include <string>

namespace quiver {

// A failure with a name that JavaScript sees as the error's `code`.
struct CodedError : std::runtime_error {
  CodedError(const char* code, const std::string& message) : std::runtime_error(message), code(code) {}
  /// A string literal: it outlives the error.
  const char* const code;
};

// The disk failed, is full, or holds data that can't be used. Has errno's text if there is one.
struct StorageError : CodedError {
  explicit StorageError(const std::string& message) : CodedError("STORAGE_FAILED", message) {}
};

// The object of the call was closed before the call or during it.
struct ClosedError : CodedError {
  ClosedError() : CodedError("CLOSED", "it is closed") {}
};

// A StorageError that says what was being done, with errno's text.
StorageError storage_error(const std::string& what);

}  // namespace quiver
