#include "backends/cpu/long_reduction.h"

#include "backends/cpu/arena.h"
#include "backends/cpu/code/block_tree.h"
#include "backends/cpu/code/kernel_loops.h"
#include "backends/cpu/code/loop_symbols.h"
#include "backends/reference/arithmetic.h"
#include "base/dispatch.h"
#include "codegen/emitter.h"
#include "ir/op_reduction.gen.h"
#include "ir/reduction_order.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace lento::cpu {

namespace {

/// The results of all parts of one row: a slot has 16 bytes for each of its columns, in a row kernel one.
class PartResults {
 public:
  PartResults(std::byte* data, std::int64_t parts, std::size_t slots, std::int64_t columns)
      : data_(data), parts_(parts), columns_(columns), stride_(stride_of(columns)), bytes_(bytes_of(slots, columns)) {}

  /// Vectors of columns are written whole.
  static std::size_t stride_of(std::int64_t columns) { return static_cast<std::size_t>((columns + 63) / 64 * 64) * 16; }
  static std::size_t bytes_of(std::size_t slots, std::int64_t columns) { return slots * stride_of(columns); }

  std::byte* of_part(std::int64_t part) const { return data_ + static_cast<std::size_t>(part) * bytes_; }
  std::byte* slot(std::int64_t part, std::size_t number) const { return of_part(part) + number * stride_; }

  /// Combines a slot of all parts and gives every part the result.
  void combine(const Kernel& kernel, const ResultSlot& slot_info, std::size_t number) const {
    const Op op = kernel.body[slot_info.at].op;
    if (codegen::finds_position(op)) {
      find(op, slot_info.dtype, number);
      share(number + 1);
    } else {
      reduce(op, slot_info.dtype, number);
    }
    share(number);
  }

 private:
  void share(std::size_t number) const {
    for (std::int64_t part = 1; part < parts_; ++part) std::memcpy(slot(part, number), slot(0, number), stride_);
  }

  void reduce(Op op, DType dtype, std::size_t number) const {
    using Push = void (*)(void*, const void*, std::int64_t);
    using Finish = void (*)(void*, void*, std::int64_t);
    const auto push = reinterpret_cast<Push>(find_symbol(push_block_symbol(op, dtype)));
    const auto finish = reinterpret_cast<Finish>(find_symbol(finish_blocks_symbol(op, dtype)));
    const Scratch tree(block_tree_bytes(static_cast<std::size_t>(columns_) * size_of(dtype)));
    std::memset(tree.data(), 0, 8);
    for (std::int64_t part = 0; part < parts_; ++part) push(tree.data(), slot(part, number), columns_);
    finish(tree.data(), slot(0, number), columns_);
  }

  /// The first of the best; parts are in the order of positions.
  void find(Op op, DType dtype, std::size_t number) const {
    dispatch(dtype, [&]<class T>() {
      if constexpr (!reference::Half<T> && !reference::Complex<T>) {
        T* best = reinterpret_cast<T*>(slot(0, number));
        auto* position = reinterpret_cast<std::int64_t*>(slot(0, number + 1));
        for (std::int64_t part = 1; part < parts_; ++part) {
          const T* element = reinterpret_cast<const T*>(slot(part, number));
          const auto* at = reinterpret_cast<const std::int64_t*>(slot(part, number + 1));
          for (std::int64_t c = 0; c < columns_; ++c) {
            const bool better = op == op::arg_max ? element[c] > best[c] : element[c] < best[c];
            if (reference::is_nan(best[c]) || (!reference::is_nan(element[c]) && !better)) continue;
            best[c] = element[c];
            position[c] = at[c];
          }
        }
      }
    });
  }

  std::byte* data_;
  std::int64_t parts_;
  std::int64_t columns_;
  std::size_t stride_;
  std::size_t bytes_;
};

/// Whether a pass goes over the elements at all.
bool has_elements(const Kernel& kernel, const std::vector<std::uint16_t>& pass_of, std::uint16_t pass) {
  for (std::size_t at = 0; at < kernel.body.size(); ++at) {
    const Instruction& i = kernel.body[at];
    const bool stores = i.kind == Instruction::Kind::store && kernel.operands[i.index].moves;
    if (pass_of[at] == pass && (stores || i.kind == Instruction::Kind::reduce)) return true;
  }
  return false;
}

}  // namespace

void reduce_in_parts(const Kernel& kernel, std::span<const std::int64_t> sizes, std::int64_t part_blocks,
                     FunctionRef<void(const KernelPart&)> run) {
  const std::size_t inside = kernel.form == LoopForm::column ? 2 : 1;
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + inside < sizes.size(); ++d) rows *= sizes[d];
  const std::int64_t reduced = sizes[sizes.size() - inside];
  const std::int64_t columns = kernel.form == LoopForm::column ? sizes.back() : 1;
  if (rows == 0 || columns == 0) return;
  const std::int64_t part_size = part_blocks * kReductionBlock;
  const std::int64_t parts = std::max<std::int64_t>(1, (reduced + part_size - 1) / part_size);

  const std::vector<ResultSlot> slots = result_slots(kernel);
  const std::size_t bytes = PartResults::bytes_of(slots.size(), columns);
  const Scratch memory(bytes * static_cast<std::size_t>(parts * rows));
  std::memset(memory.data(), 0, bytes * static_cast<std::size_t>(parts * rows));
  const auto results_of = [&](std::int64_t row) {
    return PartResults(memory.as<std::byte>() + bytes * static_cast<std::size_t>(parts * row), parts, slots.size(),
                       columns);
  };
  KernelPart common;
  common.result_stride = static_cast<std::int64_t>(PartResults::stride_of(columns));

  const std::vector<std::uint16_t> pass_of = passes(kernel);
  const std::uint16_t last = *std::max_element(pass_of.begin(), pass_of.end());
  for (std::uint16_t pass = 0; pass <= last; ++pass) {
    if (!has_elements(kernel, pass_of, pass)) continue;
    parallel_for(rows * parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        KernelPart part = common;
        part.row = i / parts;
        part.begin = i % parts * part_size;
        part.end = std::min(part.begin + part_size, reduced);
        part.first_pass = pass;
        part.end_pass = pass + 1;
        part.results = results_of(part.row).of_part(i % parts);
        run(part);
      }
    });
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::size_t s = 0; s < slots.size(); ++s) {
        if (slots[s].pass == pass && !slots[s].position) results_of(row).combine(kernel, slots[s], s);
      }
    }
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    KernelPart part = common;
    part.row = row;
    part.end = reduced;
    part.first_pass = part.end_pass = last + 1;
    part.store_rows = true;
    part.results = results_of(row).of_part(0);
    run(part);
  }
}

}  // namespace lento::cpu
