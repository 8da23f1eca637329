#include "executor/memory_limit.h"

#include "base/called.h"
#include "base/fail.h"
#include "base/memory.h"
#include "executor/work.h"
#include "ir/op.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lento {

namespace {

constexpr std::size_t kNamed = 3;  // largest tensors in the message

std::string largest_tensors(const Graph& graph, std::span<const Source> sources) {
  std::vector<std::size_t> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t named = std::min(kNamed, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(named), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      const auto key = [&](std::size_t i) { return std::pair(~byte_size(graph.nodes[i]), i); };
                      return key(a) < key(b);
                    });
  std::string text;
  for (std::size_t i = 0; i < named; ++i) {
    const Record& node = graph.nodes[order[i]];
    const std::string line = to_string(sources[order[i]]);
    const std::string_view called = called_function(sources[order[i]]);
    text += fmt::format("{}{} {}{} with {} bytes{}{}", text.empty() ? "" : ", ",
                        called.empty() ? info(node.op).name : called, node.dtype, shape_of(node.shape), byte_size(node),
                        line.empty() ? "" : " at ", line);
  }
  return text;
}

}  // namespace

bool memory_is_limited(std::uint8_t device) {
  return memory_account(device).limit.load(std::memory_order_relaxed) != 0;
}

void check_memory(const Plan& plan, std::span<const Source> sources,
                  const std::function<std::vector<std::uint8_t>()>& donated) {
  if (!memory_is_limited(plan.device)) return;
  const MemoryAccount& account = memory_account(plan.device);
  const std::size_t limit = account.limit.load(std::memory_order_relaxed);
  std::size_t peak = plan.program->planned_peak();
  const auto fits = [&] { return account.live.load() + planned_bytes_under_way(plan.device) + peak <= limit; };
  if (fits()) return;
  let_work_end(plan.device);
  if (fits()) return;
  peak -= plan.program->reused_bytes(donated());
  if (fits()) return;
  fail<MemoryError>(
      "the step's planned peak of {} bytes and the {} in use exceed the memory limit of {}; its largest "
      "tensors are {}",
      peak, account.live.load(), limit, largest_tensors(plan.graph, sources));
}

}  // namespace lento
