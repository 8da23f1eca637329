// .npy: a magic word, a version, a header (a dict as Python writes it: descr, fortran_order, shape), and the elements.
#pragma once

#include "files/byte_source.h"
#include "files/replace_file.h"

#include <lento/tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace lento::files {

/// What stands before the elements. Throws DTypeError and ValueError for what such a file cannot hold; `name` is the
/// tensor's in a .npz file, for the message.
std::string npy_header(const Tensor& x, std::string_view name = "");

/// What the header of a file says.
struct NpyHeader {
  DType dtype = DType::bool_;
  bool swapped = false;  // the bytes of each number are in the other order
  bool fortran_order = false;
  Shape shape;
};
/// Of the dict alone. Throws Malformed.
NpyHeader parse_npy_header(std::string_view text);

/// Reads a tensor. Throws Malformed, and what reading throws.
Tensor read_npy(ByteSource& source);

}  // namespace lento::files
