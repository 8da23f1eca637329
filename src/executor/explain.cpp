#include "executor/explain.h"

#include <lento/metrics.h>

#include "base/fork.h"
#include "base/format.h"
#include "executor/syncs.h"
#include "ir/op.h"
#include "ir/print.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <set>

namespace lento {

namespace {

constexpr std::size_t kMaxCompiles = 1000;  // more than anybody reads; the oldest go first

struct CompileNote {
  std::size_t ops;
  Source source;  // of the step's last op: where the step ends in the user's code
  std::string difference;
  bool rebound;  // nothing but extents was new: no code was compiled
};

struct Notes {
  ForkMutex mutex{ForkOrder::notes};
  std::deque<CompileNote> compiles;
  std::size_t forgotten = 0;
};
Notes& notes() { return Lasting<Notes>::get(); }

std::string at(const Source& source) {
  const std::string line = to_string(source);
  return line.empty() ? "" : " at " + line;
}

std::string call_text(const Graph& graph, std::size_t node) {
  std::string text = "`";
  append_call(text, graph, graph.nodes[node], false);
  return text + "`" + at(graph.sources[node]);
}

std::string type_text(const GraphInput& input) { return fmt::format("{}{}", input.dtype, shape_of(input.shape)); }

/// How many ops at the beginning, and how many of the others at the end, are the same; shapes aside.
struct Overlap {
  std::size_t first = 0;
  std::size_t last = 0;

  Overlap(const Graph& a, const Graph& b) {
    const std::size_t most = std::min(a.nodes.size(), b.nodes.size());
    while (first < most && a.nodes[first].op == b.nodes[first].op) ++first;
    while (first + last < most && a.nodes[a.nodes.size() - 1 - last].op == b.nodes[b.nodes.size() - 1 - last].op) {
      ++last;
    }
  }
};

const Plan* nearest(const Graph& graph, std::uint8_t device, const std::vector<PlanPtr>& cached) {
  const Plan* best = nullptr;
  std::pair<std::size_t, std::size_t> best_score{0, 0};
  for (const PlanPtr& plan : cached) {
    if (plan->device != device) continue;
    const Overlap overlap(graph, plan->graph);
    const std::size_t same = overlap.first + overlap.last;
    // The most ops in common, then the fewest that have no counterpart.
    const std::pair score{same, ~(plan->graph.nodes.size() + graph.nodes.size() - 2 * same)};
    const bool comparable = same != 0 || plan->graph.nodes.size() == graph.nodes.size();
    if (comparable && (best == nullptr || score > best_score)) {
      best = plan.get();
      best_score = score;
    }
  }
  return best;
}

std::string describe_inputs(const Graph& now, const Graph& before) {
  for (std::size_t i = 0; i < std::min(now.inputs.size(), before.inputs.size()); ++i) {
    if (now.inputs[i] == before.inputs[i]) continue;
    // Its first reader shows the user which tensor it is.
    for (std::size_t node = 0; node < now.nodes.size(); ++node) {
      const auto operands = now.operands(now.nodes[node]);
      if (std::ranges::find(operands, OperandRef::leaf(static_cast<std::uint32_t>(i))) == operands.end()) continue;
      return fmt::format("argument {} is {} and was {}; it is first read by {}", i, type_text(now.inputs[i]),
                         type_text(before.inputs[i]), call_text(now, node));
    }
  }
  return "";
}

std::string describe_node(const Graph& now, const Graph& before, std::size_t i) {
  const Record& a = now.nodes[i];
  const Record& b = before.nodes[i];
  if (a.attrs != b.attrs)
    return fmt::format("an attribute changed: op {} is {} and was {}", i, call_text(now, i), call_text(before, i));
  const auto x = now.operands(a);
  const auto y = before.operands(b);
  if (!std::equal(x.begin(), x.end(), y.begin(), y.end())) {
    return fmt::format("arguments are shared differently: op {} is {} and was {}", i, call_text(now, i),
                       call_text(before, i));
  }
  if (a.dtype != b.dtype || a.shape != b.shape) {
    return fmt::format("op {}, {}, gives {} and gave {}", i, call_text(now, i), type_text({a.dtype, a.shape}),
                       type_text({b.dtype, b.shape}));
  }
  return "";
}

std::string describe_outputs(const Graph& now, const Graph& before) {
  const std::set<std::uint32_t> x(now.outputs.begin(), now.outputs.end());
  const std::set<std::uint32_t> y(before.outputs.begin(), before.outputs.end());
  for (const std::uint32_t node : now.outputs) {
    if (!y.contains(node)) {
      return fmt::format("the value of {} is kept and was not: is a variable still holding it?", call_text(now, node));
    }
  }
  for (const std::uint32_t node : before.outputs) {
    if (!x.contains(node)) return fmt::format("the value of {} was kept and is not any more", call_text(before, node));
  }
  return "";
}

}  // namespace

std::string describe_difference(const Graph& now, const Graph& before) {
  const Overlap overlap(now, before);
  const std::size_t added = now.nodes.size() - overlap.first - overlap.last;
  const std::size_t removed = before.nodes.size() - overlap.first - overlap.last;
  if (added != 0 && removed != 0) {
    return fmt::format("op {} is {} and was {}", overlap.first, call_text(now, overlap.first),
                       call_text(before, overlap.first));
  }
  if (added != 0) {
    return fmt::format("the step has {} ops and had {}; the first new one is {}", now.nodes.size(), before.nodes.size(),
                       call_text(now, overlap.first));
  }
  if (removed != 0) {
    return fmt::format("the step has {} ops and had {}; the first that is missing is {}", now.nodes.size(),
                       before.nodes.size(), call_text(before, overlap.first));
  }
  // With the same ops a new shape of an argument is the cause, and changed attributes and results its consequences.
  if (std::string text = describe_inputs(now, before); !text.empty()) return text;
  for (std::size_t i = 0; i < now.nodes.size(); ++i) {
    if (std::string text = describe_node(now, before, i); !text.empty()) return text;
  }
  if (std::string text = describe_outputs(now, before); !text.empty()) return text;
  for (std::size_t i = 0; i < std::min(now.scalars.size(), before.scalars.size()); ++i) {
    if (now.scalars[i].dtype != before.scalars[i].dtype) {
      return fmt::format("number {} is used as {} and was used as {}", i, now.scalars[i].dtype,
                         before.scalars[i].dtype);
    }
  }
  return "";
}

void explain_compile(const Graph& graph, std::uint8_t device, const std::vector<PlanPtr>& cached, bool rebound) {
  const Plan* plan = nearest(graph, device, cached);
  CompileNote note{graph.nodes.size(), graph.sources.empty() ? Source{} : graph.sources.back(), "", rebound};
  if (plan != nullptr) {
    note.difference = describe_difference(graph, plan->graph);
    if (note.difference.empty()) note.difference = "the option fusion, tier or force_fallback changed";
  }
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  all.compiles.push_back(std::move(note));
  if (all.compiles.size() > kMaxCompiles) {
    all.compiles.pop_front();
    ++all.forgotten;
  }
}

std::string explain() {
  std::deque<CompileNote> compiles;
  std::size_t forgotten = 0;
  {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    compiles.swap(all.compiles);
    std::swap(forgotten, all.forgotten);
  }
  std::string text;
  if (forgotten != 0) text += fmt::format("{} earlier compiles are not listed.\n", forgotten);
  for (const CompileNote& note : compiles) {
    text += fmt::format("{} a step of {} op{} that ends{}: ", note.rebound ? "Fitted new shapes to" : "Compiled",
                        note.ops, note.ops == 1 ? "" : "s", note.source.known() ? at(note.source) : " somewhere");
    text += note.difference.empty() ? "nothing like it was in the cache.\n" : note.difference + ".\n";
  }
  text += describe_syncs();
  return text.empty() ? "Nothing was compiled and nothing waited since the last call.\n" : text;
}

}  // namespace lento
