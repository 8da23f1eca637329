#include "backends/cpu/code/loop_symbols.h"

#include "backends/cpu/code/block_tree.h"
#include "backends/reference/dispatch.h"
#include "ir/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace lento::cpu {

namespace {

std::string symbol(std::string_view kind, Op op, DType dtype) {
  return fmt::format("lento.{}.{}.{}", kind, info(op).name, name(dtype));
}

}  // namespace

std::string loop_symbol(Op op, DType dtype) { return symbol("loop", op, dtype); }
std::string push_block_symbol(Op reduction, DType accumulator) { return symbol("push", reduction, accumulator); }
std::string finish_blocks_symbol(Op reduction, DType accumulator) { return symbol("finish", reduction, accumulator); }

void* find_symbol(std::string_view symbol) {
  std::string_view fields[4];
  for (std::size_t f = 0; f < 4; ++f) {
    const std::size_t end = f < 3 ? symbol.find('.') : symbol.size();
    if (end == std::string_view::npos) return nullptr;
    fields[f] = symbol.substr(0, end);
    symbol.remove_prefix(std::min(end + 1, symbol.size()));
  }
  const std::optional<Op> op = find_op(fields[2]);
  const std::optional<DType> dtype = dtype_from_name(fields[3]);
  if (fields[0] != "lento" || !op || !dtype) return nullptr;
  if (fields[1] == "loop") return reinterpret_cast<void*>(reference::find_elementwise(*op, *dtype));
  if (fields[1] == "push") return push_block_function(*op, *dtype);
  if (fields[1] == "finish") return finish_blocks_function(*op, *dtype);
  return nullptr;
}

}  // namespace lento::cpu
