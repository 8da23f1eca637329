// Tensors with storage of their own, to call reference kernels directly: Owned is one, run() infers and computes.
#pragma once

#include <lento/error.h>

#include "backends/reference/array.h"
#include "backends/reference/dispatch.h"
#include "base/dispatch.h"
#include "ir/shape_table.h"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace lento::testing {

using reference::Array;

/// A contiguous tensor. Its block has exactly the bytes it needs, so that a sanitizer sees every access outside.
class Owned {
 public:
  explicit Owned(const Meta& meta)
      : meta_(std::make_shared<Meta>(meta)),
        bytes_(new std::byte[static_cast<std::size_t>(element_count(meta.shape)) * size_of(meta.dtype)]) {}

  template <class T>
  Owned(const Shape& shape, const std::vector<T>& values) : Owned(Meta{dtype_of<T>(), shape}) {
    if (values.size() != static_cast<std::size_t>(element_count(shape)))
      throw std::logic_error("shape and values differ");
    std::copy(values.begin(), values.end(), array().template as<T>());
  }
  /// One-dimensional.
  template <class T>
  explicit Owned(const std::vector<T>& values) : Owned(Shape{static_cast<std::int64_t>(values.size())}, values) {}

  const Meta& meta() const { return *meta_; }
  const Shape& shape() const { return meta_->shape; }
  DType dtype() const { return meta_->dtype; }
  Array array() const { return {bytes_.get(), meta_->dtype, meta_->shape}; }

  template <class T>
  std::vector<T> values() const {
    const T* first = array().template as<T>();
    return std::vector<T>(first, first + array().size());
  }
  /// Element i in row-major order.
  template <class T>
  T at(std::int64_t i) const {
    return array().template as<T>()[i];
  }

  Owned copy() const {
    Owned other(*meta_);
    std::memcpy(other.bytes_.get(), bytes_.get(), static_cast<std::size_t>(array().size()) * size_of(dtype()));
    return other;
  }

 private:
  std::shared_ptr<Meta> meta_;
  std::shared_ptr<std::byte[]> bytes_;
};

/// 0, 1, 2, … of this shape.
template <class T>
Owned counting(const Shape& shape) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) values.push_back(static_cast<T>(i));
  return Owned(shape, values);
}

/// Infers and computes an op with one tensor operand.
template <class Attrs>
Owned run(Meta (*infer)(const Meta&, Attrs&), void (*kernel)(const Array&, const Array&, const Attrs&), const Owned& x,
          Attrs attrs) {
  Owned out(infer(x.meta(), attrs));
  kernel(out.array(), x.array(), attrs);
  return out;
}

/// The same with two.
template <class Attrs>
Owned run(Meta (*infer)(const Meta&, const Meta&, Attrs&),
          void (*kernel)(const Array&, const Array&, const Array&, const Attrs&), const Owned& x, const Owned& y,
          Attrs attrs) {
  Owned out(infer(x.meta(), y.meta(), attrs));
  kernel(out.array(), x.array(), y.array(), attrs);
  return out;
}

/// Calls f.operator()<T>() for the C++ type of every dtype.
template <class F>
void dispatch_all(F f) {
  for (int d = 0; d < kDTypeCount; ++d) dispatch(static_cast<DType>(d), f);
}

/// Views of several.
inline std::vector<Array> arrays(const std::vector<Owned>& tensors) {
  std::vector<Array> views;
  for (const Owned& each : tensors) views.push_back(each.array());
  return views;
}
inline std::vector<Meta> metas(const std::vector<Owned>& tensors) {
  std::vector<Meta> all;
  for (const Owned& each : tensors) all.push_back(each.meta());
  return all;
}

/// The message of the error E that `call` throws; "" when it throws nothing.
template <class E, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

}  // namespace lento::testing
