// Indexing: what may stand between the brackets of `x[{...}]`, with NumPy's meaning.
//
//     x[{0, Slice{1, 5}, ellipsis, newaxis, mask}]
//
// Integers, slices, the ellipsis and new axes select a regular part (basic indexing); integer tensors select by
// position and bool tensors by truth (advanced indexing). Everything is lazy except reading through a mask, whose
// number of true elements is needed for the shape of the result and is evaluated (clause T10).
#pragma once

#include <lento/dtype.h>
#include <lento/export.h>
#include <lento/ints.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

namespace lento {

class Tensor;
class Subscript;
class Operand;

/// The elements start, start + step, … before stop, with Python's rules: negative bounds count from the end, bounds
/// outside are clamped, what is left out means "from the first" or "to the last" in the direction of the step.
struct Slice {
  std::optional<std::int64_t> start = {};
  std::optional<std::int64_t> stop = {};
  std::optional<std::int64_t> step = {};
};

/// As many whole axes as are needed to index the rest; at most one in an index.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};

/// A new axis of length 1.
struct NewAxis {};
inline constexpr NewAxis newaxis{};

/// One item of an index.
class LENTO_API Index {
 public:
  /// One position; the axis disappears. Negative counts from the end.
  template <IntegerType T>
    requires(!std::same_as<T, bool>)
  Index(T position, std::source_location site = std::source_location::current())
      // An unsigned number that is too large is out of range of every axis; it must not come back as a negative one.
      : kind_(Kind::position),
        position_(std::cmp_greater(position, kLargest) ? kLargest : static_cast<std::int64_t>(position)),
        site_(site) {}
  /// True selects everything along a new axis of length 1, false nothing along one of length 0.
  template <std::same_as<bool> T>
  Index(T selected, std::source_location site = std::source_location::current())
      : kind_(Kind::truth), truth_(selected), site_(site) {}
  Index(Slice slice, std::source_location site = std::source_location::current())
      : kind_(Kind::slice), slice_(slice), site_(site) {}
  Index(Ellipsis /*all*/, std::source_location site = std::source_location::current()) : site_(site) {}
  Index(NewAxis /*axis*/, std::source_location site = std::source_location::current())
      : kind_(Kind::new_axis), site_(site) {}
  /// An integer tensor of positions, or a bool tensor that stands for as many axes as it has itself.
  Index(const Tensor& positions, std::source_location site = std::source_location::current());
  Index(const Subscript& positions, std::source_location site = std::source_location::current());
  /// The positions in a std::vector, std::array, …
  template <class R>
    requires detail::NoneOf<R, Index> && IntegerRange<R>
  Index(R&& positions, std::source_location site = std::source_location::current())
      : Index(HostTag{}, Ints(std::forward<R>(positions)), site) {}
  /// A mask along one axis.
  Index(const std::vector<bool>& mask, std::source_location site = std::source_location::current());

  // What it is: one of these is true, or not null.
  bool is_ellipsis() const { return kind_ == Kind::whole_axes; }
  bool is_new_axis() const { return kind_ == Kind::new_axis; }
  const std::int64_t* position() const { return kind_ == Kind::position ? &position_ : nullptr; }
  const Slice* slice() const { return kind_ == Kind::slice ? &slice_ : nullptr; }
  const bool* truth() const { return kind_ == Kind::truth ? &truth_ : nullptr; }
  const Tensor* tensor() const { return tensor_.get(); }

  /// Whether the tensor was made of numbers of the host, so that it may be put where the indexed one is.
  bool from_host() const { return from_host_; }
  /// Where this index was written: an operator has no other way to know its line.
  const std::source_location& site() const { return site_; }

 private:
  friend class IndexList;
  enum class Kind : std::uint8_t { whole_axes, position, slice, new_axis, truth, tensor };
  struct HostTag {};
  Index() = default;
  Index(HostTag, const Ints& positions, const std::source_location& site);

  static constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

  Kind kind_ = Kind::whole_axes;
  bool truth_ = false;
  bool from_host_ = false;
  std::int64_t position_ = 0;
  Slice slice_;
  std::shared_ptr<const Tensor> tensor_;  // a pointer, so that this header does not need the definition of Tensor
  std::source_location site_;
};

/// What stands between the brackets: one index, or several in braces. It can be neither copied nor moved, so that it is
/// a temporary of the expression that has the brackets, and what is in the braces lives as long. When that expression
/// ends, a Subscript that lives on (`auto row = x[{0}]`) lets go of the tensor it could assign to and stays as a value.
class LENTO_API IndexList {
 public:
  IndexList(std::initializer_list<Index> index) : count_(index.size()) { first_ = index.begin(); }
  IndexList(const Index& index) : first_(&index), count_(1) {}
  template <class T>
    requires std::constructible_from<Index, const T&, std::source_location>
  IndexList(const T& index, std::source_location site = std::source_location::current())
      : only_(index, site), first_(&only_), count_(1) {}
  ~IndexList();
  IndexList(const IndexList&) = delete;
  IndexList& operator=(const IndexList&) = delete;

 private:
  friend class Tensor;
  friend class Subscript;

  std::span<const Index> items() const;
  /// The line of the brackets: that of the first index; empty brackets have none.
  std::source_location site() const { return count_ == 0 ? std::source_location() : first_->site(); }

  Index only_;  // where one is given as something else
  const Index* first_ = nullptr;
  std::size_t count_;
  Subscript* subscript_ = nullptr;  // the one that was made of this, while it lives
};

/// The selected part of `x`, lazily. Throws IndexError at once for what is known at the call: too many indices, an
/// integer out of range, a mask of another shape, an index tensor that is neither integer nor bool; a position in a
/// tensor that is out of range is an IndexError when the result is read.
LENTO_API Tensor get_item(const Tensor& x, std::span<const Index> index,
                          std::source_location site = std::source_location::current());

/// `x` with the selected part replaced by `value`, which is broadcast to that part's shape and takes the dtype of `x`.
/// Throws as get_item does, ShapeError when the value does not broadcast and DTypeError when its kind does not fit (a
/// float into integers). Of several values for one position the last one counts. A mask with one value for all is a
/// `where`; with a tensor of values their number must be that of the true elements, otherwise reading the result is a
/// ValueError. Neither evaluates anything.
LENTO_API Tensor set_item(const Tensor& x, std::span<const Index> index, const Operand& value,
                          std::source_location site = std::source_location::current());

}  // namespace lento
