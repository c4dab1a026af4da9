#pragma once

#include <cstddef>

namespace quiver {

// Whether the bytes are UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(const char* text, size_t size);

}  // namespace quiver
