// ir/: the numbers of primitives, their table, attributes and inference.
#include "cpp.h"
#include "emit.h"

namespace lento::opgen {

namespace {

const char* kind_name(const ArgType& type) {
  switch (type.kind) {
    case ArgKind::tensor:
      return type.list ? "tensor_list" : "tensor";
    case ArgKind::operand:
      return "operand";
    case ArgKind::number:
      return type.list ? "number_list" : "number";
    case ArgKind::integer:
      return type.list ? "ints" : "int_";
    case ArgKind::floating:
      return "float_";
    case ArgKind::boolean:
      return "bool_";
    case ArgKind::dtype:
      return "dtype";
    case ArgKind::choice:
      return "choice";
    case ArgKind::device:
    case ArgKind::string:
    case ArgKind::generator:
      return "device";
  }
  return "";
}

/// The catalogue's primitives of one family, in its order: their index here is that of their number.
std::vector<const Entry*> family_ops(const Catalogue& catalogue, std::string_view family) {
  std::vector<const Entry*> ops;
  for (const Entry* entry : catalogue.primitives()) {
    if (entry->family == family) ops.push_back(entry);
  }
  return ops;
}

std::string op_header(const Catalogue& catalogue, const std::string& family) {
  Writer w;
  w.add(file_header(fmt::format("The numbers of the {} ops, in the order of the catalogue.", family)));
  w.add("#pragma once");
  w.line();
  w.add("#include \"ir/op_number.h\"");
  w.line();
  w.add("namespace lento::op {");
  w.line();
  std::size_t index = 0;
  for (const Entry* entry : family_ops(catalogue, family)) {
    w.line("inline constexpr Op {} = op_number(Family::{}, {});  // {}", cpp_identifier(entry->name), family, index++,
           entry->file);
  }
  if (index != 0) w.line();
  w.add("}  // namespace lento::op");
  return w.text();
}

void arg_table(Writer& w, const Entry& entry) {
  if (entry.args.empty()) return;
  w.line("constexpr ArgInfo k{}Args[] = {{", camel(entry.name));
  w.indent();
  w.indent();
  for (const Arg& arg : entry.args) {
    std::string more;
    if (arg.type.optional) more += ", .optional = true";
    if (entry.is_extent(arg)) more += ", .is_extent = true";
    if (arg.type.kind == ArgKind::choice) more += fmt::format(", .choices = {}", choices_name(entry, arg));
    w.line("{{.name = \"{}\", .kind = ArgKind::{}{}}},", arg.name, kind_name(arg.type), more);
  }
  w.dedent();
  w.dedent();
  w.add("};");
}

void family_table(Writer& w, const std::vector<const Entry*>& ops, const std::string& family) {
  w.line();
  w.line("constexpr OpInfo k{}Ops[] = {{", camel(family));
  w.indent();
  w.indent();
  for (const Entry* entry : ops) {
    std::vector<std::string> fields = {fmt::format(".name = \"{}\"", entry->name),
                                       fmt::format(".family = Family::{}", entry->family)};
    if (entry->results.size() > 1) fields.push_back(fmt::format(".result_count = {}", entry->results.size()));
    if (!entry->args.empty()) fields.push_back(fmt::format(".args = k{}Args", camel(entry->name)));
    fields.push_back(entry->elementwise() ? fmt::format(".rule = &rules::{}", cpp_identifier(entry->name))
                                          : fmt::format(".infer = infer_nodes::{}", cpp_identifier(entry->name)));
    if (entry->updates) fields.push_back(".updates_first_operand = true");
    w.rows("{", fields, "},");
  }
  w.dedent();
  w.dedent();
  w.add("};");
}

std::string op_table(const Catalogue& catalogue) {
  Writer w;
  w.add(file_header("What is known of each primitive (ir/op.h)."));
  w.add("#include \"ir/catalogue_ops.h\"");
  w.add("#include \"ir/elementwise_rules.gen.h\"");
  for (const std::string& family : kPrimitiveFamilies) w.line("#include \"ir/attrs_{}.gen.h\"", family);
  w.line();
  w.add("#include <array>");
  w.line();
  w.add("namespace lento {");
  w.line();
  w.add("namespace infer_nodes {  // ir/infer.gen.cpp");
  for (const Entry* entry : catalogue.primitives()) {
    if (entry->elementwise()) continue;
    w.line("AttrsId {}(std::span<const Meta> operands, AttrsId id, std::span<Meta> results);",
           cpp_identifier(entry->name));
  }
  w.add("}  // namespace infer_nodes");
  w.line();
  w.add("namespace {");
  w.line();
  for (const Entry* entry : catalogue.primitives()) arg_table(w, *entry);
  w.line();
  w.add("constexpr OpInfo kBookkeepingOps[] = {");
  w.add("    {.name = \"leaf\", .family = Family::bookkeeping},");
  w.add("    {.name = \"result\", .family = Family::bookkeeping},");
  w.add("};");
  std::vector<std::string> tables = {"kBookkeepingOps"};
  for (const std::string& family : kPrimitiveFamilies) {
    const std::vector<const Entry*> ops = family_ops(catalogue, family);
    if (ops.empty()) continue;
    family_table(w, ops, family);
    tables.push_back(fmt::format("k{}Ops", camel(family)));
  }
  w.line();
  w.add("constexpr std::array<const OpInfo*, kFirstAddedOp> kByNumber = [] {");
  w.indent();
  w.add("std::array<const OpInfo*, kFirstAddedOp> by_number{};");
  w.add("const auto put = [&](std::span<const OpInfo> ops) {");
  w.add("  for (std::uint16_t i = 0; i < ops.size(); ++i) {");
  w.add("    by_number[static_cast<std::size_t>(op_number(ops[i].family, i))] = &ops[i];");
  w.add("  }");
  w.add("};");
  for (const std::string& table : tables) w.line("put({});", table);
  w.add("return by_number;");
  w.dedent();
  w.add("}();");
  w.line();
  w.add("}  // namespace");
  w.line();
  w.add("const OpInfo* catalogue_op(Op op) { return kByNumber[static_cast<std::size_t>(op)]; }");
  w.line();
  w.add("}  // namespace lento");
  return w.text();
}

std::string attrs_header(const Catalogue& catalogue, const std::string& family) {
  Writer w;
  w.add(file_header(fmt::format(
      "The structural arguments of each {} op as a struct, interned as a flat list of integers in the order "
      "of the members (ir/attrs_code.h).",
      family)));
  w.add("#pragma once");
  w.line();
  w.add("#include <lento/dtype.h>");
  w.add("#include <lento/ints.h>");
  w.line();
  w.add("#include \"ir/attrs.h\"");
  w.line();
  w.add("#include <cstdint>");
  w.add("#include <optional>");
  w.add("#include <string_view>");
  w.line();
  w.add("namespace lento {");
  for (const Entry* entry : family_ops(catalogue, family)) {
    if (!entry->has_attributes()) continue;
    w.line();
    w.line("// {}: {}", entry->file, entry->name);
    w.line("struct {} {{", attrs_type(*entry));
    w.indent();
    for (const Arg& arg : entry->args) {
      if (arg.type.kind != ArgKind::choice) continue;
      const std::string head = fmt::format("enum class {} : std::uint8_t {{ ", camel(arg.name));
      w.wrapped(head, mapped(arg.type.choices, cpp_identifier), " };");
    }
    for (const Arg& arg : entry->args) {
      if (!arg.type.is_attribute()) continue;
      const bool plain = !arg.type.list && !arg.type.optional;
      w.line("{} {}{};", member_type(arg), arg.name, plain ? "{}" : "");
    }
    w.line();
    w.line("friend bool operator==(const {0}&, const {0}&) = default;", attrs_type(*entry));
    w.dedent();
    w.add("};");
    for (const Arg& arg : entry->args) {
      if (arg.type.kind != ArgKind::choice) continue;
      const std::string head = fmt::format("inline constexpr std::string_view {}[] = {{", choices_name(*entry, arg));
      w.wrapped(head, mapped(arg.type.choices, cpp_string), "};");
    }
    w.line("AttrsId intern(const {}& attrs);", attrs_type(*entry));
    w.line("{} decode_{}(AttrsId id);", attrs_type(*entry), entry->name);
  }
  w.line();
  w.add("}  // namespace lento");
  return w.text();
}

std::string attrs_source(const Catalogue& catalogue) {
  Writer w;
  w.add(file_header("Interning and decoding of attributes."));
  w.add("#include \"ir/attrs_code.h\"");
  for (const std::string& family : kPrimitiveFamilies) w.line("#include \"ir/attrs_{}.gen.h\"", family);
  w.line();
  w.add("namespace lento {");
  for (const Entry* entry : catalogue.primitives()) {
    if (!entry->has_attributes()) continue;
    std::vector<std::string> members;
    for (const Arg& arg : entry->args) {
      if (arg.type.is_attribute()) members.push_back("attrs." + arg.name);
    }
    w.line();
    w.line("// {}: {}", entry->file, entry->name);
    w.function("AttrsId intern(", {fmt::format("const {}& attrs", attrs_type(*entry))}, ")", "return encode_attrs(",
               members, ");");
    w.line();
    w.line("{} decode_{}(AttrsId id) {{", attrs_type(*entry), entry->name);
    w.indent();
    w.line("{} attrs;", attrs_type(*entry));
    members.insert(members.begin(), "id");
    w.wrapped("decode_attrs(", members, ");");
    w.add("return attrs;");
    w.dedent();
    w.add("}");
  }
  w.line();
  w.add("}  // namespace lento");
  return w.text();
}

std::string infer_parameters_and_type(const Entry& entry, std::vector<std::string>& parameters) {
  for (const Arg& arg : entry.args) {
    if (!arg.type.is_tensor()) continue;
    parameters.push_back(arg.type.list       ? fmt::format("std::span<const Meta> {}", arg.name)
                         : arg.type.optional ? fmt::format("const Meta* {}", arg.name)
                                             : fmt::format("const Meta& {}", arg.name));
  }
  if (entry.has_attributes()) parameters.push_back(fmt::format("{}& attrs", attrs_type(entry)));
  return entry.results.size() > 1 ? fmt::format("std::array<Meta, {}>", entry.results.size()) : "Meta";
}

std::string rule_literal(const Entry& entry) {
  const DtypeRule& rule = entry.dtype;
  std::vector<std::string> fields = {fmt::format(".allowed = {}", cpp_dtype_set(rule))};
  switch (rule.result) {
    case ResultRule::same:
    case ResultRule::promote:
      break;
    case ResultRule::floating:
      fields.push_back(".to_float = true");
      break;
    case ResultRule::boolean:
      fields.push_back(".result = ElementwiseRule::Result::fixed");
      break;
    case ResultRule::real:
      fields.push_back(".result = ElementwiseRule::Result::real");
      break;
    case ResultRule::complex:
      fields.push_back(".result = ElementwiseRule::Result::complex");
      break;
    case ResultRule::fixed:
      fields.push_back(fmt::format(".result = ElementwiseRule::Result::fixed, .fixed = {}", cpp_dtype(rule.fixed)));
      break;
  }
  if (!rule.mentions(entry.args.front().name)) fields.push_back(".leading_condition = true");
  return fmt::format("{{{}}}", fmt::join(fields, ", "));
}

std::string rules_header(const Catalogue& catalogue) {
  Writer w;
  w.add(file_header("The dtype rules of the elementwise ops (ir/infer_elementwise.h)."));
  w.add("#pragma once");
  w.line();
  w.add("#include \"ir/infer_elementwise.h\"");
  w.line();
  w.add("namespace lento::rules {");
  w.line();
  for (const Entry* entry : family_ops(catalogue, "elementwise")) {
    w.line("// {}: {} = {}", entry->file, entry->name, entry->dtype.text);
    w.line("inline constexpr ElementwiseRule {}{};", cpp_identifier(entry->name), rule_literal(*entry));
  }
  w.line();
  w.add("}  // namespace lento::rules");
  return w.text();
}

std::string infer_header(const Catalogue& catalogue, const std::string& family) {
  Writer w;
  w.add(
      file_header(fmt::format("Shape and dtype inference of {} ops, written by hand in ir/: each checks its operands "
                              "and normalises the attributes.",
                              family)));
  w.add("#pragma once");
  w.line();
  w.line("#include \"ir/attrs_{}.gen.h\"", family);
  w.add("#include \"ir/shape_table.h\"");
  w.line();
  w.add("#include <array>");
  w.add("#include <span>");
  w.line();
  w.add("namespace lento {");
  for (const Entry* entry : family_ops(catalogue, family)) {
    std::vector<std::string> parameters;
    const std::string type = infer_parameters_and_type(*entry, parameters);
    w.line();
    w.line("// {}: {}", entry->file, entry->name);
    w.wrapped(fmt::format("{} infer_{}(", type, entry->name), parameters, ");");
  }
  w.line();
  w.add("}  // namespace lento");
  return w.text();
}

/// The inference of a record: its operands and attributes by position, for the function that takes them by name.
void infer_record(Writer& w, const Entry& entry) {
  w.line();
  w.line("// {}: {}", entry.file, entry.name);
  w.line("AttrsId {}(std::span<const Meta> operands, AttrsId id, std::span<Meta> results) {{",
         cpp_identifier(entry.name));
  w.indent();
  std::size_t tensors = 0;
  bool list = false;
  for (const Arg& arg : entry.args) {
    if (arg.type.is_tensor()) (arg.type.list ? list = true : ++tensors != 0);
  }
  w.line("{}(operands, {});", list ? "require_at_least" : "require_tensors", tensors);
  std::vector<std::string> arguments;
  std::size_t position = 0;
  bool after_list = false;
  for (const Arg& arg : entry.args) {
    if (!arg.type.is_tensor()) continue;
    if (arg.type.list) {
      arguments.push_back(fmt::format("operands.subspan({}, operands.size() - {})", position, tensors));
      after_list = true;
    } else if (after_list) {
      arguments.push_back(fmt::format("operands[operands.size() - {}]", tensors - position));
      ++position;
    } else {
      arguments.push_back(fmt::format("operands[{}]", position++));
    }
  }
  if (entry.has_attributes()) {
    w.line("{} attrs = decode_{}(id);", attrs_type(entry), entry.name);
    arguments.push_back("attrs");
  }
  if (entry.results.size() > 1) {
    w.wrapped(fmt::format("std::ranges::copy(infer_{}(", entry.name), arguments, "), results.begin());");
  } else {
    w.wrapped(fmt::format("results[0] = infer_{}(", entry.name), arguments, ");");
  }
  if (entry.has_attributes()) {
    w.line("return attrs == decode_{}(id) ? id : intern(attrs);", entry.name);
  } else {
    w.add("return id;");
  }
  w.dedent();
  w.add("}");
}

std::string infer_source(const Catalogue& catalogue) {
  Writer w;
  w.add(file_header("The inference of a record of each op, for the table of ops."));
  w.add("#include \"base/fail.h\"");
  for (const std::string& family : kPrimitiveFamilies) {
    if (family != "elementwise") w.line("#include \"ir/infer_{}.gen.h\"", family);
  }
  w.line();
  w.add("#include <algorithm>");
  w.line();
  w.add("namespace lento::infer_nodes {");
  w.line();
  w.add("namespace {");
  w.line();
  w.add("/// A record that was parsed or built by hand may have the wrong number of operands.");
  w.add("void require_tensors(std::span<const Meta> operands, std::size_t wanted) {");
  w.add("  if (operands.size() == wanted) return;");
  w.add("  fail<BackendError>(\"expected {} tensor operands, got {}\", wanted, operands.size());");
  w.add("}");
  w.line();
  w.add("void require_at_least(std::span<const Meta> operands, std::size_t wanted) {");
  w.add("  if (operands.size() >= wanted) return;");
  w.add("  fail<BackendError>(\"expected at least {} tensor operands, got {}\", wanted, operands.size());");
  w.add("}");
  w.line();
  w.add("}  // namespace");
  for (const Entry* entry : catalogue.primitives()) {
    if (!entry->elementwise()) infer_record(w, *entry);
  }
  w.line();
  w.add("}  // namespace lento::infer_nodes");
  return w.text();
}

}  // namespace

void emit_ir(const Catalogue& catalogue, Files& files) {
  for (const std::string& family : kPrimitiveFamilies) {
    files[fmt::format("ir/op_{}.gen.h", family)] = op_header(catalogue, family);
    files[fmt::format("ir/attrs_{}.gen.h", family)] = attrs_header(catalogue, family);
    if (family != "elementwise") files[fmt::format("ir/infer_{}.gen.h", family)] = infer_header(catalogue, family);
  }
  files["ir/elementwise_rules.gen.h"] = rules_header(catalogue);
  files["ir/op_table.gen.cpp"] = op_table(catalogue);
  files["ir/attrs.gen.cpp"] = attrs_source(catalogue);
  files["ir/infer.gen.cpp"] = infer_source(catalogue);
}

}  // namespace lento::opgen
