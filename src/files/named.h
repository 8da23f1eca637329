// Several tensors on their way to and from files.
#pragma once

#include <lento/tensor_dict.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lento::files {

/// What a file with several tensors gives.
struct Named {
  TensorDict tensors;              // those whose names begin with the prefix, without it
  std::vector<std::string> names;  // all names of the file
};

/// The elements in memory; computes them.
inline std::string_view elements_of(const Tensor& x) {
  const auto* data = static_cast<const char*>(x.data_pointer());
  return {data, static_cast<std::size_t>(x.size()) * size_of(x.dtype())};
}

}  // namespace lento::files
