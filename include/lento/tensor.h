// Tensor: a handle on a value that is pending, ready or failed. Handles have value semantics: copying one shares the
// value, `x += y` and `x.set({...}, v)` give this handle a new value and leave every other handle as it was.
#pragma once

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/error.h>
#include <lento/export.h>
#include <lento/indexing.h>
#include <lento/ints.h>
#include <lento/operand.h>
#include <lento/scalar.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lento {

struct TensorState;
class Subscript;
class Generator;

class LENTO_API Tensor {
 public:
  /// A handle on nothing, as one is that was moved from; using it is a ValueError.
  Tensor() = default;
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  /// Lets go of what this handle had. Only a handle that has a name can be assigned to: `(x + y)[{0}] = z` would be
  /// lost, and does not compile.
  Tensor& operator=(const Tensor& other) & noexcept {
    Tensor copy(other);
    std::swap(state_, copy.state_);
    return *this;
  }
  /// The same; `other` is empty then.
  Tensor& operator=(Tensor&& other) & noexcept {
    Tensor taken(std::move(other));
    std::swap(state_, taken.state_);
    return *this;
  }
  ~Tensor() {
    if (state_ != nullptr) release(state_);
  }

  // --- what is known without computing ---

  /// False for a default-constructed handle.
  bool defined() const { return state_ != nullptr; }
  DType dtype() const;
  const Shape& shape() const;
  std::int64_t rank() const { return static_cast<std::int64_t>(shape().size()); }
  /// Number of elements.
  std::int64_t size() const { return element_count(shape()); }
  Device device() const;
  /// True while the value has not been computed.
  bool is_pending() const;
  /// A number that no other value of this process has.
  std::uint64_t id() const;

  // --- reading: computes what is pending; throws the original error if that failed ---

  /// The one element of a tensor of size 1, converted to T.
  template <Number T>
  T item(std::source_location site = std::source_location::current()) const {
    return item_scalar(site).to<T>();
  }
  Scalar item_scalar(std::source_location site = std::source_location::current()) const;
  /// All elements, row-major; T must be the element type.
  template <Element T>
  std::vector<T> to_vector(std::source_location site = std::source_location::current()) const {
    const T* first = data<T>(site);
    return std::vector<T>(first, first + size());
  }
  /// The elements in memory, row-major, valid while this handle (or a copy) keeps this value. T must be the element
  /// type.
  template <Element T>
  const T* data(std::source_location site = std::source_location::current()) const {
    return static_cast<const T*>(read(dtype_of<T>(), site));
  }
  /// The same without a type.
  const void* data_pointer(std::source_location site = std::source_location::current()) const;
  /// As NumPy prints it.
  std::string to_string(std::source_location site = std::source_location::current()) const;

  // --- a new value for this handle (shape and dtype stay); a temporary would lose it, so that does not compile ---

  Tensor& operator+=(const Operand& other) &;
  Tensor& operator-=(const Operand& other) &;
  Tensor& operator*=(const Operand& other) &;
  Tensor& operator/=(const Operand& other) &;
  Tensor& operator%=(const Operand& other) &;
  Tensor& operator&=(const Operand& other) &;
  Tensor& operator|=(const Operand& other) &;
  Tensor& operator^=(const Operand& other) &;
  Tensor& operator<<=(const Operand& other) &;
  Tensor& operator>>=(const Operand& other) &;
  /// Gives this handle `value`, which must have its shape and is cast to its dtype: floats of any width fit into a
  /// floating tensor, a float into an integer tensor is a DTypeError. Errors show `operation`, a literal.
  Tensor& assign(const Operand& value, std::string_view operation = "assign") &;
  /// x[index] = value.
  Tensor& set(std::initializer_list<Index> index, const Operand& value) &;

  // --- indexing ---

  /// x[{0, Slice{1, 5}, ellipsis}]: the part as it is now, which can also be assigned to.
  Subscript operator[](IndexList&& index) &;
  /// Of a temporary or a constant: a value like any other.
  Tensor operator[](IndexList&& index) const&;
  /// x.slice(0, 1, 5): elements 1 to 4 along axis 0.
  Tensor slice(std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
               std::int64_t step = 1, std::source_location site = std::source_location::current()) const;

  // --- ops of the catalogue as methods ---
  // Lento's own files call the functions instead, and are compiled without these: a new method recompiles one of them.
#ifndef LENTO_WITHOUT_METHODS
#include <lento/tensor_methods.gen.inc>
#endif

  /// For Lento's own layers.
  TensorState* state() const { return state_; }
  static Tensor adopt(TensorState* state) {
    Tensor tensor;
    tensor.state_ = state;
    return tensor;
  }

 private:
  const void* read(DType expected, const std::source_location& site) const;
  static void release(TensorState* state) noexcept;

  TensorState* state_ = nullptr;
};

/// What `x[{...}]` gives. Used as a value it is the part of x at that moment, a Tensor. In the expression that has the
/// brackets, and only there, it can be assigned to, which gives x a new value:
///
///     x[{0}] = 3;  x[{0}] += 1;   // x changes
///     auto row = x[{0}];          // a value: it stays when x changes, and x may be gone
///     row = 3;                    // does not compile: write x[{0}] = 3, or Tensor row for a handle of its own
///
/// Throws IndexError at once for what is known of the index without computing.
class LENTO_API Subscript {
 public:
  Subscript(Tensor& target, IndexList& index);
  /// The value.
  Subscript(const Subscript& other);
  ~Subscript();

  operator Tensor() const { return part(); }
  Tensor get(std::source_location site = std::source_location::current()) const { return part(site); }

  // --- a new value for the part, and with it for x; gives the part as it is then ---

  Subscript operator=(const Operand& value) &&;
  Subscript operator=(const Subscript& value) &&;
  Subscript operator+=(const Operand& value) &&;
  Subscript operator-=(const Operand& value) &&;
  Subscript operator*=(const Operand& value) &&;
  Subscript operator/=(const Operand& value) &&;
  Subscript operator%=(const Operand& value) &&;
  Subscript operator&=(const Operand& value) &&;
  Subscript operator|=(const Operand& value) &&;
  Subscript operator^=(const Operand& value) &&;
  Subscript operator<<=(const Operand& value) &&;
  Subscript operator>>=(const Operand& value) &&;

  // --- the part as a Tensor, without a name for it ---

  DType dtype() const { return part().dtype(); }
  const Shape& shape() const { return part().shape(); }
  std::int64_t rank() const { return part().rank(); }
  std::int64_t size() const { return part().size(); }
  Device device() const { return part().device(); }
  bool is_pending() const { return part().is_pending(); }
  template <Number T>
  T item(std::source_location site = std::source_location::current()) const {
    return part(site).item<T>(site);
  }
  Scalar item_scalar(std::source_location site = std::source_location::current()) const {
    return part(site).item_scalar(site);
  }
  template <Element T>
  std::vector<T> to_vector(std::source_location site = std::source_location::current()) const {
    return part(site).to_vector<T>(site);
  }
  std::string to_string(std::source_location site = std::source_location::current()) const {
    return part(site).to_string(site);
  }
  /// A part of the part is a value: `x[{0}][{1}] = 3` does not compile, `x[{0, 1}] = 3` does.
  Tensor operator[](IndexList&& index) const { return part()[std::move(index)]; }
  Tensor slice(std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
               std::int64_t step = 1, std::source_location site = std::source_location::current()) const {
    return part(site).slice(axis, start, stop, step, site);
  }
#ifndef LENTO_WITHOUT_METHODS
#include <lento/tensor_methods.gen.inc>
#endif

 private:
  friend class IndexList;
  friend class Operand;
  friend class Printed;
  friend struct LocatedTensor;
  using BinaryOp = Tensor (*)(const Operand&, const Operand&);

  /// Recorded when it is first asked for.
  const Tensor& part(const std::source_location& site) const;
  const Tensor& part() const;
  Subscript update(BinaryOp op, const Operand& value, std::string_view operation);
  /// The expression with the brackets ends: only the value stays.
  void keep_value() noexcept;

  Tensor* target_;                // what is assigned to; null when that is over
  IndexList* index_;              // null together with target_
  Tensor before_;                 // the target when this was made, until the part is recorded or given up
  mutable Tensor part_;           // empty until the part is read
  std::exception_ptr failure_{};  // why there is no part, for whoever reads it
};

/// The operand of unary operators, and the first argument of functions of any number of tensors: they have no place for
/// the caller's line behind them.
struct LocatedTensor {
  LocatedTensor(const Tensor& x, std::source_location line = std::source_location::current()) : tensor(x), site(line) {}
  LocatedTensor(const Subscript& part, std::source_location line = std::source_location::current())
      : tensor(part.part(line)), site(line) {}

  const Tensor& tensor;
  std::source_location site;
};

inline Operand::Operand(const Subscript& part, const std::source_location& site) : Operand(part.part(site), site) {}

// --- operators, elementwise with broadcasting (clause T3 for the types) ---

LENTO_API Tensor operator+(const Operand& a, const Operand& b);
LENTO_API Tensor operator-(const Operand& a, const Operand& b);
LENTO_API Tensor operator*(const Operand& a, const Operand& b);
LENTO_API Tensor operator/(const Operand& a, const Operand& b);
LENTO_API Tensor operator%(const Operand& a, const Operand& b);
LENTO_API Tensor operator&(const Operand& a, const Operand& b);
LENTO_API Tensor operator|(const Operand& a, const Operand& b);
LENTO_API Tensor operator^(const Operand& a, const Operand& b);
LENTO_API Tensor operator<<(const Operand& a, const Operand& b);
LENTO_API Tensor operator>>(const Operand& a, const Operand& b);
LENTO_API Tensor operator==(const Operand& a, const Operand& b);
LENTO_API Tensor operator!=(const Operand& a, const Operand& b);
LENTO_API Tensor operator<(const Operand& a, const Operand& b);
LENTO_API Tensor operator<=(const Operand& a, const Operand& b);
LENTO_API Tensor operator>(const Operand& a, const Operand& b);
LENTO_API Tensor operator>=(const Operand& a, const Operand& b);
LENTO_API Tensor operator-(const LocatedTensor& x);
LENTO_API Tensor operator~(const LocatedTensor& x);
LENTO_API Tensor operator!(const LocatedTensor& x);

/// What `out << x` takes: a tensor, or a part of one, and the line that prints it.
class Printed {
 public:
  Printed(const Tensor& x, std::source_location site = std::source_location::current()) : tensor_(x), site_(site) {}
  Printed(const Subscript& part, std::source_location site = std::source_location::current())
      : tensor_(part.part(site)), site_(site) {}

  const Tensor& tensor() const { return tensor_; }
  const std::source_location& site() const { return site_; }

 private:
  const Tensor& tensor_;
  std::source_location site_;
};
LENTO_API std::ostream& operator<<(std::ostream& out, const Printed& x);

// --- tensors from host data: uploaded at once (counter transfer.h2d) ---

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
/// Throws ShapeError with the line.
[[noreturn]] LENTO_API void fail_to_fill(const std::string& what, const std::source_location& site);
}  // namespace detail

template <Element T>
Tensor tensor(std::span<const T> values, const Shape& shape, Device device = {},
              std::source_location site = std::source_location::current()) {
  if (static_cast<std::int64_t>(values.size()) != element_count(shape)) {
    detail::fail_to_fill(std::to_string(values.size()) + " values do not fill the shape", site);
  }
  return from_host(values.data(), dtype_of<T>(), shape, device, site);
}
template <Element T>
  requires(!std::same_as<T, bool>)
Tensor tensor(const std::vector<T>& values, const Shape& shape, Device device = {},
              std::source_location site = std::source_location::current()) {
  return tensor(std::span<const T>(values), shape, device, site);
}
template <Element T>
  requires(!std::same_as<T, bool>)
Tensor tensor(const std::vector<T>& values) {
  return tensor(std::span<const T>(values), Shape{static_cast<std::int64_t>(values.size())});
}
/// tensor({1.0f, 2.0f}): one axis.
template <Element T>
Tensor tensor(std::initializer_list<T> values, Device device = {},
              std::source_location site = std::source_location::current()) {
  return tensor(std::span<const T>(values.begin(), values.size()), Shape{static_cast<std::int64_t>(values.size())},
                device, site);
}
/// tensor({{1, 2}, {3, 4}}): two axes; rows must be equally long.
template <Element T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, Device device = {},
              std::source_location site = std::source_location::current()) {
  std::vector<T> values;
  const std::size_t width = rows.size() == 0 ? 0 : rows.begin()->size();
  for (const auto& row : rows) {
    if (row.size() != width) detail::fail_to_fill("rows have different lengths", site);
    values.insert(values.end(), row.begin(), row.end());
  }
  // std::vector<bool> has no contiguous storage.
  const Shape shape{static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(width)};
  if constexpr (std::same_as<T, bool>) {
    const std::vector<char> bytes(values.begin(), values.end());
    return from_host(bytes.data(), DType::bool_, shape, device, site);
  } else {
    return tensor(std::span<const T>(values), shape, device, site);
  }
}
/// A zero-dimensional tensor.
template <Element T>
Tensor scalar_tensor(T value, Device device = {}, std::source_location site = std::source_location::current()) {
  return from_host(&value, dtype_of<T>(), Shape{}, device, site);
}

}  // namespace lento
