// The rules of a graph, one node at a time. verify() of ir/graph.h goes through all of them; the parser asks after each
// node, while it still knows the line.
#pragma once

#include "ir/attr_list.h"
#include "ir/graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lento {

class NodeVerifier {
 public:
  explicit NodeVerifier(const Graph& graph) : graph_(graph) {}

  /// The rule that this node breaks, as a sentence; empty when it breaks none. The nodes before it must be good.
  std::string broken_rule(std::uint32_t node);

 private:
  std::string check_form(const Record& record);
  std::string check_operands(const Record& record, std::uint32_t node) const;
  std::string check_kinds(const Record& record) const;
  std::string check_result(const Record& record, std::uint32_t node);
  std::string check_types(const Record& record);
  /// What the op of `record` gives; returns its attributes as they should be. Throws what the inference throws.
  AttrsId infer(const Record& record);

  const Graph& graph_;
  std::vector<Meta> operands_;  // of the last inference
  std::vector<Meta> results_;
  std::vector<Attribute> attributes_;  // of the last node
};

/// The rule that a dtype breaks. A shape with an id breaks none: it was checked when it got its id.
std::string broken_type_rule(DType dtype);

}  // namespace lento
