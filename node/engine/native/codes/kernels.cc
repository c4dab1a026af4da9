#include "kernels.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace quiver {

namespace {

using Getter = const Kernels* (*)();
constexpr Getter kBestFirst[] = {avx512_kernels, avx2_kernels, neon_kernels, plain_kernels};

}  // namespace

const Kernels& select_kernels(const char* name) {
  for (Getter get : kBestFirst) {
    const Kernels* kernels = get();
    if (kernels != nullptr && (name == nullptr || std::strcmp(name, kernels->name) == 0)) return *kernels;
  }
  throw std::invalid_argument(std::string("no kernels called ") + name + " run on this processor");
}

const char* const* available_kernels() {
  static const char* names[5] = {};
  size_t count = 0;
  for (Getter get : kBestFirst) {
    if (const Kernels* kernels = get()) names[count++] = kernels->name;
  }
  return names;
}

}  // namespace quiver
