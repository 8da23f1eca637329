#include "ir/op_counters.h"

#include "base/fork.h"
#include "ir/op.h"

#include <mutex>
#include <string>
#include <vector>

namespace lento {

namespace {

struct OpCounterBlock {
  std::string prefix;
  CounterId first;
};

struct OpCounterBlocks {
  ForkMutex mutex{ForkOrder::op_counters};
  std::vector<OpCounterBlock> blocks;
};

void name_op_counter(const OpCounterBlock& block, Op op, std::string_view name) {
  name_counter(block.first + static_cast<CounterId>(op), block.prefix + std::string(name));
}

}  // namespace

CounterId make_op_counters(std::string_view prefix) {
  OpCounterBlocks& all = ProcessLifetime<OpCounterBlocks>::get();
  const std::lock_guard lock(all.mutex);
  for (const OpCounterBlock& block : all.blocks) {
    if (block.prefix == prefix) return block.first;
  }
  const OpCounterBlock block{std::string(prefix), reserve_counters(kMaxOps)};
  for (const Op op : all_ops()) name_op_counter(block, op, info(op).name);
  all.blocks.push_back(block);
  return block.first;
}

void name_op_counters(Op op, std::string_view name) {
  OpCounterBlocks& all = ProcessLifetime<OpCounterBlocks>::get();
  const std::lock_guard lock(all.mutex);
  for (const OpCounterBlock& block : all.blocks) name_op_counter(block, op, name);
}

}  // namespace lento
