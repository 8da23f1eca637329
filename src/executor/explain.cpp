#include "executor/explain.h"

#include <lento/metrics.h>

#include "base/called.h"
#include "base/fork.h"
#include "base/format.h"
#include "executor/fallbacks.h"
#include "executor/frozen_call.h"
#include "executor/syncs.h"
#include "ir/op.h"
#include "ir/print.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace lento {

namespace {

constexpr std::size_t kMaxFindings = 1000;  // more than anybody reads

/// What sets a step apart from the nearest cached one. Differences with the same key are one finding.
struct Difference {
  std::string text;  // a sentence
  std::string key;   // the kind of difference, the op and the line, without extents and other numbers
  // A new shape of an argument: what the findings of one key are listed by.
  std::optional<ShapeId> shape;
  std::string before_shape;  // "argument 0 is float32"
  std::string after_shape;   // "; it is first read by …"
};

/// Compiles that differ by shapes and other numbers alone.
struct Finding {
  bool rebound = false;  // nothing but extents was new: no code was compiled
  std::string line;      // of the step's last op: where the step ends in the user's code
  std::size_t times = 0;
  std::size_t fewest_ops = 0;
  std::size_t most_ops = 0;
  Difference latest;
  std::vector<std::pair<std::int64_t, std::int64_t>> extents;  // smallest and largest, by axis
};

struct Notes {
  ForkMutex mutex{ForkOrder::notes};
  std::deque<Finding> findings;
  std::map<std::string, std::size_t> by_key;  // index of a finding
  std::size_t left_out = 0;                   // compiles
};
Notes& notes() { return ProcessLifetime<Notes>::get(); }

std::string at(const Source& source) {
  const std::string line = to_string(source);
  return line.empty() ? "" : " at " + line;
}

/// The op as the user called it: "`exp(%in0)` at train.py:3", "`take` (`take_axis(%in0, %1, axis=0)`) at train.py:4".
std::string call_text(const Graph& graph, std::size_t node) {
  const Record& record = graph.nodes[node];
  std::string text;
  append_call(text, graph, record, false);
  const std::string_view called = called_function(graph.sources[node]);
  text = called.empty() || called == info(record.op).name ? fmt::format("`{}`", text)
                                                          : fmt::format("`{}` (`{}`)", called, text);
  return text + at(graph.sources[node]);
}

/// The op and its line, without attributes.
std::string place_text(const Graph& graph, std::size_t node) {
  return fmt::format("{} {}{}", info(graph.nodes[node].op).name, called_function(graph.sources[node]),
                     at(graph.sources[node]));
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

std::optional<Difference> compare_inputs(const Graph& now, const Graph& before) {
  for (std::size_t i = 0; i < std::min(now.inputs.size(), before.inputs.size()); ++i) {
    if (now.inputs[i] == before.inputs[i]) continue;
    // Its first reader shows the user which tensor it is.
    for (std::size_t node = 0; node < now.nodes.size(); ++node) {
      const auto operands = now.operands(now.nodes[node]);
      if (std::ranges::find(operands, OperandRef::leaf(static_cast<std::uint32_t>(i))) == operands.end()) continue;
      Difference found;
      found.before_shape = fmt::format("argument {} is {}", i, now.inputs[i].dtype);
      found.after_shape = "; it is first read by " + call_text(now, node);
      found.text = fmt::format("argument {} is {} and was {}{}", i, type_text(now.inputs[i]),
                               type_text(before.inputs[i]), found.after_shape);
      found.key = fmt::format("{} of rank {}, was {}, read by {}", found.before_shape,
                              shape_of(now.inputs[i].shape).size(), before.inputs[i].dtype, place_text(now, node));
      if (now.inputs[i].dtype == before.inputs[i].dtype) found.shape = now.inputs[i].shape;
      return found;
    }
  }
  return std::nullopt;
}

std::optional<Difference> compare_nodes(const Graph& now, const Graph& before, std::size_t i) {
  const Record& a = now.nodes[i];
  const Record& b = before.nodes[i];
  const auto make = [&](std::string_view kind, std::string text) {
    Difference found;
    found.text = std::move(text);
    found.key = fmt::format("{} {} was {}", kind, place_text(now, i), place_text(before, i));
    return found;
  };
  if (a.attrs != b.attrs) {
    return make("attribute", fmt::format("an attribute changed: op {} is {} and was {}", i, call_text(now, i),
                                         call_text(before, i)));
  }
  const auto x = now.operands(a);
  const auto y = before.operands(b);
  if (!std::equal(x.begin(), x.end(), y.begin(), y.end())) {
    return make("shared", fmt::format("arguments are shared differently: op {} is {} and was {}", i, call_text(now, i),
                                      call_text(before, i)));
  }
  if (a.dtype != b.dtype || a.shape != b.shape) {
    return make("result", fmt::format("op {}, {}, gives {} and gave {}", i, call_text(now, i),
                                      type_text({a.dtype, a.shape}), type_text({b.dtype, b.shape})));
  }
  return std::nullopt;
}

std::optional<Difference> compare_outputs(const Graph& now, const Graph& before) {
  const std::set<std::uint32_t> x(now.outputs.begin(), now.outputs.end());
  const std::set<std::uint32_t> y(before.outputs.begin(), before.outputs.end());
  Difference found;
  for (const std::uint32_t node : now.outputs) {
    if (y.contains(node)) continue;
    found.text =
        fmt::format("the value of {} is kept and was not: is a variable still holding it?", call_text(now, node));
    found.key = "kept " + place_text(now, node);
    return found;
  }
  for (const std::uint32_t node : before.outputs) {
    if (x.contains(node)) continue;
    found.text = fmt::format("the value of {} was kept and is not any more", call_text(before, node));
    found.key = "not kept " + place_text(before, node);
    return found;
  }
  return std::nullopt;
}

std::optional<Difference> compare_ops(const Graph& now, const Graph& before) {
  const Overlap overlap(now, before);
  const std::size_t first = overlap.first;
  const std::size_t added = now.nodes.size() - first - overlap.last;
  const std::size_t removed = before.nodes.size() - first - overlap.last;
  Difference found;
  if (added != 0 && removed != 0) {
    found.text = fmt::format("op {} is {} and was {}", first, call_text(now, first), call_text(before, first));
    found.key = fmt::format("replaced {} was {}", place_text(now, first), place_text(before, first));
  } else if (added != 0) {
    found.text = fmt::format("the step has {} ops and had {}; the first new one is {}", now.nodes.size(),
                             before.nodes.size(), call_text(now, first));
    found.key = "added " + place_text(now, first);
  } else if (removed != 0) {
    found.text = fmt::format("the step has {} ops and had {}; the first that is missing is {}", now.nodes.size(),
                             before.nodes.size(), call_text(before, first));
    found.key = "removed " + place_text(before, first);
  } else {
    return std::nullopt;
  }
  return found;
}

Difference compare(const Graph& now, const Graph& before) {
  if (std::optional<Difference> found = compare_ops(now, before)) return *found;
  // With the same ops a new shape of an argument is the cause, and changed attributes and results its consequences.
  if (std::optional<Difference> found = compare_inputs(now, before)) return *found;
  for (std::size_t i = 0; i < now.nodes.size(); ++i) {
    if (std::optional<Difference> found = compare_nodes(now, before, i)) return *found;
  }
  if (std::optional<Difference> found = compare_outputs(now, before)) return *found;
  Difference found;
  found.text = "the option fusion, tier or force_fallback changed";
  found.key = "options";
  for (std::size_t i = 0; i < std::min(now.scalars.size(), before.scalars.size()); ++i) {
    if (now.scalars[i].dtype == before.scalars[i].dtype) continue;
    found.text =
        fmt::format("number {} is used as {} and was used as {}", i, now.scalars[i].dtype, before.scalars[i].dtype);
    found.key = found.text;
    break;
  }
  return found;
}

void add(Finding& finding, std::size_t ops, Difference difference) {
  finding.fewest_ops = finding.times == 0 ? ops : std::min(finding.fewest_ops, ops);
  finding.most_ops = std::max(finding.most_ops, ops);
  ++finding.times;
  if (difference.shape) {
    const Shape& shape = shape_of(*difference.shape);
    finding.extents.resize(shape.size(), {shape.empty() ? 0 : std::numeric_limits<std::int64_t>::max(), 0});
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      auto& [smallest, largest] = finding.extents[axis];
      smallest = std::min(smallest, shape[axis]);
      largest = std::max(largest, shape[axis]);
    }
  }
  finding.latest = std::move(difference);
}

/// "3", or "3 to 14".
std::string range_text(std::int64_t smallest, std::int64_t largest) {
  return smallest == largest ? std::to_string(smallest) : fmt::format("{} to {}", smallest, largest);
}

/// "float32(4 to 100, 3)" for all shapes of a finding.
std::string shapes_text(const Finding& finding) {
  std::vector<std::string> extents;
  for (const auto& [smallest, largest] : finding.extents) extents.push_back(range_text(smallest, largest));
  return fmt::format("{}({}{}){}", finding.latest.before_shape, fmt::join(extents, ", "),
                     extents.size() == 1 ? "," : "", finding.latest.after_shape);
}

std::string describe(const Finding& finding) {
  const bool once = finding.times == 1;
  std::string text = fmt::format(
      "{}{} a step of {} op{} that ends{}: ", finding.rebound ? "Fitted new shapes" : "Compiled",
      (once ? "" : fmt::format(" {} times", finding.times)) + (finding.rebound ? " to" : ""),
      range_text(static_cast<std::int64_t>(finding.fewest_ops), static_cast<std::int64_t>(finding.most_ops)),
      finding.most_ops == 1 ? "" : "s", finding.line.empty() ? " somewhere" : finding.line);
  const Difference& latest = finding.latest;
  if (latest.text.empty()) return text + "nothing like it was in the cache.\n";
  if (once) return text + latest.text + ".\n";
  if (latest.shape) return text + shapes_text(finding) + ".\n";
  return text + "the last time, " + latest.text + ".\n";
}

}  // namespace

void explain_compile(const Graph& graph, std::uint8_t device, const std::vector<PlanPtr>& cached, bool rebound) {
  const Plan* plan = nearest(graph, device, cached);
  Difference difference = plan == nullptr ? Difference{} : compare(graph, plan->graph);
  const std::string line = graph.sources.empty() ? "" : at(graph.sources.back());
  const std::string key = fmt::format("{}{}: {}", rebound ? "fitted" : "compiled", line, difference.key);
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  auto found = all.by_key.find(key);
  if (found == all.by_key.end()) {
    if (all.findings.size() == kMaxFindings) {
      ++all.left_out;
      return;
    }
    Finding& added = all.findings.emplace_back();
    added.rebound = rebound;
    added.line = line;
    found = all.by_key.emplace(key, all.findings.size() - 1).first;
  }
  add(all.findings[found->second], graph.nodes.size(), std::move(difference));
}

std::string explain() {
  std::deque<Finding> findings;
  std::size_t left_out = 0;
  {
    Notes& all = notes();
    const std::lock_guard lock(all.mutex);
    findings.swap(all.findings);
    all.by_key.clear();
    std::swap(left_out, all.left_out);
  }
  std::string text;
  for (const Finding& finding : findings) text += describe(finding);
  if (left_out != 0) text += fmt::format("{} later compiles are not listed.\n", left_out);
  text += describe_fallbacks();
  text += describe_frozen();
  text += describe_syncs();
  return text.empty() ? "Nothing was compiled and nothing waited since the last call.\n" : text;
}

}  // namespace lento
