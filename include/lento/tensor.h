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
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lento {

struct TensorState;
class Subscript;
class RowIterator;
class Generator;

namespace detail {

/// An integer in reshape(2, 3), or none.
struct Extent {
  Extent() = default;
  template <Integer T>
  Extent(T number) : value(Ints::Item(number).value), given(true) {}

  std::int64_t value = 0;
  bool given = false;
};

/// Those that are given.
LENTO_API Ints extents(std::initializer_list<Extent> all);

}  // namespace detail

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
  DType dtype(std::source_location site = std::source_location::current()) const;
  const Shape& shape(std::source_location site = std::source_location::current()) const;
  /// Number of axes.
  std::int64_t rank(std::source_location site = std::source_location::current()) const {
    return static_cast<std::int64_t>(shape(site).size());
  }
  std::int64_t ndim(std::source_location site = std::source_location::current()) const { return rank(site); }
  /// Number of elements.
  std::int64_t size(std::source_location site = std::source_location::current()) const {
    return element_count(shape(site));
  }
  /// Bytes of one element, and of all.
  std::size_t itemsize(std::source_location site = std::source_location::current()) const {
    return size_of(dtype(site));
  }
  std::size_t nbytes(std::source_location site = std::source_location::current()) const {
    return static_cast<std::size_t>(size(site)) * itemsize(site);
  }
  Device device(std::source_location site = std::source_location::current()) const;
  /// True while the value has not been computed.
  bool is_pending(std::source_location site = std::source_location::current()) const;
  /// A number that no other value of this process has.
  std::uint64_t id(std::source_location site = std::source_location::current()) const;

  // --- reading: computes what is pending; throws the original error if that failed ---

  /// The one element of a tensor of size 1, converted to T; a float is truncated. Throws OverflowError for a number
  /// that an integer type cannot hold, DTypeError for a complex one that T would take a part of.
  template <Number T>
  T item(std::source_location site = std::source_location::current()) const {
    if constexpr (IntegerType<T> && !std::same_as<std::remove_cv_t<T>, bool>) {
      return item_that_fits(dtype_of<T>(), site).template to<T>();
    } else if constexpr (std::same_as<std::remove_cv_t<T>, bool> || requires(T number) { number.imag(); }) {
      return item_scalar(site).to<T>();
    } else {
      return item_real(site).to<T>();
    }
  }
  Scalar item_scalar(std::source_location site = std::source_location::current()) const;
  /// All elements, row-major; T must be the element type.
  template <Element T>
  std::vector<T> to_vector(std::source_location site = std::source_location::current()) const {
    const T* first = static_cast<const T*>(read(dtype_of<T>(), "to_vector", site));
    return std::vector<T>(first, first + size());
  }
  /// The elements in memory, row-major, valid while this handle (or a copy) keeps this value. T must be the element
  /// type.
  template <Element T>
  const T* data(std::source_location site = std::source_location::current()) const {
    return static_cast<const T*>(read(dtype_of<T>(), "data", site));
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
  /// x[{ellipsis}] = value.
  Tensor& fill(const Operand& value) &;

  // --- indexing ---

  /// x[{0, Slice{1, 5}, ellipsis}]: the part as it is now, which can also be assigned to.
  Subscript operator[](IndexList index) &;
  /// Of a temporary or a constant: a value like any other.
  Tensor operator[](IndexList index) const&;
  /// x.slice(0, 1, 5): elements 1 to 4 along axis 0.
  Tensor slice(std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
               std::int64_t step = 1, std::source_location site = std::source_location::current()) const;

  /// for (Tensor row : x): the parts x[0], x[1], …; each is a value. Throws ShapeError for a zero-dimensional tensor.
  RowIterator begin(std::source_location site = std::source_location::current()) const;
  RowIterator end(std::source_location site = std::source_location::current()) const;

  // --- what Python has as attributes ---

  /// The tensor with its axes in reverse order.
  Tensor T(std::source_location site = std::source_location::current()) const;
  /// The tensor with its last two axes swapped. Throws ShapeError when there are fewer.
  Tensor mT(std::source_location site = std::source_location::current()) const;
  /// The real parts; a real tensor as it is.
  Tensor real(std::source_location site = std::source_location::current()) const;
  /// The imaginary parts; zeros of a real tensor.
  Tensor imag(std::source_location site = std::source_location::current()) const;
  /// The same values as a constant: derivatives do not pass.
  Tensor detach(std::source_location site = std::source_location::current()) const;
  Tensor conjugate(std::source_location site = std::source_location::current()) const;
  /// See lento::to_device.
  Tensor to_device(Device device, std::source_location site = std::source_location::current()) const;

  // --- ops of the catalogue as methods ---
  // Lento's own files call the functions instead, and are compiled without these: a new method recompiles one of them.
#ifndef LENTO_WITHOUT_METHODS
  /// x.reshape(2, 3): the same as x.reshape({2, 3}), for two to six extents.
  template <Integer A, Integer B>
  Tensor reshape(A a, B b, detail::Extent c = {}, detail::Extent d = {}, detail::Extent e = {}, detail::Extent f = {},
                 std::source_location site = std::source_location::current()) const {
    return reshape(detail::extents({a, b, c, d, e, f}), std::nullopt, site);
  }
  template <Integer A, Integer B>
  Tensor view(A a, B b, detail::Extent c = {}, detail::Extent d = {}, detail::Extent e = {}, detail::Extent f = {},
              std::source_location site = std::source_location::current()) const {
    return reshape(detail::extents({a, b, c, d, e, f}), std::nullopt, site);
  }
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
  const void* read(DType expected, std::string_view caller, const std::source_location& site) const;
  Scalar item_real(const std::source_location& site) const;
  Scalar item_that_fits(DType integer, const std::source_location& site) const;
  static void release(TensorState* state) noexcept;

  TensorState* state_ = nullptr;
};

/// What `x[{...}]` gives. Used as a value it is the part of x at that moment, a Tensor. In the expression that has the
/// brackets, and only there, it can be assigned to, which gives x a new value:
///
///     x[{0}] = 3;  x[{0}] += 1;   // x changes
///     x[0][1] = 3;                // x changes: the same as x[{0, 1}] = 3, which records less
///     auto row = x[{0}];          // a value: it stays when x changes, and x may be gone
///     row = 3;                    // does not compile: write x[{0}] = 3, or Tensor row for a handle of its own
///
/// Throws IndexError at once for what is known of the index without computing.
class LENTO_API Subscript {
 public:
  Subscript(Tensor& target, IndexList& index);
  /// A part of a part.
  Subscript(Subscript& outer, IndexList& index);
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
  std::int64_t ndim() const { return part().rank(); }
  std::int64_t size() const { return part().size(); }
  std::size_t itemsize() const { return part().itemsize(); }
  std::size_t nbytes() const { return part().nbytes(); }
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
  /// A part of the part. Of one with a name it is a value, as that is.
  Subscript operator[](IndexList index) &&;
  Tensor operator[](IndexList index) const&;
  RowIterator begin(std::source_location site = std::source_location::current()) const;
  RowIterator end(std::source_location site = std::source_location::current()) const;
  Tensor slice(std::int64_t axis, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
               std::int64_t step = 1, std::source_location site = std::source_location::current()) const {
    return part(site).slice(axis, start, stop, step, site);
  }
  Tensor T(std::source_location site = std::source_location::current()) const { return part(site).T(site); }
  Tensor mT(std::source_location site = std::source_location::current()) const { return part(site).mT(site); }
  Tensor real(std::source_location site = std::source_location::current()) const { return part(site).real(site); }
  Tensor imag(std::source_location site = std::source_location::current()) const { return part(site).imag(site); }
  Tensor detach(std::source_location site = std::source_location::current()) const { return part(site).detach(site); }
  Tensor conjugate(std::source_location site = std::source_location::current()) const {
    return part(site).conjugate(site);
  }
  Tensor to_device(Device device, std::source_location site = std::source_location::current()) const {
    return part(site).to_device(device, site);
  }
#ifndef LENTO_WITHOUT_METHODS
  /// x.reshape(2, 3): the same as x.reshape({2, 3}), for two to six extents.
  template <Integer A, Integer B>
  Tensor reshape(A a, B b, detail::Extent c = {}, detail::Extent d = {}, detail::Extent e = {}, detail::Extent f = {},
                 std::source_location site = std::source_location::current()) const {
    return reshape(detail::extents({a, b, c, d, e, f}), std::nullopt, site);
  }
  template <Integer A, Integer B>
  Tensor view(A a, B b, detail::Extent c = {}, detail::Extent d = {}, detail::Extent e = {}, detail::Extent f = {},
              std::source_location site = std::source_location::current()) const {
    return reshape(detail::extents({a, b, c, d, e, f}), std::nullopt, site);
  }
#include <lento/tensor_methods.gen.inc>
#endif

 private:
  friend class IndexList;
  friend class Operand;
  friend class Printed;
  friend struct LocatedTensor;
  using BinaryOp = Tensor (*)(const Operand&, const Operand&);

  /// After an assignment: the part of `whole`, the new value.
  Subscript(Tensor* target, Subscript* outer, IndexList& index, Tensor whole);

  /// Recorded when it is first asked for.
  const Tensor& part(const std::source_location& site) const;
  const Tensor& part() const;
  /// What the brackets stand behind, as it is now.
  Tensor current_whole() const;
  /// Gives the target its new value.
  void put(const Operand& value);
  Subscript update(BinaryOp op, const Operand& value, std::string_view operation);
  /// The expression with the brackets ends: only the value stays.
  void keep_value() noexcept;

  Tensor* target_;                // what is assigned to; null for a part of a part, and when that is over
  Subscript* outer_;              // the part that this is a part of; it is a temporary of the same expression
  IndexList* index_;              // null when the expression with the brackets is over
  Tensor whole_;                  // what this is a part of, until the part is recorded or given up
  mutable Tensor part_;           // empty until the part is read
  std::exception_ptr failure_{};  // why there is no part, for whoever reads it
};

/// Steps over the rows of a tensor, which it keeps.
class LENTO_API RowIterator {
 public:
  using value_type = Tensor;
  using difference_type = std::ptrdiff_t;

  RowIterator() = default;
  RowIterator(Tensor x, std::int64_t position, std::source_location site)
      : x_(std::move(x)), position_(position), site_(site) {}

  Tensor operator*() const;
  RowIterator& operator++() {
    ++position_;
    return *this;
  }
  RowIterator operator++(int) {
    RowIterator before = *this;
    ++position_;
    return before;
  }
  /// Of the same tensor.
  friend bool operator==(const RowIterator& a, const RowIterator& b) { return a.position_ == b.position_; }

 private:
  Tensor x_;
  std::int64_t position_ = 0;
  std::source_location site_;
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
LENTO_API Tensor operator+(const LocatedTensor& x);
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

}  // namespace lento

// Iterating goes over rows, and size() counts elements.
template <>
inline constexpr bool std::ranges::disable_sized_range<lento::Tensor> = true;
template <>
inline constexpr bool std::ranges::disable_sized_range<lento::Subscript> = true;

#include <lento/host_data.h>  // IWYU pragma: export
