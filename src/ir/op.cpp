#include "ir/op.h"

#include "base/fail.h"
#include "base/fork.h"
#include "ir/catalogue_ops.h"
#include "ir/op_counters.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace lento {

namespace {

constexpr std::size_t index_of(Op op) { return static_cast<std::size_t>(op); }

/// The ops that were added, and all by name. Never destroyed: runs may end while the process does.
class AddedOps {
 public:
  AddedOps() {
    for (std::size_t i = 0; i < kFirstAddedOp; ++i) {
      if (const OpInfo* op = catalogue_op(static_cast<Op>(i))) by_name_.emplace(op->name, static_cast<Op>(i));
    }
  }

  std::optional<Op> find(std::string_view name) {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  }

  Op add(const OpInfo& op) {
    const std::lock_guard lock(mutex_);
    if (op.name.empty()) fail<ValueError>("an op needs a name");
    if (by_name_.contains(op.name)) fail<ValueError>("there is an op '{}' already", op.name);
    if ((op.rule == nullptr) == (op.infer == nullptr)) {
      fail<ValueError>("op '{}' needs the rule of an elementwise op or a function that infers its results", op.name);
    }
    if ((op.rule != nullptr) != (op.family == Family::elementwise)) {
      fail<ValueError>("op '{}' has a rule of elementwise ops and family {}", op.name, lento::name(op.family));
    }
    const std::size_t number = kFirstAddedOp + count_;
    if (number == kMaxOps) fail<ValueError>("{} ops were added; there is room for no more", count_);
    const Op added = static_cast<Op>(number);
    auto kept = std::make_unique<OpInfo>(op);
    name_op_counters(added, op.name);
    by_name_.emplace(op.name, added);
    slots_[count_++].store(kept.release(), std::memory_order_release);
    return added;
  }

  const OpInfo* get(Op op) const {
    const std::size_t slot = index_of(op) - kFirstAddedOp;
    return slot < std::size(slots_) ? slots_[slot].load(std::memory_order_acquire) : nullptr;
  }

 private:
  ForkMutex mutex_{ForkOrder::ops};
  std::unordered_map<std::string_view, Op> by_name_;
  std::size_t count_ = 0;
  std::atomic<const OpInfo*> slots_[kMaxOps - kFirstAddedOp] = {};  // set once each, never freed
};

AddedOps& added_ops() { return ProcessLifetime<AddedOps>::get(); }

/// The descriptor, or null where there is no op of this number.
const OpInfo* find_info(Op op) { return index_of(op) < kFirstAddedOp ? catalogue_op(op) : added_ops().get(op); }

}  // namespace

bool OpInfo::has_extents() const { return std::ranges::any_of(args, &ArgInfo::is_extent); }

const OpInfo& info(Op op) { return *find_info(op); }

bool is_op(Op op) { return find_info(op) != nullptr; }

std::vector<Op> all_ops() {
  std::vector<Op> ops;
  for (std::size_t i = 0; i < kMaxOps; ++i) {
    if (is_op(static_cast<Op>(i))) ops.push_back(static_cast<Op>(i));
  }
  return ops;
}

std::optional<Op> find_op(std::string_view name) { return added_ops().find(name); }

Op add_op(const OpInfo& op) { return added_ops().add(op); }

std::string_view name(Family family) {
  constexpr std::string_view kNames[] = {"bookkeeping", "elementwise", "creation", "cast",    "reduction",
                                         "scan",        "index_map",   "gather",   "scatter", "sort",
                                         "contraction", "window",      "linalg",   "fft",     "random"};
  return kNames[static_cast<std::size_t>(family)];
}

}  // namespace lento
