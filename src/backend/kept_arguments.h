// What a device with queues is given, kept until it has run it: launches and calls refer to memory that is the caller's
// alone (driver.h).
#pragma once

#include "backend/driver.h"
#include "backend/node_call.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace lento {

/// The arguments of a launch.
struct KeptLaunch {
  explicit KeptLaunch(const KernelLaunch& launch);
  /// They refer to this.
  KernelArguments arguments() const;

  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::vector<void*> addresses;
  std::vector<std::byte> numbers;
  std::vector<PickedRows> picked;  // none when the kernel picks no rows
};

/// The arguments of a call, with the node that it runs.
struct KeptCall {
  NodeCall node;  // a result that nobody wants has no memory
  StatusWord* status = nullptr;
  std::vector<ScalarArgument> numbers;  // which the node refers to
};

/// A call of any op, for devices whose code for single ops takes a NodeCall. What the host knows to be wrong is raised
/// before anything is queued; what the device finds in its data is in the words of ir/bad_values.h.
class KeptNode : public PreparedCall {
 public:
  KeptNode(const Graph& graph, const Record& record);
  void run(const CallArguments& arguments) const override;
  std::size_t status_words() const override;
  BadValue explain(std::size_t which, StatusWord word) const override;

 private:
  /// The call refers to this.
  virtual void queue(std::shared_ptr<KeptCall> call) const = 0;

  const Op op_;
  const AttrsId attrs_;
  std::vector<Meta> operands_;
  const std::vector<Meta> results_;
};

}  // namespace lento
