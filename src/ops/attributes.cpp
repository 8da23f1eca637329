// What Python has as attributes of a tensor, and its rows.
#include <lento/autograd.h>
#include <lento/host_data.h>
#include <lento/tensor.h>

#include "base/fail.h"
#include "base/source.h"
#include "ops/attributes.calls.gen.h"

#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

namespace lento {

Tensor Tensor::T(std::source_location site) const {
  const CallScope scope("T", site);
  Ints axes;
  for (std::int64_t axis = rank(); axis-- > 0;) axes.push_back(axis);
  return permute_dims(*this, axes, site);
}

Tensor Tensor::mT(std::source_location site) const {
  const CallScope scope("mT", site);
  if (rank() < 2) fail<ShapeError>("the tensor has {} axes and needs at least 2", rank());
  return swapaxes(*this, -1, -2, site);
}

Tensor Tensor::real(std::source_location site) const {
  const CallScope scope("real", site);
  return is_complex(dtype()) ? lento::real(*this, site) : *this;
}

Tensor Tensor::imag(std::source_location site) const {
  const CallScope scope("imag", site);
  return is_complex(dtype()) ? lento::imag(*this, site) : zeros_like(*this, std::nullopt, std::nullopt, site);
}

Tensor Tensor::detach(std::source_location site) const { return stop_gradient(*this, site); }
Tensor Tensor::conjugate(std::source_location site) const { return conj(*this, site); }
Tensor Tensor::to_device(Device device, std::source_location site) const {
  return lento::to_device(*this, device, site);
}

Ints detail::extents(std::initializer_list<Extent> all) {
  Ints made;
  for (const Extent& extent : all)
    if (extent.given) made.push_back(extent.value);
  return made;
}

Tensor detail::as_dtype(const Tensor& x, DType dtype, const std::source_location& site) {
  const CallScope scope("tensor", site);
  return astype(x, dtype, true, std::nullopt, site);
}

// --- rows ---

namespace {

std::int64_t row_count(const Tensor& x, const std::source_location& site) {
  const CallScope scope("rows", site);
  if (x.shape().empty()) fail<ShapeError>("iteration over a 0-d tensor");
  return x.shape().front();
}

}  // namespace

RowIterator Tensor::begin(std::source_location site) const {
  (void)row_count(*this, site);
  return {*this, 0, site};
}

RowIterator Tensor::end(std::source_location site) const { return {Tensor(), row_count(*this, site), site}; }
RowIterator Subscript::begin(std::source_location site) const { return part(site).begin(site); }
RowIterator Subscript::end(std::source_location site) const { return part(site).end(site); }

Tensor RowIterator::operator*() const {
  const std::array<Index, 1> index = {Index(position_, site_)};
  return get_item(x_, index, site_);
}

}  // namespace lento
