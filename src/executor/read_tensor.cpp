// The reading half of Tensor (include/lento/tensor.h).
#include <lento/print.h>
#include <lento/tensor.h>

#include "base/fail.h"
#include "executor/evaluate.h"
#include "executor/syncs.h"
#include "tensor/state.h"

#include <cmath>
#include <cstdint>
#include <ostream>

namespace lento {

namespace {

/// Whether an integer dtype can hold a number, without what is behind the point.
bool holds(DType integer, const Scalar& number) {
  if (number.is_bool()) return true;
  if (number.is_integer()) {  // one that does not fit wraps around
    std::uint64_t element = 0;
    number.write(integer, &element);
    return Scalar::read(integer, &element) == number;
  }
  const bool is_signed = is_signed_integer(integer);
  const double end = std::ldexp(1.0, static_cast<int>(size_of(integer)) * 8 - (is_signed ? 1 : 0));
  const double whole = std::trunc(number.to<double>());
  return whole >= (is_signed ? -end : 0.0) && whole < end;
}

}  // namespace

const void* Tensor::read(DType expected, std::string_view caller, const std::source_location& site) const {
  const CallScope scope(caller, site);
  if (dtype() != expected) fail<DTypeError>("the elements are {}, not {}", dtype(), expected);
  return read_value(state_of(*this));
}

const void* Tensor::data_pointer(std::source_location site) const {
  const CallScope scope("data_pointer", site);
  return read_value(state_of(*this));
}

Scalar Tensor::item_scalar(std::source_location site) const {
  const CallScope scope("item", site);
  if (size() != 1) fail<ValueError>("only a tensor of one element is a number; this one has shape {}", shape());
  return Scalar::read(dtype(), read_value(state_of(*this)));
}

Scalar Tensor::item_real(const std::source_location& site) const {
  const CallScope scope("item", site);
  if (is_complex(dtype()))
    fail<DTypeError>("a {} number has two parts: read it as std::complex, or use real(x)", dtype());
  return item_scalar(site);
}

Scalar Tensor::item_that_fits(DType integer, const std::source_location& site) const {
  const CallScope scope("item", site);
  const Scalar number = item_real(site);
  if (!holds(integer, number)) fail<OverflowError>("{} does not fit into {}", number, integer);
  return number;
}

std::string Tensor::to_string(std::source_location site) const {
  const CallScope scope("to_string", site);
  // Where syncs are errors, looking at a tensor in a log or a debugger must not be one.
  if (sync_mode() == SyncMode::error && is_pending()) return "<pending>";
  return array_str(read_value(state_of(*this)), dtype(), shape(), get_printoptions());
}

std::ostream& operator<<(std::ostream& out, const Printed& x) { return out << x.tensor().to_string(x.site()); }

}  // namespace lento
