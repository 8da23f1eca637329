// autograd/: the derivative of each primitive, from its `vjp` entry.
#include "callers.h"
#include "cpp.h"
#include "emit.h"
#include "expression.h"

#include <algorithm>
#include <set>

namespace lento::opgen {

namespace {

/// The variables that an entry's expressions use: names that are neither called nor members.
std::set<std::string> names_in(const Entry& entry) {
  std::set<std::string> names;
  Diagnostics ignored;
  for (const auto& [key, expression] : entry.vjp) {
    const std::vector<Token> tokens = tokenize(expression, ignored);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const std::string_view before = i == 0 ? std::string_view() : tokens[i - 1].text;
      const std::string_view after = i + 1 == tokens.size() ? std::string_view() : tokens[i + 1].text;
      if (tokens[i].kind != Token::Kind::name || before == "." || before == "::" || after == "(") continue;
      names.insert(tokens[i].text);
    }
  }
  return names;
}

/// `conj` of what is real would be an op that does nothing.
std::string rule_text(const Text& expression, const Entry& entry, const Catalogue& catalogue) {
  std::string text = qualify_ops(expression.value, entry, catalogue);
  const std::string plain = "lento::conj(";
  for (std::size_t at = text.find(plain); at != std::string::npos; at = text.find(plain, at)) {
    text.replace(at, plain.size(), "rules::conjugated(");
  }
  return text;
}

/// How many operands stand before this argument; lists come last.
std::size_t operand_index(const Entry& entry, const Arg& wanted) {
  std::size_t index = 0;
  for (const Arg& arg : entry.args) {
    if (&arg == &wanted) break;
    if (arg.type.is_operand()) ++index;
  }
  return index;
}

void declare_arguments(Writer& w, const Entry& entry, const std::set<std::string>& names) {
  const bool attributes =
      entry.has_attributes() && std::any_of(entry.args.begin(), entry.args.end(), [&](const Arg& arg) {
        return arg.type.is_attribute() && names.contains(arg.name);
      });
  if (attributes) w.line("const {} attrs = decode_{}(call.op().attrs);", attrs_type(entry), entry.name);
  for (const Arg& arg : entry.args) {
    if (!names.contains(arg.name)) continue;
    const std::size_t index = operand_index(entry, arg);
    if (arg.type.kind == ArgKind::number) {
      if (arg.type.list) {
        w.line("const std::vector<Scalar> {} = call.numbers_from({});", arg.name, index);
      } else {
        w.line("const Scalar& {} = call.number({});", arg.name, index);
      }
    } else if (arg.type.is_operand()) {
      if (arg.type.list) {
        w.line("const std::vector<Tensor> {} = call.operands_from({});", arg.name, index);
      } else {
        w.line("const Tensor {} = call.operand({});", arg.name, index);
      }
    } else if (arg.type.kind == ArgKind::choice) {
      w.line("const std::string_view {0} = {1}[static_cast<std::size_t>(attrs.{0})];", arg.name,
             choices_name(entry, arg));
    } else if (arg.type.is_attribute()) {
      w.line("const auto& {0} = attrs.{0};", arg.name);
    }
  }
}

void declare_results(Writer& w, const Entry& entry, const std::set<std::string>& names) {
  if (names.contains("grad")) w.add("const Tensor grad = call.grad();");
  if (names.contains("result")) w.add("const Tensor& result = call.result();");
  for (std::size_t i = 0; i < entry.results.size(); ++i) {
    const std::string& name = entry.results[i];
    if (names.contains("grad_" + name)) w.line("const Tensor& grad_{} = call.grad_if_any({});", name, i);
    if (names.contains(name) && entry.find_arg(name) == nullptr) w.line("const Tensor& {} = call.result({});", name, i);
  }
}

void rule(Writer& w, const Entry& entry, const Catalogue& catalogue) {
  const std::set<std::string> names = names_in(entry);
  w.line();
  w.line("// {}", entry.file);
  w.line("void vjp_{}(RuleCall& call) {{", entry.name);
  w.indent();
  declare_results(w, entry, names);
  declare_arguments(w, entry, names);
  for (const auto& [key, expression] : entry.vjp) {
    const std::vector<std::string> arguments = vjp_arguments(key);
    const std::string text = rule_text(expression, entry, catalogue);
    if (arguments.size() > 1) {
      std::vector<std::size_t> indices;
      for (const std::string& name : arguments) indices.push_back(operand_index(entry, *entry.find_arg(name)));
      w.line("if (call.wants_any({{{0}}})) call.give_all({{{0}}}, {1});", fmt::join(indices, ", "), text);
      continue;
    }
    const Arg& arg = *entry.find_arg(key.value);
    const std::size_t index = operand_index(entry, arg);
    w.line(fmt::runtime(arg.type.list ? "if (call.wants_any_from({0})) call.give_from({0}, {1});"
                                      : "if (call.wants({0})) call.give({0}, {1});"),
           index, text);
  }
  w.dedent();
  w.add("}");
}

std::string derivatives(const Catalogue& catalogue) {
  Writer w;
  w.add("namespace lento {");
  w.line();
  w.add("namespace {");
  for (const Entry* entry : catalogue.primitives()) {
    if (!entry->vjp.empty()) rule(w, *entry, catalogue);
  }
  w.line();
  w.add("}  // namespace");
  w.line();
  w.add("VjpRule vjp_rule(Op op) {");
  w.indent();
  w.add("switch (op) {");
  w.indent();
  for (const Entry* entry : catalogue.primitives()) {
    if (entry->vjp.empty()) continue;
    w.line("case op::{}:", cpp_identifier(entry->name));
    w.line("  return vjp_{};", entry->name);
  }
  w.add("default:");
  w.add("  return nullptr;");
  w.dedent();
  w.add("}");
  w.dedent();
  w.add("}");
  w.line();
  w.add("}  // namespace lento");
  Writer head;
  head.add(file_header("The derivative of each primitive that has one (autograd/rule.h)."));
  for (const std::string& include : op_includes(ops_named_in(w.text(), catalogue))) head.add(include);
  head.line();
  head.add("#include \"autograd/rule.h\"");
  head.add("#include \"autograd/rules.h\"");
  for (const std::string& family : kPrimitiveFamilies) {
    head.line("#include \"ir/attrs_{}.gen.h\"", family);
    head.line("#include \"ir/op_{}.gen.h\"", family);
  }
  head.line();
  return head.text() + w.text();
}

std::string batch_rules(const Catalogue& catalogue) {
  Writer w;
  w.add(file_header("How each primitive is repeated for a batch of examples (autograd/batch_rule.h)."));
  w.add("#include \"autograd/batch_rule.h\"");
  for (const std::string& family : kPrimitiveFamilies) w.line("#include \"ir/op_{}.gen.h\"", family);
  w.line();
  w.add("namespace lento {");
  w.line();
  w.add("BatchRule batch_rule(Op op) {");
  w.indent();
  w.add("switch (op) {");
  w.indent();
  for (const Entry* entry : catalogue.primitives()) {
    if (!entry->elementwise() && !entry->batch) continue;
    w.line("case op::{}:", cpp_identifier(entry->name));
    w.line("  return BatchRule::{};", entry->elementwise() ? "align" : entry->batch->value);
  }
  w.add("default:");
  w.add("  return BatchRule::each;");
  w.dedent();
  w.add("}");
  w.dedent();
  w.add("}");
  w.line();
  w.add("}  // namespace lento");
  return w.text();
}

}  // namespace

void emit_autograd(const Catalogue& catalogue, Files& files) {
  files["autograd/vjp.gen.cpp"] = derivatives(catalogue);
  files["autograd/batch.gen.cpp"] = batch_rules(catalogue);
}

}  // namespace lento::opgen
