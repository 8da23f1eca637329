#include "compiler/batches.h"

#include "compiler/schedule.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace lento {

namespace {

/// How a kernel takes part in batches.
enum class Part : std::uint8_t {
  none,   // it is large, or a call, or a chain
  small,  // it does
  last,   // it is larger, but nothing reads what it makes
};

/// A step, or the steps of a chain, which stay together.
struct Unit {
  std::uint32_t first;
  std::uint32_t last;
  Part part;
};

/// The nodes that a kernel writes.
template <class Visit>
void for_each_result(const Schedule& schedule, const Step& step, const Visit& visit) {
  const KernelStep& run = step.kernel();
  const Kernel& kernel = schedule.kernels[run.kernel];
  for (std::size_t i = 0; i < run.operands.size(); ++i) {
    if (kernel.operands[i].output) visit(run.operands[i].base.index());
  }
}

/// Finds out how each kernel takes part.
class Sizes {
 public:
  Sizes(const Graph& graph, const Target& target, const Schedule& schedule)
      : schedule_(schedule), target_(target), is_read_(graph.nodes.size(), 0) {
    for (const Step& step : schedule.steps) {
      for (const std::uint32_t node : nodes_read(graph, schedule, step)) is_read_[node] = 1;
    }
  }

  Part part_of(const Step& step) const {
    if (step.cost <= target_.batch_cost) return Part::small;
    if (step.cost > target_.last_batch_cost) return Part::none;
    bool any = false;
    for_each_result(schedule_, step, [&](std::uint32_t node) { any = any || is_read_[node] != 0; });
    return any ? Part::none : Part::last;
  }

 private:
  const Schedule& schedule_;
  const Target& target_;
  std::vector<std::uint8_t> is_read_;  // one per node: by some step
};

/// Finds a new order for the steps between two calls. Kernels that take part wait, each on a level: behind the last of
/// them that it has to follow. What does not take part goes on as soon as the levels have run that it has to follow.
class Gatherer {
 public:
  Gatherer(const Graph& graph, const Target& target, Schedule& schedule)
      : graph_(graph),
        schedule_(schedule),
        most_kernels_(target.batch_kernels),
        most_elements_(target.batch_cost),
        written_on_(graph.nodes.size(), kNowhere),
        read_on_(graph.inputs.size(), kNowhere),
        large_in_(graph.nodes.size(), kNowhere) {
    ordered_.reserve(schedule.steps.size());
  }

  /// The next units, all of which are kernels.
  void add(const std::vector<Unit>& units) {
    std::vector<std::vector<Unit>> turns;  // units that run together
    const auto run_levels = [&](std::uint32_t end) {
      const auto count = std::min<std::size_t>(end - next_level_, waiting_.size());
      std::move(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count), std::back_inserter(turns));
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
      next_level_ = end;
    };
    for (const Unit& unit : units) {
      const std::uint32_t level = level_of(unit);
      if (!may_wait(unit)) {
        run_levels(level);
        turns.push_back({unit});
        note_large(unit);
        continue;
      }
      if (level - next_level_ == waiting_.size()) waiting_.emplace_back();
      waiting_[level - next_level_].push_back(unit);
      note(schedule_.steps[unit.first], level);
    }
    run_levels(next_level_ + static_cast<std::uint32_t>(waiting_.size()));
    ++stretch_;
    const bool gathered = std::ranges::any_of(turns, [](const auto& turn) { return turn.size() > 1; });
    if (!gathered) {
      // Without a batch there is no reason to change the order.
      for (const Unit& unit : units) append(unit);
      return;
    }
    for (const std::vector<Unit>& turn : turns) append_batches(turn);
  }

  void add_call(std::uint32_t step) { append({step, step, Part::none}); }

  std::vector<Batch> finish() {
    schedule_.steps = std::move(ordered_);
    return std::move(batches_);
  }

 private:
  static constexpr std::uint32_t kNowhere = ~0U;

  /// Whether somebody on this level is still waiting.
  bool waits(std::uint32_t level) const { return level != kNowhere && level >= next_level_; }

  /// The first level on which a unit may run.
  std::uint32_t level_of(const Unit& unit) const {
    std::uint32_t level = next_level_;
    const auto follow = [&](std::uint32_t other) {
      if (waits(other)) level = std::max(level, other + 1);
    };
    for (std::uint32_t s = unit.first; s <= unit.last; ++s) {
      const KernelStep& step = schedule_.steps[s].kernel();
      for (const OperandRef operand : reads(graph_, schedule_, schedule_.steps[s])) {
        if (operand.kind() == OperandRef::Kind::record) follow(written_on_[operand.index()]);
      }
      // An input is only written over by the last that reads it.
      for (const InPlace& pair : step.in_place) {
        const OperandRef from = step.operands[pair.operand].base;
        if (from.kind() == OperandRef::Kind::leaf) follow(read_on_[from.index()]);
      }
    }
    return level;
  }

  /// A kernel does not when that would keep alive what a large one has just made: a larger kernel never, a small one
  /// when it reads a part of something that no small kernel could go over.
  bool may_wait(const Unit& unit) const {
    if (unit.part == Part::none) return false;
    const std::vector<std::uint32_t> nodes = nodes_read(graph_, schedule_, schedule_.steps[unit.first]);
    return std::ranges::none_of(nodes, [&](std::uint32_t node) {
      const auto elements = static_cast<double>(element_count(shape_of(graph_.nodes[node].shape)));
      return large_in_[node] == stretch_ && (unit.part == Part::last || elements > most_elements_);
    });
  }

  void note_large(const Unit& unit) {
    for (std::uint32_t s = unit.first; s <= unit.last; ++s) {
      for_each_result(schedule_, schedule_.steps[s], [&](std::uint32_t node) { large_in_[node] = stretch_; });
    }
  }

  void note(const Step& step, std::uint32_t level) {
    for_each_result(schedule_, step, [&](std::uint32_t node) { written_on_[node] = level; });
    for (const OperandRef operand : reads(graph_, schedule_, step)) {
      if (operand.kind() != OperandRef::Kind::leaf) continue;
      std::uint32_t& last = read_on_[operand.index()];
      last = waits(last) ? std::max(last, level) : level;
    }
  }

  void append_batches(const std::vector<Unit>& turn) {
    for (std::size_t i = 0; i < turn.size(); ++i) {
      const auto step = static_cast<std::uint32_t>(ordered_.size());
      append(turn[i]);
      if (turn.size() == 1) return;
      if (i % most_kernels_ == 0) batches_.push_back({step, step});
      batches_.back().last = step;
    }
    // The last of many may be alone.
    if (batches_.back().first == batches_.back().last) batches_.pop_back();
  }

  void append(const Unit& unit) {
    const auto first = static_cast<std::uint32_t>(ordered_.size());
    for (std::uint32_t s = unit.first; s <= unit.last; ++s) ordered_.push_back(std::move(schedule_.steps[s]));
    if (unit.first == unit.last) return;
    // Chains keep their order.
    Chain& chain = schedule_.chains[next_chain_++];
    chain.first = first;
    chain.last = first + unit.last - unit.first;
  }

  const Graph& graph_;
  Schedule& schedule_;
  const std::size_t most_kernels_;
  const double most_elements_;              // that a small kernel can go over
  std::uint32_t next_level_ = 0;            // the first one that has not run
  std::vector<std::vector<Unit>> waiting_;  // by level from that one on
  std::vector<std::uint32_t> written_on_;   // one per node: the level on which it is written
  std::vector<std::uint32_t> read_on_;      // one per input: the last level on which it is read
  std::uint32_t stretch_ = 0;               // counts the times that units were added
  std::vector<std::uint32_t> large_in_;     // one per node: when a unit that takes no part has written it
  std::vector<Step> ordered_;
  std::size_t next_chain_ = 0;  // of the schedule
  std::vector<Batch> batches_;
};

}  // namespace

std::vector<Batch> gather_batches(const Graph& graph, const Target& target, Schedule& schedule) {
  if (target.batch_kernels < 2) return {};
  const Sizes sizes(graph, target, schedule);
  Gatherer gatherer(graph, target, schedule);
  std::vector<Unit> stretch;
  const std::vector<Chain> chains = schedule.chains;  // as they are now
  std::size_t next_chain = 0;
  const auto steps = static_cast<std::uint32_t>(schedule.steps.size());
  for (std::uint32_t s = 0; s < steps; ++s) {
    const Step& step = schedule.steps[s];
    if (step.is_call()) {
      gatherer.add(std::exchange(stretch, {}));
      gatherer.add_call(s);
    } else if (next_chain < chains.size() && chains[next_chain].first == s) {
      stretch.push_back({s, chains[next_chain].last, Part::none});
      s = chains[next_chain++].last;
    } else {
      stretch.push_back({s, s, sizes.part_of(step)});
    }
  }
  gatherer.add(stretch);
  return gatherer.finish();
}

}  // namespace lento
