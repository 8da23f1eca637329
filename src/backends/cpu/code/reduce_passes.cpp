#include "backends/cpu/code/reduce_passes.h"

#include "codegen/math/math.h"
#include "ir/op_random.gen.h"

#include <algorithm>

namespace lento::cpu {

using Kind = Instruction::Kind;

ReducePasses::ReducePasses(const Kernel& kernel, const std::vector<Level>& level)
    : kernel_(kernel), level_(level), passes_(passes(kernel)), written_(kernel.body.size()) {
  find_written();
  find_kept();
}

std::uint16_t ReducePasses::last() const {
  return passes_.empty() ? std::uint16_t{0} : *std::ranges::max_element(passes_);
}

std::vector<std::uint8_t> ReducePasses::needed_in(std::uint16_t pass) const {
  std::vector<std::uint8_t> needed(kernel_.body.size(), 0);
  for (std::size_t at = needed.size(); at-- > 0;) {
    const Instruction& i = kernel_.body[at];
    const bool element = level_[at] == Level::element;
    const bool runs = passes_[at] == pass && (i.kind == Kind::reduce || (i.kind == Kind::store && element));
    if (!runs && needed[at] == 0) continue;
    needed[at] = element ? 1 : 0;
    if (kept_ && kept_->at == at && pass > kept_->pass) continue;
    if (element && read_back(at, pass)) continue;
    for (unsigned j = 0; j < i.input_count; ++j) {
      if (level_[i.inputs[j]] == Level::element) needed[i.inputs[j]] = 1;
    }
  }
  return needed;
}

std::optional<std::size_t> ReducePasses::output_to_keep(std::size_t at, std::uint16_t pass) const {
  std::uint16_t last_use = 0;
  for (std::uint16_t later = pass; later <= last(); ++later) {
    if (needed_in(later)[at] != 0) last_use = later;
  }
  if (last_use == pass) return std::nullopt;
  for (std::size_t s = at + 1; s < kernel_.body.size(); ++s) {
    const Instruction& store = kernel_.body[s];
    if (store.kind != Kind::store || level_[s] != Level::element || passes_[s] < last_use) continue;
    const KernelOperandInfo& operand = kernel_.operands[store.index];
    if (operand.dtype != kernel_.body[at].dtype || operand.inner != InnerStride::one) continue;
    const auto users = std::ranges::count_if(kernel_.body, [&](const Instruction& i) {
      return (i.kind == Kind::load || i.kind == Kind::store) && i.index == store.index;
    });
    if (users == 1) return store.index;
  }
  return std::nullopt;
}

/// Whether anything is loaded behind `at` in a pass, or in a later one.
bool ReducePasses::loads_after(std::size_t at, std::uint16_t pass) const {
  for (std::uint16_t p = pass; p <= last(); ++p) {
    const std::vector<std::uint8_t> needed = needed_in(p);
    for (std::size_t j = p == pass ? at + 1 : 0; j < needed.size(); ++j) {
      if (needed[j] != 0 && kernel_.body[j].kind == Kind::load) return true;
    }
  }
  return false;
}

void ReducePasses::find_written() {
  std::vector<std::uint8_t> drawn(kernel_.body.size(), 0);
  for (std::size_t at = 0; at < drawn.size(); ++at) {
    const Instruction& i = kernel_.body[at];
    if (level_[at] != Level::element) continue;
    drawn[at] = i.kind == Kind::create && i.op == op::random_bits ? 1 : 0;
    for (unsigned j = 0; j < i.input_count; ++j) drawn[at] |= drawn[i.inputs[j]];
    const bool stores = i.kind == Kind::store && kernel_.operands[i.index].inner == InnerStride::one;
    // An output that its last pass writes may lie where an input does; there is no pass behind to read it.
    if (stores && drawn[at] != 0) written_[i.inputs[0]] = i.index;
  }
}

void ReducePasses::find_kept() {
  for (std::uint16_t pass = 0; pass < last(); ++pass) {
    const std::vector<std::uint8_t> needed = needed_in(pass);
    for (std::size_t at = needed.size(); at-- > 0;) {
      const Instruction& i = kernel_.body[at];
      if (needed[at] == 0 || i.kind != Kind::compute || !codegen::has_math(i.op) || !is_floating(i.dtype)) continue;
      const std::optional<std::size_t> output = output_to_keep(at, pass);
      if (!output) continue;
      kept_ = Kept{at, *output, pass};
      // An output may lie where an input does: nothing may be read there any more.
      if (!loads_after(at, pass)) return;
      kept_.reset();
    }
  }
}

}  // namespace lento::cpu
