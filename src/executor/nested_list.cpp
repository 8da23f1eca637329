// tensor({{1, 2}, {3, 4}}): numbers in braces as they are laid out in memory.
#include <lento/host_data.h>

#include "base/fail.h"
#include "base/source.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace lento {

namespace {

using detail::NestedList;

/// The extents along the first item of each list.
Shape extents_of(const NestedList& list) {
  Shape shape;
  for (const NestedList* next = &list; next->is_list(); next = next->items().begin()) {
    shape.push_back(static_cast<std::int64_t>(next->items().size()));
    if (next->items().size() == 0) break;
  }
  return shape;
}

/// The numbers of a list in row-major order, and the dtype that holds them all.
class Gathered {
 public:
  Gathered(const NestedList& list, const Shape& extents, std::optional<DType> dtype) {
    add(list, extents, 0);
    if (dtype) dtype_ = dtype;
  }

  /// Whether lists next to each other are equally long and equally deep.
  bool regular() const { return regular_; }
  std::int64_t size() const { return static_cast<std::int64_t>(numbers_.size()); }
  DType dtype() const { return dtype_.value_or(kDefaultFloat); }
  void write(std::byte* to) const {
    for (const Scalar* number : numbers_) {
      number->write(dtype(), to);
      to += size_of(dtype());
    }
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the braces in the source are
  void add(const NestedList& list, const Shape& extents, std::size_t axis) {
    if (!list.is_list()) {
      regular_ = regular_ && axis == extents.size();
      dtype_ = dtype_ ? promote(*dtype_, list.dtype()) : list.dtype();
      numbers_.push_back(&list.number());
      return;
    }
    regular_ = regular_ && axis < extents.size() && static_cast<std::int64_t>(list.items().size()) == extents[axis];
    for (const NestedList& item : list.items()) add(item, extents, axis + 1);
  }

  std::vector<const Scalar*> numbers_;
  std::optional<DType> dtype_;
  bool regular_ = true;
};

}  // namespace

void detail::fail_to_fill(const std::string& what, const std::source_location& site) {
  const CallScope scope("tensor", site);
  fail<ShapeError>("{}", what);
}

Shape detail::filled_shape(std::int64_t count, const OptionalInts& given, const Shape& found,
                           const std::source_location& site) {
  if (!given) return found;
  if (count != element_count(*given)) {
    const CallScope scope("tensor", site);
    fail<ShapeError>("{} values do not fill the shape {}", count, *given);
  }
  return *given;
}

Tensor detail::nested_tensor(const NestedList& values, std::optional<DType> dtype, const OptionalInts& shape,
                             Device device, const std::source_location& site) {
  const CallScope scope("tensor", site);
  if (dtype) require_dtype(*dtype);
  const Shape extents = extents_of(values);
  const Gathered gathered(values, extents, dtype);
  if (!gathered.regular()) fail_to_fill("rows have different lengths", site);
  const Shape filled = filled_shape(gathered.size(), shape, extents, site);
  std::vector<std::byte> elements(static_cast<std::size_t>(gathered.size()) * size_of(gathered.dtype()));
  gathered.write(elements.data());
  return from_host(elements.data(), gathered.dtype(), filled, device, site);
}

}  // namespace lento
