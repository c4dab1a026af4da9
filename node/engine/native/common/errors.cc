#include "errors.h"

#include <cerrno>
#include <cstring>

namespace quiver {

StorageError storage_error(const std::string& what) { return StorageError(what + ": " + std::strerror(errno)); }

}  // namespace quiver
