#include "tensor/promotion.h"

namespace lento {

DType default_dtype(const Scalar& number) {
  switch (number.kind()) {
    case Scalar::Kind::bool_:
      return DType::bool_;
    case Scalar::Kind::int_:
      return kDefaultInt;
    case Scalar::Kind::uint_:
      return DType::uint64;
    case Scalar::Kind::float_:
      return kDefaultFloat;
    case Scalar::Kind::complex_:
      return kDefaultComplex;
  }
  return kDefaultFloat;
}

void DTypeJoin::add(const Scalar& number) {
  const DType alone = default_dtype(number);
  numbers_ = numbers_ ? promote(*numbers_, alone) : alone;
  if (!strongest_ || strongest_->kind() < number.kind()) strongest_ = number;
}

DType DTypeJoin::result() const {
  if (!tensors_) return numbers_.value_or(kDefaultFloat);
  return strongest_ ? weak_promote(*tensors_, *strongest_) : *tensors_;
}

}  // namespace lento
