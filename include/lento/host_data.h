// Tensors from data of the host: numbers in braces, containers, memory. Uploaded at once (counter transfer.h2d).
//
//     tensor({{1.0f, 2.0f}, {3.0f, 4.0f}})    // any depth; 3.0f alone is zero-dimensional
//     tensor<float>({{1, 2}, {3, 4}})         // the same
//     tensor(std::vector{1, 2, 3, 4}, {2, 2})  // std::array, std::span, vectors of vectors, …
#pragma once

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/export.h>
#include <lento/ints.h>
#include <lento/scalar.h>
#include <lento/tensor.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <vector>

namespace lento {

/// Copies `size_of(dtype) * element_count(shape)` bytes. Throws ValueError when `data` is null and there are some.
LENTO_API Tensor from_host(const void* data, DType dtype, const Shape& shape, Device device = {},
                           std::source_location site = std::source_location::current());

/// A tensor whose `bytes` bytes `fill` writes, row-major: straight into the memory of a device with in_host_memory.
/// Throws what it throws, and ValueError for bools other than 0 and 1 and for an empty function.
LENTO_API Tensor from_filler(const std::function<void(void* data, std::size_t bytes)>& fill, DType dtype,
                             const Shape& shape, Device device = {},
                             std::source_location site = std::source_location::current());

/// A tensor on host memory of somebody else, which is neither copied nor written: row-major, aligned to its elements
/// and not null where there are some (ValueError). It must not change while the tensor, or work that reads it, lives;
/// then `owner` is let go, on any thread and perhaps under locks: its deleter must call nothing of Lento. Needs a
/// device with in_host_memory.
LENTO_API Tensor from_memory(const void* data, DType dtype, const Shape& shape, std::shared_ptr<const void> owner,
                             Device device = {}, std::source_location site = std::source_location::current());

/// The elements, for another library that reads them while a handle of this value is kept for it. Nothing of what Lento
/// derives from them is kept from one step to the next any more, in case that library writes them after all.
LENTO_API const void* export_data(const Tensor& x, std::source_location site = std::source_location::current());

/// True when the device computes in the host's memory.
LENTO_API bool in_host_memory(Device device);

/// The tensor's value on another device; the tensor itself when it is there. Reads the value, so it waits for it.
LENTO_API Tensor to_device(const Tensor& x, Device device, std::source_location site = std::source_location::current());

namespace detail {

/// Numbers in braces, nested to any depth; or one number. It points into the braces, so it lives only as an argument.
class NestedList {
 public:
  template <Element T>
  NestedList(T number) : number_(number), dtype_(dtype_of<T>()) {}
  NestedList(std::initializer_list<NestedList> items) : items_(items), is_list_(true) {}
  NestedList(const NestedList&) = delete;
  NestedList& operator=(const NestedList&) = delete;

  bool is_list() const { return is_list_; }
  std::initializer_list<NestedList> items() const { return items_; }
  const Scalar& number() const { return number_; }
  DType dtype() const { return dtype_; }

 private:
  std::initializer_list<NestedList> items_;
  Scalar number_;
  DType dtype_ = DType::bool_;
  bool is_list_ = false;
};

/// The numbers in a range of numbers, of such ranges, …; void where there are none.
template <class R>
struct NumbersIn {
  using type = void;
  static constexpr std::size_t kDepth = 0;
};
template <class R>
using ItemOf = std::iter_value_t<decltype(std::ranges::begin(std::declval<R&>()))>;
template <class R>
  requires requires(R& values) {
    std::ranges::end(values);
    requires !std::same_as<std::remove_cvref_t<R>, ItemOf<R>>;
  }
struct NumbersIn<R> {
  using Item = ItemOf<R>;
  using type = std::conditional_t<Element<Item>, Item, typename NumbersIn<const Item>::type>;
  static constexpr std::size_t kDepth = 1 + NumbersIn<const Item>::kDepth;
};

/// `dtype`: that of the numbers by default.
LENTO_API Tensor nested_tensor(const NestedList& values, std::optional<DType> dtype, const OptionalInts& shape,
                               Device device, const std::source_location& site);
/// `x`, converted.
LENTO_API Tensor as_dtype(const Tensor& x, DType dtype, const std::source_location& site);
/// Throws ShapeError with the line.
[[noreturn]] LENTO_API void fail_to_fill(const std::string& what, const std::source_location& site);
/// The given shape if this many elements fill it, else `found` when none is given.
LENTO_API Shape filled_shape(std::int64_t count, const OptionalInts& given, const Shape& found,
                             const std::source_location& site);

/// Appends the numbers as T, bools as bytes; the extents, -1 where unknown, are those of the first items. False if
/// others differ from them.
template <class T, class R, class Stored>
bool flatten(R& values, std::size_t axis, Shape& extents, std::vector<Stored>& out) {
  std::int64_t count = 0;
  bool regular = true;
  for (const auto& item : values) {
    ++count;
    if constexpr (NumbersIn<R>::kDepth > 1) {
      regular = flatten<T>(item, axis + 1, extents, out) && regular;
    } else if constexpr (std::same_as<T, typename NumbersIn<R>::type>) {
      out.push_back(static_cast<Stored>(item));
    } else {
      out.push_back(static_cast<Stored>(Scalar(static_cast<typename NumbersIn<R>::type>(item)).template to<T>()));
    }
  }
  if (extents[axis] < 0) extents[axis] = count;
  return regular && extents[axis] == count;
}

}  // namespace detail

/// Ranges whose innermost items are numbers.
template <class R>
concept NumberRange = !std::is_void_v<typename detail::NumbersIn<std::remove_reference_t<R>>::type>;

/// Numbers in braces, of one type or of several, which are promoted to a common one. Braces next to each other must
/// hold equally many (ShapeError). With a shape, they are its elements in row-major order.
inline Tensor tensor(detail::NestedList&& values, const OptionalInts& shape = std::nullopt, Device device = {},
                     std::source_location site = std::source_location::current()) {
  return detail::nested_tensor(values, std::nullopt, shape, device, site);
}
/// tensor<float>({1, 2}): the numbers as T.
template <Element T>
Tensor tensor(detail::NestedList&& values, const OptionalInts& shape = std::nullopt, Device device = {},
              std::source_location site = std::source_location::current()) {
  return detail::nested_tensor(values, dtype_of<T>(), shape, device, site);
}

/// tensor<float>(v): the numbers in a std::vector, std::array, std::span, vector of vectors, …, as T.
template <Element T, NumberRange R>
Tensor tensor(R&& values, const OptionalInts& shape = std::nullopt, Device device = {},
              std::source_location site = std::source_location::current()) {
  if constexpr (requires { static_cast<const T*>(std::data(values)), std::size(values); }) {
    const auto count = static_cast<std::int64_t>(std::size(values));
    return from_host(std::data(values), dtype_of<T>(), detail::filled_shape(count, shape, count, site), device, site);
  } else {
    // Bools as bytes: a std::vector of them has no elements in memory.
    std::vector<std::conditional_t<std::same_as<T, bool>, unsigned char, T>> numbers;
    Shape extents(detail::NumbersIn<std::remove_reference_t<R>>::kDepth, -1);
    if (!detail::flatten<T>(values, 0, extents, numbers)) detail::fail_to_fill("rows have different lengths", site);
    std::replace(extents.begin(), extents.end(), std::int64_t{-1}, std::int64_t{0});
    const auto count = static_cast<std::int64_t>(numbers.size());
    return from_host(numbers.data(), dtype_of<T>(), detail::filled_shape(count, shape, extents, site), device, site);
  }
}
/// The same with the type of the numbers.
template <NumberRange R>
Tensor tensor(R&& values, const OptionalInts& shape = std::nullopt, Device device = {},
              std::source_location site = std::source_location::current()) {
  return tensor<typename detail::NumbersIn<std::remove_reference_t<R>>::type>(values, shape, device, site);
}

/// tensor({1, 2}, DType::float64): the numbers as this dtype.
template <std::same_as<DType> D>
Tensor tensor(detail::NestedList&& values, D dtype, const OptionalInts& shape = std::nullopt, Device device = {},
              std::source_location site = std::source_location::current()) {
  return detail::nested_tensor(values, dtype, shape, device, site);
}
template <NumberRange R, std::same_as<DType> D>
Tensor tensor(R&& values, D dtype, const OptionalInts& shape = std::nullopt, Device device = {},
              std::source_location site = std::source_location::current()) {
  return detail::as_dtype(tensor(values, shape, device, site), dtype, site);
}

/// On another device than the default one.
template <std::same_as<Device> D>
Tensor tensor(detail::NestedList&& values, D device, std::source_location site = std::source_location::current()) {
  return detail::nested_tensor(values, std::nullopt, std::nullopt, device, site);
}
template <NumberRange R, std::same_as<Device> D>
Tensor tensor(R&& values, D device, std::source_location site = std::source_location::current()) {
  return tensor(values, std::nullopt, device, site);
}

/// A zero-dimensional tensor.
template <Element T>
Tensor scalar_tensor(T value, Device device = {}, std::source_location site = std::source_location::current()) {
  return from_host(&value, dtype_of<T>(), Shape{}, device, site);
}

}  // namespace lento
