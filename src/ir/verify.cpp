// The executable specification of the graph's form. docs/ir.md lists the rules in the same order.
#include "ir/verify.h"

#include "base/fail.h"
#include "ir/attr_list.h"
#include "ir/infer.h"
#include "ir/infer_common.h"
#include "ir/infer_elementwise.h"
#include "ir/op.h"
#include "ir/op_number.h"

#include <utility>

namespace lento {

namespace {

bool is_dtype(DType dtype) { return static_cast<int>(dtype) < kDTypeCount; }

/// Lets the messages of inference speak of the node's op instead of what the calling thread is doing.
class OpContext {
 public:
  explicit OpContext(std::string_view op) : saved_(std::exchange(call_context(), CallContext{op, {}, 1, 0})) {}
  ~OpContext() { call_context() = saved_; }
  OpContext(const OpContext&) = delete;
  OpContext& operator=(const OpContext&) = delete;

 private:
  CallContext saved_;
};

std::string operand_text(OperandRef operand) {
  constexpr std::string_view kPrefixes[] = {"%", "%in", "$", "?"};
  return fmt::format("{}{}", kPrefixes[operand.bits >> 30], operand.index());
}

bool takes(ArgKind kind, OperandRef operand) {
  const bool number = operand.kind() == OperandRef::Kind::scalar;
  switch (kind) {
    case ArgKind::tensor:
    case ArgKind::tensor_list:
      return !number;
    case ArgKind::number:
    case ArgKind::number_list:
      return number;
    default:
      return true;
  }
}

bool is_list(ArgKind kind) { return kind == ArgKind::tensor_list || kind == ArgKind::number_list; }

}  // namespace

std::string broken_type_rule(DType dtype) {
  if (!is_dtype(dtype)) return fmt::format("{} is not a dtype", static_cast<int>(dtype));
  return "";
}

std::string NodeVerifier::broken_rule(std::uint32_t node) {
  const Record& record = graph_.nodes[node];
  if (std::string rule = check_form(record); !rule.empty()) return rule;
  if (std::string rule = check_operands(record, node); !rule.empty()) return rule;
  if (record.op == op::result) return check_result(record, node);
  if (std::string rule = check_kinds(record); !rule.empty()) return rule;
  return check_types(record);
}

std::string NodeVerifier::check_form(const Record& record) {
  if (!is_op(record.op)) return fmt::format("{} is not an op", static_cast<int>(record.op));
  if (record.op == op::leaf) return "a leaf is an input of the graph, not a node";
  if (std::string rule = broken_type_rule(record.dtype); !rule.empty()) return rule;
  if (record.padding != 0) return "the padding is not zero";
  if (record.op != op::result && record.result_index != 0) return "only a result has a result index";
  if (!split_attributes(record.op, attrs_of(record.attrs), attributes_)) {
    return fmt::format("the attributes are not those of {}", info(record.op).name);
  }
  return "";
}

std::string NodeVerifier::check_operands(const Record& record, std::uint32_t node) const {
  std::size_t used = record.operand_count;
  if (record.operand_count == Record::kOperandList) {
    const std::uint64_t offset = record.operands[0].bits;
    const std::uint64_t count = record.operands[1].bits;
    if (count <= Record::kInlineOperands) return fmt::format("{} operands do not need a list", count);
    if (offset + count > graph_.operand_lists.size()) return "the operands lie outside of the operand lists";
    used = 2;
  } else if (record.operand_count > Record::kInlineOperands) {
    return fmt::format("{} operands need a list", record.operand_count);
  }
  for (std::size_t i = used; i < Record::kInlineOperands; ++i) {
    if (record.operands[i] != OperandRef{}) return "an unused operand is not zero";
  }
  for (const OperandRef operand : graph_.operands(record)) {
    const std::uint32_t index = operand.index();
    switch (operand.bits >> 30) {
      case 0:
        if (index >= node) return fmt::format("the operand {} does not come before it", operand_text(operand));
        break;
      case 1:
        if (index >= graph_.inputs.size()) return fmt::format("there is no input {}", operand_text(operand));
        break;
      case 2:
        if (index >= graph_.scalars.size()) return fmt::format("there is no number {}", operand_text(operand));
        break;
      default:
        return "an operand is neither a node nor an input nor a number";
    }
  }
  return "";
}

std::string NodeVerifier::check_kinds(const Record& record) const {
  const OpInfo& op = info(record.op);
  const std::span<const OperandRef> given = graph_.operands(record);
  std::size_t required = 0;
  bool any_list = false;
  for (const ArgInfo& arg : op.args) {
    if (is_list(arg.kind)) {
      any_list = true;
    } else if (is_operand(arg.kind)) {
      ++required;
    }
  }
  if (given.size() < required || (given.size() > required && !any_list)) {
    return fmt::format("{} takes {}{} operand{}, got {}", op.name, any_list ? "at least " : "", required,
                       required == 1 ? "" : "s", given.size());
  }
  std::size_t at = 0;
  for (const ArgInfo& arg : op.args) {
    if (!is_operand(arg.kind)) continue;
    const std::size_t count = is_list(arg.kind) ? given.size() - required : 1;
    for (std::size_t i = 0; i < count; ++i, ++at) {
      if (takes(arg.kind, given[at])) continue;
      const bool number = given[at].kind() == OperandRef::Kind::scalar;
      return fmt::format("{} takes a {} for {}, got the {} {}", op.name, number ? "tensor" : "number", arg.name,
                         number ? "number" : "tensor", operand_text(given[at]));
    }
    if (arg.kind != ArgKind::number_list) continue;
    // Inference sees no numbers; a list of them has one for each axis.
    for (const Attribute& attribute : attributes_) {
      if (attribute.arg->name == "axes" && attribute.values.size() != count) {
        return fmt::format("{} has {} axes and {} {}", op.name, attribute.values.size(), count, arg.name);
      }
    }
  }
  return "";
}

AttrsId NodeVerifier::infer(const Record& record) {
  const OpInfo& op = info(record.op);
  const OpContext context(op.name);
  operands_.clear();
  results_.assign(op.result_count, {record.dtype, {}});
  for (const OperandRef operand : graph_.operands(record)) {
    // Numbers of an elementwise op have the common dtype of its operands; other ops are inferred from tensors alone.
    if (op.rule != nullptr || operand.kind() != OperandRef::Kind::scalar) operands_.push_back(graph_.meta_of(operand));
  }
  if (op.rule != nullptr) {
    results_[0] = infer_elementwise(*op.rule, operands_);
    return record.attrs;
  }
  return infer_node(record.op, operands_, record.attrs, results_);
}

std::string NodeVerifier::check_types(const Record& record) {
  AttrsId attrs{};
  try {
    attrs = infer(record);
  } catch (const Error& error) {
    return error.what();
  }
  if (attrs != record.attrs) {
    return fmt::format(
        "the attributes of {} are not as they are recorded: axes count from the front, lengths are computed",
        info(record.op).name);
  }
  const Meta recorded{record.dtype, shape_of(record.shape)};
  if (recorded == results_[0]) return "";
  return fmt::format("{} gives {}, not {}", info(record.op).name, type_text(results_[0]), type_text(recorded));
}

std::string NodeVerifier::check_result(const Record& record, std::uint32_t node) {
  const std::span<const OperandRef> given = graph_.operands(record);
  if (given.size() != 1 || given[0].kind() != OperandRef::Kind::record)
    return "a result has one operand, the node of its op";
  const std::uint32_t producer = given[0].index();
  const Record& op_record = graph_.nodes[producer];
  const OpInfo& op = info(op_record.op);
  if (op_record.op == op::result) return "a result belongs to an op, not to another result";
  if (record.result_index == 0 || record.result_index >= op.result_count) {
    return fmt::format("{} has no result {}: it has {}", op.name, record.result_index, op.result_count);
  }
  const Record& before = graph_.nodes[node - 1];
  const bool follows = node - 1 == producer || (before.op == op::result && before.operands[0] == given[0] &&
                                                before.result_index < record.result_index);
  if (!follows) return "results follow their op directly, in order";
  try {
    infer(op_record);
  } catch (const Error& error) {
    return error.what();
  }
  const Meta recorded{record.dtype, shape_of(record.shape)};
  const Meta& inferred = results_[record.result_index];
  if (recorded == inferred) return "";
  return fmt::format("result {} of {} is {}, not {}", record.result_index, op.name, type_text(inferred),
                     type_text(recorded));
}

void verify(const Graph& graph) {
  if (graph.nodes.size() > OperandRef::kMaxIndex || graph.inputs.size() > OperandRef::kMaxIndex ||
      graph.scalars.size() > OperandRef::kMaxIndex) {
    fail<BackendError>("the graph has more than {} nodes, inputs or numbers", OperandRef::kMaxIndex);
  }
  if (graph.sources.size() != graph.nodes.size()) {
    fail<BackendError>("the graph has {} nodes but {} sources", graph.nodes.size(), graph.sources.size());
  }
  if (!graph.origins.empty() && graph.origins.size() != graph.nodes.size()) {
    fail<BackendError>("the graph has {} nodes but {} origins", graph.nodes.size(), graph.origins.size());
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (const std::string rule = broken_type_rule(graph.inputs[i].dtype); !rule.empty()) {
      fail<BackendError>("input %in{}: {}", i, rule);
    }
  }
  for (std::size_t i = 0; i < graph.scalars.size(); ++i) {
    if (const std::string rule = broken_type_rule(graph.scalars[i].dtype); !rule.empty()) {
      fail<BackendError>("number ${}: {}", i, rule);
    }
  }
  NodeVerifier verifier(graph);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (const std::string rule = verifier.broken_rule(i); !rule.empty()) fail<BackendError>("node %{}: {}", i, rule);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i] >= graph.nodes.size()) fail<BackendError>("output %{} is not a node", graph.outputs[i]);
    if (i > 0 && graph.outputs[i] <= graph.outputs[i - 1]) {
      fail<BackendError>("output %{} follows %{}: outputs stand in the order of nodes, each once", graph.outputs[i],
                         graph.outputs[i - 1]);
    }
  }
}

}  // namespace lento
