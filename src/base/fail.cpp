#include "base/fail.h"

#include "base/source.h"

#include <algorithm>
#include <ostream>

namespace lento {

std::string complete_message(std::string text) {
  const CallContext& context = call_context();
  if (!context.op.empty()) text = fmt::format("{}: {}", context.op, text);
  if (context.describe != nullptr) {
    if (const std::string operands = context.describe(context.operands); !operands.empty())
      text += " (got " + operands + ")";
  }
  if (const std::string line = to_string(context.source); !line.empty()) text += ", at " + line;
  return text;
}

void require_dtype(DType dtype) {
  if (static_cast<int>(dtype) >= kDTypeCount)
    fail<DTypeError>("there is no dtype of the number {}", static_cast<int>(dtype));
}

void Error::raise(ErrorKind kind, const std::string& message) {
  switch (kind) {
    case ErrorKind::shape:
      throw ShapeError(message);
    case ErrorKind::dtype:
      throw DTypeError(message);
    case ErrorKind::device:
      throw DeviceError(message);
    case ErrorKind::value:
      throw ValueError(message);
    case ErrorKind::index:
      throw IndexError(message);
    case ErrorKind::overflow:
      throw OverflowError(message);
    case ErrorKind::memory:
      throw MemoryError(message);
    case ErrorKind::linalg:
      throw LinAlgError(message);
    case ErrorKind::backend:
      throw BackendError(message);
    case ErrorKind::file:
      throw FileError(message);
    case ErrorKind::device_lost:
      throw DeviceLostError(message);
  }
  throw BackendError(message);
}

std::string shape_text(std::span<const std::int64_t> shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

void Ints::grow(std::size_t wanted) {
  const std::size_t grown = std::max(wanted, std::size_t{capacity_} * 2);
  auto* const bigger = new std::int64_t[grown];
  std::copy(begin(), end(), bigger);
  delete[] heap_;
  heap_ = bigger;
  capacity_ = static_cast<std::uint32_t>(grown);
}

void Ints::fail_position(const Position& i) const {
  const CallScope scope("shape", i.site);
  fail<IndexError>("position {} is out of range for {}", i.value, shape_text(*this));
}

std::ostream& operator<<(std::ostream& out, const Ints& values) { return out << shape_text(values); }

std::string dtype_set_text(DTypeSet set) {
  struct Named {
    DTypeSet set;
    std::string_view text;
  };
  // Largest classes first, so that the fewest words describe the set.
  constexpr Named kClasses[] = {
      {kAny, "any dtype"},         {kNumeric, "numeric"},           {kReal, "real"},
      {kInteger, "integer"},       {kFloating, "floating-point"},   {kComplex, "complex"},
      {kSigned, "signed integer"}, {kUnsigned, "unsigned integer"}, {kBool, "bool"},
  };
  std::string text;
  const auto add = [&text](std::string_view word) { text += (text.empty() ? "" : " or ") + std::string(word); };
  for (const Named& named : kClasses) {
    if (set != 0 && (set & named.set) == named.set) {
      add(named.text);
      set &= ~named.set;
    }
  }
  for (int d = 0; d < kDTypeCount; ++d) {
    if (contains(set, static_cast<DType>(d))) add(name(static_cast<DType>(d)));
  }
  return text;
}

}  // namespace lento
