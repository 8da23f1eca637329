// reference/: the inner loops of elementwise ops, and the dispatch to the kernels that are written by hand.
#include <algorithm>

#include "cpp.h"
#include "emit.h"

namespace lento::opgen {

namespace {

std::vector<std::string> kernel_parameters(const Entry& entry) {
  std::vector<std::string> result;
  if (entry.results.size() > 1) {
    for (const std::string& name : entry.results) {
      // A result may have the name of an argument: both are parameters here.
      result.push_back(fmt::format("const Array& {}{}", entry.find_arg(name) != nullptr ? "out_" : "", name));
    }
  } else {
    result.push_back("const Array& out");
  }
  for (const Arg& arg : entry.args) {
    if (arg.type.is_tensor())
      result.push_back(fmt::format("{} {}", arg.type.list ? "std::span<const Array>" : "const Array&", arg.name));
    if (arg.type.kind == ArgKind::number) {
      result.push_back(fmt::format("{} {}", arg.type.list ? "std::span<const Scalar>" : "const Scalar&", arg.name));
    }
  }
  if (entry.has_attributes()) result.push_back(fmt::format("const {}& attrs", attrs_type(entry)));
  return result;
}

std::string kernels_header(const Catalogue& catalogue, const std::string& family) {
  Writer w;
  w.add(file_header(fmt::format(
      "The reference kernels of {} ops, written by hand in backends/reference: one function per op.", family)));
  w.add("#pragma once");
  w.line();
  w.add("#include \"backends/reference/array.h\"");
  w.line("#include \"ir/attrs_{}.gen.h\"", family);
  w.line();
  w.add("#include <span>");
  w.line();
  w.add("namespace lento::reference {");
  for (const Entry* entry : catalogue.primitives()) {
    if (entry->family != family) continue;
    w.line();
    w.line("// {}: {}", entry->file, entry->name);
    w.wrapped(fmt::format("void {}(", cpp_identifier(entry->name)), kernel_parameters(*entry), ");");
  }
  w.line();
  w.add("}  // namespace lento::reference");
  return w.text();
}

std::string kernels_source(const Catalogue& catalogue) {
  Writer w;
  w.add(file_header("Calls the kernel of an op."));
  w.add("#include \"backends/reference/dispatch.h\"");
  w.add("#include \"backends/reference/elementwise_loops.h\"");
  for (const std::string& family : kPrimitiveFamilies) {
    if (family == "elementwise") continue;
    w.line("#include \"ir/op_{}.gen.h\"", family);
    w.line("#include \"reference/kernels_{}.gen.h\"", family);
  }
  w.line();
  w.add("namespace lento::reference {");
  w.line();
  for (std::size_t shard = 0; shard < kShards; ++shard)
    w.line("void add_elementwise_loops_{}(ElementwiseTable& table);", shard);
  w.line();
  w.add("ElementwiseLoop find_elementwise(Op op, DType compute) {");
  w.add("  static const ElementwiseTable kTable = [] {");
  w.add("    ElementwiseTable table;");
  for (std::size_t shard = 0; shard < kShards; ++shard) w.line("    add_elementwise_loops_{}(table);", shard);
  w.add("    return table;");
  w.add("  }();");
  w.add("  return kTable.find(op, compute);");
  w.add("}");
  w.line();
  w.add("void run(Op op, std::span<const Array> outs, std::span<const Argument> arguments, AttrsId attrs) {");
  w.indent();
  w.add("switch (op) {");
  w.indent();
  for (const Entry* entry : catalogue.primitives()) {
    if (entry->elementwise()) continue;
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, entry->results.size()); ++i)
      arguments.push_back(fmt::format("outs[{}]", i));
    std::size_t fixed = 0;
    for (const Arg& arg : entry->args) {
      if (arg.type.is_operand() && !arg.type.list) ++fixed;
    }
    std::size_t position = 0;
    bool after_list = false;
    for (const Arg& arg : entry->args) {
      if (!arg.type.is_operand()) continue;
      const bool tensor = arg.type.is_tensor();
      if (arg.type.list) {
        arguments.push_back(fmt::format("{}(arguments.subspan({}, arguments.size() - {}))",
                                        tensor ? "arrays_of" : "numbers_of", position, fixed));
        after_list = true;
        continue;
      }
      const std::string index =
          after_list ? fmt::format("arguments.size() - {}", fixed - position) : fmt::format("{}", position);
      arguments.push_back(fmt::format("arguments[{}].{}()", index, tensor ? "array" : "number"));
      ++position;
    }
    if (entry->has_attributes()) arguments.push_back(fmt::format("decode_{}(attrs)", entry->name));
    w.line("case op::{}:", cpp_identifier(entry->name));
    w.indent();
    w.wrapped(fmt::format("return {}(", cpp_identifier(entry->name)), arguments, ");");
    w.dedent();
  }
  w.add("default:");
  w.add("  return run_elementwise_op(op, outs[0], arguments);");
  w.dedent();
  w.add("}");
  w.dedent();
  w.add("}");
  w.line();
  w.add("}  // namespace lento::reference");
  return w.text();
}

/// `if constexpr` condition for a branch of `compute`.
std::string branch_condition(const std::string& dtype_class) {
  const auto found = std::find_if(kDtypeClasses.begin(), kDtypeClasses.end(),
                                  [&](const auto& each) { return each.first == dtype_class; });
  if (found == kDtypeClasses.end()) return fmt::format("std::same_as<S, {}>", cpp_element_type(dtype_class));
  return fmt::format("contains(k{}, dtype_of<S>())", camel(dtype_class));
}

std::string result_type(const DtypeRule& rule) {
  switch (rule.result) {
    case ResultRule::boolean:
      return "bool";
    case ResultRule::real:
      return "RealOf<S>";
    case ResultRule::complex:
      return "ComplexOf<S>";
    case ResultRule::fixed:
      return cpp_element_type(rule.fixed);
    default:
      return "S";
  }
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

void elementwise_loop(Writer& w, const Entry& entry) {
  w.line();
  w.line("// {}: {} = {}", entry.file, entry.name, entry.dtype.text);
  w.add("template <class S>");
  w.line("void {}_loop(std::int64_t count, void* out, const void* const* inputs, const std::int64_t* strides) {{",
         entry.name);
  w.indent();
  const bool names_type = std::any_of(entry.compute.begin(), entry.compute.end(), [](const Compute& c) {
    const std::string& text = c.expression.value;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto word = [&](std::size_t at) {
        return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
      };
      if (text[i] == 'T' && (i == 0 || !word(i - 1)) && !word(i + 1)) return true;
    }
    return false;
  });
  if (names_type) w.add("using T = ComputeType<S>;");
  w.line("auto* results = static_cast<{}*>(out);", result_type(entry.dtype));
  w.add("for (std::int64_t i = 0; i < count; ++i) {");
  w.indent();
  for (std::size_t j = 0; j < entry.args.size(); ++j) {
    const Arg& arg = entry.args[j];
    w.line("const auto {} = load<{}>(inputs[{}], i * strides[{}]);", arg.name,
           entry.dtype.mentions(arg.name) ? "S" : "bool", j, j);
  }
  std::vector<Compute> branches = entry.compute;
  // A branch for one dtype goes before the classes that hold it.
  std::stable_sort(branches.begin(), branches.end(), [](const Compute& a, const Compute& b) {
    const auto size = [](const Compute& c) { return __builtin_popcount(dtype_set(c.dtype_class)); };
    return size(a) < size(b);
  });
  const auto put = [&](const std::string& expression) {
    w.line("results[i] = store<{}>({});", result_type(entry.dtype), one_line(expression));
  };
  if (branches.size() == 1) {
    put(branches[0].expression.value);
  } else {
    for (std::size_t b = 0; b < branches.size(); ++b) {
      const bool last = b + 1 == branches.size();
      const std::string keyword = b == 0 ? "if" : "} else if";
      if (last) {
        w.add("} else {");
      } else {
        w.line("{} constexpr ({}) {{", keyword, branch_condition(branches[b].dtype_class));
      }
      w.indent();
      put(branches[b].expression.value);
      w.dedent();
    }
    w.add("}");
  }
  w.dedent();
  w.add("}");
  w.dedent();
  w.add("}");
}

std::string elementwise_source(const Catalogue& catalogue, std::size_t shard) {
  Writer w;
  w.add(file_header(fmt::format(
      "Inner loops of elementwise ops, part {} of {}. S is the stored type of the operands; 16-bit floats are computed "
      "in float and rounded back.",
      shard + 1, kShards)));
  w.add("#include \"backends/reference/elementwise_loops.h\"");
  w.add("#include \"backends/reference/scalar_math.h\"");
  w.add("#include \"ir/op_elementwise.gen.h\"");
  w.line();
  w.add("#include <cmath>");
  w.add("#include <complex>");
  w.add("#include <concepts>");
  w.add("#include <cstdint>");
  w.line();
  w.add("namespace lento::reference {");
  w.line();
  w.add("namespace {");
  w.line();
  w.add("using namespace math;");
  std::vector<const Entry*> here;
  for (const Entry* entry : catalogue.primitives()) {
    if (entry->elementwise() && shard_of(entry->name, kShards) == shard) here.push_back(entry);
  }
  for (const Entry* entry : here) elementwise_loop(w, *entry);
  w.line();
  w.add("}  // namespace");
  w.line();
  w.line("void add_elementwise_loops_{}(ElementwiseTable& table);", shard);
  w.line("void add_elementwise_loops_{}([[maybe_unused]] ElementwiseTable& table) {{", shard);
  w.indent();
  for (const Entry* entry : here) {
    for (std::size_t d = 0; d < kDtypes.size(); ++d) {
      if ((entry->dtype.dtypes >> d & 1) == 0) continue;
      w.line("table.add(op::{}, {}, {}_loop<{}>);", cpp_identifier(entry->name), cpp_dtype(kDtypes[d]), entry->name,
             cpp_element_type(kDtypes[d]));
    }
  }
  w.dedent();
  w.add("}");
  w.line();
  w.add("}  // namespace lento::reference");
  return w.text();
}

}  // namespace

void emit_reference(const Catalogue& catalogue, Files& files) {
  for (const std::string& family : kPrimitiveFamilies) {
    if (family != "elementwise")
      files[fmt::format("reference/kernels_{}.gen.h", family)] = kernels_header(catalogue, family);
  }
  files["reference/kernels.gen.cpp"] = kernels_source(catalogue);
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    files[fmt::format("reference/elementwise_{}.gen.cpp", shard)] = elementwise_source(catalogue, shard);
  }
}

}  // namespace lento::opgen
