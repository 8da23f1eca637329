#include "backend/kernel_identity.h"

#include "base/build_id.h"

#include <lento/version.h>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace lento {

namespace {

/// Writes numbers of fixed widths one behind the other.
class Writer {
 public:
  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    bytes.insert(bytes.end(), begin, begin + text.size());
  }
  template <std::unsigned_integral T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  template <class E>
    requires std::is_enum_v<E>
  void number(E value) {
    number(static_cast<std::uint16_t>(value));
  }

  std::vector<std::byte> bytes;
};

// A field that is added there decides the code, so it must be written below.
static_assert(sizeof(KernelOperandInfo) == 8);
static_assert(sizeof(Instruction) == 14);

}  // namespace

std::vector<std::byte> kernel_identity(const Kernel& kernel, std::string_view target) {
  if (build_id().empty()) return {};
  Writer out;
  out.bytes.reserve(256 + kernel.body.size() * 20);
  out.text("lento " LENTO_VERSION);
  out.text(build_id());
  out.text(target);
  out.number(kernel.form);
  out.number(std::uint8_t{kernel.dims});
  out.number(static_cast<std::uint32_t>(kernel.operands.size()));
  out.number(static_cast<std::uint32_t>(kernel.numbers.size()));
  out.number(static_cast<std::uint32_t>(kernel.body.size()));
  for (const KernelOperandInfo& operand : kernel.operands) {
    out.number(operand.dtype);
    out.number(operand.inner);
    out.number(static_cast<std::uint8_t>(operand.moves));
    out.number(static_cast<std::uint8_t>(operand.output));
    out.number(operand.picked_by);
    out.number(static_cast<std::uint8_t>(operand.counted));
  }
  for (const DType dtype : kernel.numbers) out.number(dtype);
  for (const Instruction& i : kernel.body) {
    out.number(i.kind);
    out.number(i.op);
    out.number(i.dtype);
    out.number(i.input_count);
    out.number(i.index);
    for (const std::uint16_t input : i.inputs) out.number(input);
  }
  return std::move(out.bytes);
}

}  // namespace lento
