// lento/ and ops/: the public functions and methods, and what they do.
#include <algorithm>

#include "callers.h"
#include "cpp.h"
#include "emit.h"
#include "expression.h"

namespace lento::opgen {

namespace {

/// Namespaces in the order of the header; "" is lento itself, and comes first because the others use its types.
const std::vector<std::string> kSpaces = {"", "linalg", "fft", "nn", "random", "special", "stats", "prim"};

std::vector<std::string> argument_names(const Entry& entry, bool site) {
  std::vector<std::string> names = mapped(entry.args, [](const Arg& arg) { return arg.name; });
  if (site) names.push_back("site");
  return names;
}

void open_namespace(Writer& w, const std::string& space) {
  if (!space.empty()) w.line("namespace {} {{", space);
}

void close_namespace(Writer& w, const std::string& space) {
  if (!space.empty()) w.line("}}  // namespace {}", space);
}

/// Exports an op in other namespaces too.
void using_declarations(Writer& w, const Entry& entry) {
  for (const std::string& also : entry.also) {
    const std::string space = also == "lento" ? "" : also;
    const std::string from = entry.space.empty() ? "lento" : entry.space;
    open_namespace(w, space);
    w.line("using {}::{};", from, entry.name);
    for (const Text& alias : entry.aliases) w.line("using {}::{};", from, alias.value);
    close_namespace(w, space);
  }
}

/// `std(x, 0, true)` means keepdims, but behind the axis stands a number, which a bool would become: it does not
/// compile.
void refuse_bool(Writer& w, const Entry& entry, const std::string& name, bool method) {
  for (std::size_t i = 0; i + 1 < entry.args.size(); ++i) {
    const bool tempting = entry.args[i].type.kind == ArgKind::number && entry.args[i].value &&
                          entry.args[i + 1].type.kind == ArgKind::boolean && !entry.args[i + 1].keyword_only;
    if (!tempting) continue;
    std::vector<std::string> parameters = public_parameters(entry, false, method);
    parameters.resize(method ? i - 1 : i);
    parameters.push_back("B " + entry.args[i].name);
    parameters.push_back("const Rest&... rest");
    w.line("/// {} is a number, no bool: {} comes behind it.", entry.args[i].name, entry.args[i + 1].name);
    w.add("template <std::same_as<bool> B, class... Rest>");
    w.wrapped(fmt::format("{} {}(", return_type(entry), name), parameters,
              method ? ") const = delete;" : ") = delete;");
  }
}

/// The header of one op: whoever calls few of them includes few, and a new one changes no other.
std::string op_header(const Entry& entry) {
  Writer w;
  w.add(file_header(fmt::format("{}: {}", entry.file, entry.name)));
  w.add("#pragma once");
  w.line();
  w.add("#include <lento/op_types.h>");
  w.line();
  w.add("namespace lento {");
  if (entry.returns == Returns::named) {
    w.line();
    w.line("/// Results of {}.", entry.name);
    w.line("struct {} {{", return_type(entry));
    w.indent();
    for (const std::string& result : entry.results) w.line("Tensor {};", result);
    w.dedent();
    w.add("};");
  }
  w.line();
  open_namespace(w, entry.space);
  w.comment("/// ", entry.doc);
  w.wrapped(fmt::format("LENTO_API {} {}(", return_type(entry), entry.name), public_parameters(entry, true), ");");
  refuse_bool(w, entry, entry.name, false);
  for (const Text& alias : entry.aliases) {
    w.line("/// Another name of {}.", entry.name);
    w.function(fmt::format("inline {} {}(", return_type(entry), alias.value), public_parameters(entry, true), ")",
               fmt::format("return {}(", entry.name), argument_names(entry, takes_site(entry)), ");");
  }
  close_namespace(w, entry.space);
  using_declarations(w, entry);
  w.line();
  w.add("}  // namespace lento");
  return w.text();
}

std::string ops_header(const Catalogue& catalogue) {
  Writer w;
  w.add(
      file_header("The op functions. Each takes tensors and returns at once: it checks its arguments, records what is "
                  "to be computed, "
                  "and throws when shapes, dtypes or arguments are wrong."));
  w.add("#pragma once");
  w.line();
  for (const Entry& entry : catalogue.entries) w.line("#include <{}>", entry.header());
  return w.text();
}

std::string method_declarations(const Catalogue& catalogue) {
  Writer w;
  w.add(file_header(
      "The ops that are methods of Tensor and Subscript, with the tensor as their first argument; included inside of "
      "the classes."));
  w.indent();
  for (const Entry& entry : catalogue.entries) {
    // An elaborated name declares a result type that is defined later, in lento/ops.gen.h.
    const std::string type = (entry.returns == Returns::named ? "struct " : "") + return_type(entry);
    for (const std::string& method : entry.methods()) {
      w.line();
      w.line("/// {} ({})", entry.qualified(), entry.file);
      w.wrapped(fmt::format("{} {}(", type, method), public_parameters(entry, true, true), ") const;");
      refuse_bool(w, entry, method, true);
    }
  }
  return w.text();
}

std::string method_definitions(const Catalogue& catalogue) {
  Writer w;
  w.add(file_header("Methods of Tensor that call the function of the catalogue; those of Subscript call them."));
  w.add("#include <lento/ops.gen.h>");
  w.line();
  w.add("namespace lento {");
  for (const Entry& entry : catalogue.entries) {
    if (entry.method.empty()) continue;
    std::vector<std::string> arguments;
    const bool operand_first = !takes_site(entry);
    const bool from_next = entry.args.size() >= 2 && entry.args[1].type.kind == ArgKind::operand;
    if (!operand_first) {
      arguments.push_back("*this");
    } else if (from_next) {
      arguments.push_back(fmt::format("Operand(*this, {0}.unit(), {0}.position())", entry.args[1].name));
    } else {
      arguments.push_back("Operand(*this, site)");
    }
    for (std::size_t i = 1; i < entry.args.size(); ++i) arguments.push_back(entry.args[i].name);
    if (!operand_first) arguments.push_back("site");
    std::vector<std::string> passed;
    for (std::size_t i = 1; i < entry.args.size(); ++i) passed.push_back(entry.args[i].name);
    if (!operand_first || !from_next) passed.push_back("site");
    const std::vector<std::string> parameters = public_parameters(entry, false, true);
    for (const std::string& method : entry.methods()) {
      w.line();
      w.line("// {}: {}", entry.file, entry.name);
      w.function(fmt::format("{} Tensor::{}(", return_type(entry), method), parameters, ") const",
                 fmt::format("return {}(", entry.qualified()), arguments, ");");
      w.line("// {}: {}", entry.file, entry.name);
      w.function(fmt::format("{} Subscript::{}(", return_type(entry), method), parameters, ") const",
                 fmt::format("return part().{}(", method), passed, ");");
    }
  }
  w.line();
  w.add("}  // namespace lento");
  return w.text();
}

void elementwise_function(Writer& w, const Entry& entry) {
  const std::string op = cpp_identifier(entry.name);
  std::size_t masks = 0;
  while (masks < entry.args.size() && !entry.dtype.mentions(entry.args[masks].name)) ++masks;
  const bool operands = std::all_of(entry.args.begin() + static_cast<std::ptrdiff_t>(masks), entry.args.end(),
                                    [](const Arg& arg) { return arg.type.kind == ArgKind::operand; });
  std::string function;
  std::vector<std::string> arguments = {"op::" + op, "rules::" + op};
  if (entry.args.size() == 1 && entry.args[0].type.kind == ArgKind::tensor) {
    function = "record_unary";
    arguments.insert(arguments.end(), {entry.args[0].name, "site"});
  } else if (masks == 0 && entry.args.size() == 2 && operands) {
    function = "record_binary";
    arguments.insert(arguments.end(), {entry.args[0].name, entry.args[1].name});
  } else {
    function = "record_elementwise";
    const auto operand = [&](const Arg& arg) {
      const bool with_site = arg.type.kind == ArgKind::tensor && takes_site(entry);
      return with_site ? fmt::format("Operand({}, site)", arg.name) : arg.name;
    };
    arguments.push_back(fmt::format("{{{}}}", fmt::join(mapped(entry.args, operand), ", ")));
  }
  w.line();
  w.line("// {}: {}", entry.file, entry.name);
  w.function(fmt::format("{} {}(", return_type(entry), entry.name), public_parameters(entry, false), ")",
             fmt::format("return {}(", function), arguments, ");");
}

void add_includes(Writer& w, const std::vector<const Entry*>& ops, const std::vector<std::string>& own) {
  for (const std::string& include : op_includes(ops)) w.add(include);
  w.line();
  for (const std::string& header : own) w.line("#include \"{}\"", header);
  w.line();
}

std::string elementwise_source(const Catalogue& catalogue) {
  Writer w;
  w.add(file_header("The elementwise functions: promotion, broadcasting and recording are in tensor/record.h."));
  std::vector<const Entry*> all;
  for (const Entry& entry : catalogue.entries) {
    if (entry.elementwise()) all.push_back(&entry);
  }
  add_includes(w, all,
               {"ir/elementwise_rules.gen.h", "ir/op_elementwise.gen.h", "ops/generated_support.h", "tensor/record.h"});
  w.add("namespace lento {");
  for (const std::string& space : kSpaces) {
    std::vector<const Entry*> here;
    for (const Entry& entry : catalogue.entries) {
      if (entry.elementwise() && entry.space == space) here.push_back(&entry);
    }
    if (here.empty()) continue;
    if (!space.empty()) w.line();
    open_namespace(w, space);
    for (const Entry* entry : here) elementwise_function(w, *entry);
    if (!space.empty()) w.line();
    close_namespace(w, space);
  }
  w.line();
  w.add("}  // namespace lento");
  return w.text();
}

void open_call(Writer& w, const Entry& entry) {
  w.wrapped(fmt::format("{} {}(", return_type(entry), entry.name), public_parameters(entry, false), ") {");
  w.indent();
  const std::string site = takes_site(entry) ? "site" : fmt::format("source_of({})", entry.args.front().name);
  w.line("const CallScope scope(\"{}\", {});", entry.name, site);
  std::vector<std::string> tensors;
  for (const Arg& arg : entry.args) {
    if (arg.type.list || (arg.type.kind != ArgKind::tensor && arg.type.kind != ArgKind::operand)) continue;
    const bool plain = arg.type.kind == ArgKind::tensor && !arg.type.optional;
    tensors.push_back(fmt::format(fmt::runtime(plain ? "&{}" : "tensor_in({})"), arg.name));
  }
  if (!tensors.empty()) w.wrapped("const CallOperands named({", tensors, "});");
}

/// The attribute's value from the function's argument.
std::string attribute_value(const Entry& entry, const Arg& arg) {
  if (arg.type.kind != ArgKind::choice) return arg.name;
  return fmt::format("choose<{}::{}>(\"{}\", {}, {})", attrs_type(entry), camel(arg.name), arg.name, arg.name,
                     choices_name(entry, arg));
}

void primitive_function(Writer& w, const Entry& entry) {
  w.line();
  w.line("// {}: {}", entry.file, entry.name);
  open_call(w, entry);
  const Arg* device = nullptr;
  bool list = false;
  for (const Arg& arg : entry.args) {
    if (arg.type.kind == ArgKind::device) device = &arg;
    if (arg.type.is_operand() && arg.type.list) list = true;
    if (entry.has_dtype && arg.type.is_tensor() && entry.dtype.mentions(arg.name) &&
        entry.dtype.dtypes != dtype_set("any")) {
      w.line("check_dtype(\"{0}\", {0}, {1});", arg.name, cpp_dtype_set(entry.dtype));
    }
  }
  std::vector<std::string> metas;
  for (const Arg& arg : entry.args) {
    if (arg.type.is_tensor()) metas.push_back(fmt::format("{}({})", arg.type.list ? "metas_of" : "meta_of", arg.name));
  }
  std::string attrs = "AttrsId{}";
  if (entry.has_attributes()) {
    std::vector<std::string> members;
    for (const Arg& arg : entry.args) {
      if (arg.type.is_attribute()) members.push_back(attribute_value(entry, arg));
    }
    w.wrapped(fmt::format("{} attrs{{", attrs_type(entry)), members, "};");
    metas.push_back("attrs");
    attrs = "intern(attrs)";
  }
  const bool several = entry.results.size() > 1;
  w.wrapped(fmt::format("const {} meta{} = infer_{}(", several ? "auto" : "Meta", several ? "s" : "", entry.name),
            metas, ");");
  const auto number_dtype = [&](const Arg& arg) -> std::string {
    if (!arg.type.number_dtype.empty()) return cpp_dtype(arg.type.number_dtype);
    return arg.type.list ? "DType::int64" : several ? "metas[0].dtype" : "meta.dtype";
  };
  bool tensors = false;
  std::vector<std::string> items;
  for (const Arg& arg : entry.args) {
    tensors = tensors || arg.type.is_tensor();
    if (arg.type.is_tensor()) items.push_back(arg.name);
    if (arg.type.kind == ArgKind::number)
      items.push_back(fmt::format("RecordOperand::number({}, {})", arg.name, number_dtype(arg)));
  }
  std::string operands = fmt::format("{{{}}}", fmt::join(items, ", "));
  if (list) {
    w.add("OperandList operands;");
    for (const Arg& arg : entry.args) {
      if (arg.type.is_tensor()) w.line("operands.add({});", arg.name);
      if (arg.type.kind == ArgKind::number) w.line("operands.add({}, {});", arg.name, number_dtype(arg));
    }
    operands = "operands";
  } else if (several) {
    w.line("const RecordOperand operands[] = {};", operands);
    operands = "operands";
  }
  std::vector<std::string> arguments = {fmt::format("op::{}", cpp_identifier(entry.name)), several ? "metas" : "meta",
                                        operands, attrs};
  if (several) {
    w.wrapped("std::vector<Tensor> all = record_multi(", arguments, ");");
    std::size_t index = 0;
    const auto moved = [&](const std::string&) { return fmt::format("std::move(all[{}])", index++); };
    w.wrapped("return {", mapped(entry.results, moved), "};");
  } else if (tensors) {
    w.wrapped("return record(", arguments, ");");
  } else {
    arguments.insert(arguments.begin(),
                     device != nullptr ? fmt::format("{0} ? *{0} : Device()", device->name) : "Device()");
    w.wrapped("return record_on(", arguments, ");");
  }
  w.dedent();
  w.add("}");
}

std::string primitives_source(const Catalogue& catalogue) {
  Writer w;
  w.add(file_header("The primitives that are not elementwise: infer, then record."));
  std::vector<const Entry*> all;
  for (const Entry& entry : catalogue.entries) {
    if (entry.primitive() && !entry.elementwise()) all.push_back(&entry);
  }
  std::vector<std::string> own;
  for (const std::string& family : kPrimitiveFamilies) {
    if (family == "elementwise") continue;
    own.push_back(fmt::format("ir/infer_{}.gen.h", family));
    own.push_back(fmt::format("ir/op_{}.gen.h", family));
  }
  own.insert(own.end(), {"ops/generated_support.h", "tensor/record.h"});
  add_includes(w, all, own);
  w.add("namespace lento {");
  for (const std::string& space : kSpaces) {
    std::vector<const Entry*> here;
    for (const Entry& entry : catalogue.entries) {
      if (entry.primitive() && !entry.elementwise() && entry.space == space) here.push_back(&entry);
    }
    if (here.empty()) continue;
    if (!space.empty()) w.line();
    open_namespace(w, space);
    for (const Entry* entry : here) primitive_function(w, *entry);
    if (!space.empty()) w.line();
    close_namespace(w, space);
  }
  w.line();
  w.add("}  // namespace lento");
  return w.text();
}

/// The wrapper: names the call, checks choices and dtypes, converts what the dtype rule says, and calls the body.
void composite_function(Writer& w, const Entry& entry) {
  w.line();
  w.line("// {}: {}{}", entry.file, entry.name, entry.has_dtype ? fmt::format(" = {}", entry.dtype.text) : "");
  open_call(w, entry);
  for (const Arg& arg : entry.args) {
    if (arg.type.kind != ArgKind::choice) continue;
    w.wrapped(fmt::format("check_choice(\"{0}\", {0}, {{", arg.name), mapped(arg.type.choices, cpp_string), "});");
  }
  std::vector<std::string> typed;  // the arguments that the rule converts or checks
  for (const Arg& arg : entry.args) {
    if (entry.has_dtype && arg.type.is_operand() && entry.dtype.mentions(arg.name)) typed.push_back(arg.name);
  }
  const bool converts = entry.dtype.result == ResultRule::promote || entry.dtype.result == ResultRule::floating ||
                        (typed.size() > 1 && entry.dtype.result != ResultRule::same);
  const bool restricted = entry.dtype.dtypes != dtype_set("any");
  if (!typed.empty() && converts) {
    const char* function = entry.dtype.result == ResultRule::floating ? "common_float_dtype" : "common_dtype";
    w.line("const DType common = {}({});", function, fmt::join(typed, ", "));
    if (restricted) w.line("check_dtype(\"{}\", common, {});", fmt::join(typed, ", "), cpp_dtype_set(entry.dtype));
  } else if (restricted) {
    for (const std::string& name : typed) w.line("check_dtype(\"{0}\", {0}, {1});", name, cpp_dtype_set(entry.dtype));
  }
  std::vector<std::string> arguments;
  for (const Arg& arg : entry.args) {
    const bool cast = converts && entry.dtype.mentions(arg.name) &&
                      (arg.type.kind == ArgKind::tensor || arg.type.kind == ArgKind::operand);
    const char* function = arg.type.kind == ArgKind::tensor ? "cast"
                           : arg.type.optional              ? "CastOptionalOperand"
                                                            : "CastOperand";
    arguments.push_back(cast ? fmt::format("{}({}, common)", function, arg.name) : arg.name);
  }
  // Refused for whatever reason, it has drawn nothing.
  const auto draws = [](const Arg& arg) { return arg.type.kind == ArgKind::generator; };
  if (std::ranges::any_of(entry.args, draws)) w.line("const RefusableDraws draws;");
  w.wrapped(fmt::format("return composite::{}(", entry.name), arguments, ");");
  w.dedent();
  w.add("}");
}

void composite_bodies(Writer& w, const std::vector<const Entry*>& here, const Catalogue& catalogue) {
  w.add("namespace composite {");
  w.line();
  for (const Entry* entry : here) declare_composite(w, *entry);
  for (const Entry* entry : here) {
    if (!entry->compose) continue;
    w.line();
    w.line("// {}: {}", entry->file, entry->name);
    w.function(fmt::format("{} {}(", return_type(*entry), entry->name), composite_parameters(*entry), ")", "return ",
               {qualify_ops(entry->compose->value, *entry, catalogue)}, ";");
  }
  w.line();
  w.add("}  // namespace composite");
}

std::string composites_source(const Catalogue& catalogue, std::size_t shard) {
  std::vector<const Entry*> all;
  for (const Entry* entry : catalogue.composites()) {
    if (shard_of(entry->name, kShards) == shard) all.push_back(entry);
  }
  Writer code;
  composite_bodies(code, all, catalogue);
  for (const std::string& space : kSpaces) {
    std::vector<const Entry*> here;
    for (const Entry* entry : all) {
      if (entry->space == space) here.push_back(entry);
    }
    if (here.empty()) continue;
    if (!space.empty()) code.line();
    open_namespace(code, space);
    for (const Entry* entry : here) composite_function(code, *entry);
    if (!space.empty()) code.line();
    close_namespace(code, space);
  }
  Writer w;
  w.add(file_header(fmt::format("Composites, part {} of {}: wrappers, and the bodies of those that are one expression.",
                                shard + 1, kShards)));
  add_includes(w, ops_named_in(code.text(), catalogue), {"ops/generated_support.h", "tensor/draws.h"});
  w.add("namespace lento {");
  w.line();
  w.add(code.text());
  w.add("}  // namespace lento");
  return w.text();
}

}  // namespace

void emit_ops(const Catalogue& catalogue, Files& files) {
  files["lento/ops.gen.h"] = ops_header(catalogue);
  for (const Entry& entry : catalogue.entries) files[entry.header()] = op_header(entry);
  files["lento/tensor_methods.gen.inc"] = method_declarations(catalogue);
  files["ops/methods.gen.cpp"] = method_definitions(catalogue);
  files["ops/elementwise.gen.cpp"] = elementwise_source(catalogue);
  files["ops/primitives.gen.cpp"] = primitives_source(catalogue);
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    files[fmt::format("ops/composites_{}.gen.cpp", shard)] = composites_source(catalogue, shard);
  }
}

}  // namespace lento::opgen
