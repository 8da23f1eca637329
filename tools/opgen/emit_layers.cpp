// lento/nn/*.gen.h and nn/layers.gen.cpp: layers as C++ classes. What an entry must be given is an argument, everything
// that has a default is in one struct: Conv2d(3, 8, 3, {.padding = 1}).
#include <algorithm>
#include <set>

#include "cpp.h"
#include "emit.h"
#include "formula.h"
#include "layer_words.h"
#include "load.h"

namespace lento::opgen {

namespace {

using Kind = Formula::Kind;

bool is_row(const Layer& layer, const LayerArg& arg) {
  return std::any_of(layer.checks.begin(), layer.checks.end(),
                     [&](const Formula& check) { return check.text == "row" && check.parts[0].text == arg.name; });
}

/// True for arguments that are kept in another form than they were given.
bool is_changed(const Layer& layer, const LayerArg& arg) { return arg.listing == Listing::tuple || is_row(layer, arg); }

bool has_options(const Layer& layer) {
  return std::any_of(layer.args.begin(), layer.args.end(), [](const LayerArg& arg) { return arg.value.has_value(); });
}

/// The type of an argument, or of the attribute that keeps it.
std::string type_of(const LayerArg& arg, bool attribute) {
  std::string type;
  switch (arg.type.kind) {
    case ArgKind::integer:
      type = !arg.type.list                               ? "std::int64_t"
             : arg.listing == Listing::padding            ? "Padding"
             : attribute && arg.listing == Listing::tuple ? "Ints"
                                                          : "Sizes";
      break;
    case ArgKind::boolean:
      type = "bool";
      break;
    case ArgKind::dtype:
      type = "DType";
      break;
    case ArgKind::choice:
      type = "std::string";
      break;
    case ArgKind::generator:
      return "Generator*";
    case ArgKind::tensor:
      type = attribute ? "Buffer" : "Tensor";
      break;
    default:
      type = arg.type.list ? "std::vector<Scalar>" : "double";
      break;
  }
  return arg.type.optional ? fmt::format("std::optional<{}>", type) : type;
}

std::string default_of(const LayerArg& arg) {
  if (!arg.type.list || arg.type.kind != ArgKind::integer || *arg.value == "null") return cpp_default(arg);
  const std::vector<std::string> elements = list_elements(*arg.value);
  return arg.value->starts_with('[') ? fmt::format("{{{}}}", fmt::join(elements, ", ")) : elements.at(0);
}

class CppLayer {
 public:
  CppLayer(const Layer& layer, const Catalogue& catalogue) : layer_(layer), catalogue_(catalogue) {}

  std::string header() const {
    Writer w;
    w.add(file_header(fmt::format("{}: {}", layer_.file, layer_.name)));
    w.add("#pragma once");
    w.line();
    w.add("#include <lento/nn/module.h>");
    const bool sized = std::any_of(layer_.args.begin(), layer_.args.end(),
                                   [](const LayerArg& arg) { return arg.listing != Listing::none; });
    if (sized) w.add("#include <lento/nn/sizes.h>");
    w.line();
    w.add("#include <cstdint>");
    w.add("#include <optional>");
    w.add("#include <source_location>");
    w.add("#include <string>");
    const bool listed = std::any_of(layer_.args.begin(), layer_.args.end(), [](const LayerArg& arg) {
      return arg.type.list && arg.type.kind == ArgKind::number;
    });
    if (listed) w.add("#include <vector>");
    w.line();
    w.add("namespace lento::nn {");
    w.line();
    if (has_options(layer_)) {
      w.line("/// What is not the default in a {}.", layer_.name);
      w.line("struct {}Options {{", layer_.name);
      w.indent();
      for (const LayerArg& arg : layer_.args) {
        if (arg.value) w.line("{} {} = {};", type_of(arg, false), arg.name, default_of(arg));
      }
      w.dedent();
      w.add("};");
      w.line();
    }
    w.comment("/// ", layer_.doc);
    w.line("class LENTO_API {} : public Module {{", layer_.name);
    w.add(" public:");
    w.indent();
    if (has_options(layer_)) {
      w.line("using Options = {}Options;", layer_.name);
      w.line();
    }
    const std::vector<std::string> parameters = constructor_parameters(true);
    if (parameters.empty()) {
      w.line("{}() = default;", layer_.name);
    } else {
      w.wrapped(fmt::format("explicit {}(", layer_.name), parameters, ");");
    }
    w.line();
    w.wrapped("Tensor operator()(", call_parameters(true), ") const;");
    if (!layer_.shown.empty()) w.add("std::string extra_repr() const override;");
    w.line();
    for (const LayerArg& arg : layer_.args) {
      if (layer_.keeps(arg)) w.line("{} {}{};", type_of(arg, true), arg.name, is_pointer(arg) ? " = nullptr" : "");
    }
    for (const LayerParameter& parameter : layer_.parameters)
      w.line("{} {};", parameter.condition ? "std::optional<Tensor>" : "Tensor", parameter.name);
    if (!layer_.args.empty()) w.line();
    w.add("void fields(tree::Visitor& visitor) override;");
    w.dedent();
    w.add("};");
    w.line();
    w.add("}  // namespace lento::nn");
    return w.text();
  }

  void define(Writer& w) const {
    w.line();
    w.line("// {}: {}", layer_.file, layer_.name);
    if (!constructor_parameters(false).empty()) {
      constructor(w);
      w.line();
    }
    call(w);
    if (!layer_.shown.empty()) {
      w.line();
      repr(w);
    }
    w.line();
    fields(w);
  }

 private:
  static bool is_pointer(const LayerArg& arg) { return arg.type.kind == ArgKind::generator; }

  std::vector<std::string> constructor_parameters(bool declare) const {
    std::vector<std::string> result;
    for (const LayerArg& arg : layer_.args) {
      if (arg.value) continue;
      const std::string type = type_of(arg, false);
      const bool plain = type == "std::int64_t" || type == "bool" || type == "double" || is_pointer(arg);
      result.push_back(plain ? fmt::format("{} {}", type, arg.name) : fmt::format("const {}& {}", type, arg.name));
    }
    if (has_options(layer_))
      result.push_back(fmt::format("const {}Options& options{}", layer_.name, declare ? " = {}" : ""));
    if (!result.empty())
      result.push_back(fmt::format("std::source_location site{}", declare ? " = std::source_location::current()" : ""));
    return result;
  }

  std::vector<std::string> call_parameters(bool declare) const {
    std::vector<std::string> result = mapped(layer_.inputs, [&](const Arg& input) {
      return fmt::format("{} {}{}", param_type(input), input.name,
                         declare && input.value ? " = " + cpp_default(input) : "");
    });
    result.push_back(fmt::format("std::source_location site{}", declare ? " = std::source_location::current()" : ""));
    return result;
  }

  /// Where the constructor finds an argument; what it keeps in another form it looks up there.
  std::string found(const LayerArg& arg) const {
    if (is_changed(layer_, arg)) return "this->" + arg.name;
    return arg.value ? "options." + arg.name : arg.name;
  }

  FormulaWords constructor_words() const {
    FormulaWords words;
    words.name = [this](const Formula& name) { return found(*layer_.find_arg(name.text)); };
    words.call = [this](const Formula& called) {
      return fmt::format("element_count({})", write_formula(called.parts[0], constructor_words()));
    };
    return words;
  }

  void constructor(Writer& w) const {
    const FormulaWords words = constructor_words();
    std::vector<std::string> kept;
    for (const LayerArg& arg : layer_.args) {
      if (layer_.keeps(arg) && !is_changed(layer_, arg)) kept.push_back(fmt::format("{}({})", arg.name, found(arg)));
    }
    const std::string head = fmt::format("{0}::{0}(", layer_.name);
    const std::vector<std::string> parameters = constructor_parameters(false);
    const std::string all = fmt::format(") : {} {{", fmt::join(kept, ", "));
    const bool on_one_line = w.fits(fmt::format("{}{}{}", head, fmt::join(parameters, ", "), all));
    w.wrapped(head, parameters, kept.empty() ? ") {" : on_one_line ? all : ")");
    w.indent();
    if (!kept.empty() && !on_one_line) {
      w.indent();
      w.wrapped(": ", kept, " {");
      w.dedent();
    }
    w.line("const CallScope scope(\"{}()\", site);", layer_.name);
    for (const LayerArg& arg : layer_.args) {
      const std::string given = (arg.value ? "options." : "") + arg.name;
      if (arg.listing == Listing::tuple)
        w.line("this->{0} = numbers_of(\"{0}\", {1}, {2});", arg.name, given, arg.axes);
      if (arg.type.kind == ArgKind::choice) {
        w.line("check_choice(\"{0}\", {1}, {{\"{2}\"}});", arg.name, given, fmt::join(arg.type.choices, "\", \""));
      }
    }
    for (const Formula& check : layer_.checks) write_check(w, check, words);
    for (const LayerParameter& parameter : layer_.parameters) {
      std::vector<std::string> parts =
          mapped(parameter.start.parts, [&](const Formula& part) { return write_formula(part, words); });
      parts.push_back("options.dtype");
      const std::string made = fmt::format("{} = initial::{}(", parameter.name, parameter.start.text);
      w.wrapped(
          parameter.condition ? fmt::format("if ({}) {}", write_formula(*parameter.condition, words), made) : made,
          parts, ");");
    }
    w.dedent();
    w.add("}");
  }

  void write_check(Writer& w, const Formula& check, const FormulaWords& words) const {
    const auto part = [&](std::size_t i) { return write_formula(check.parts[i], words); };
    const auto name = [&](std::size_t i) { return cpp_string(check.parts[i].text); };
    if (check.text == "at_least") {
      for (std::size_t i = 1; i < check.parts.size(); ++i)
        w.line("check_at_least({}, {}, {});", part(0), name(i), part(i));
    } else if (check.text == "even") {
      w.line("check_even({}, {}, {}, {});", part(0), part(1), part(2), part(3));
    } else if (check.text == "probability") {
      w.line("check_probability({}, {});", name(0), part(0));
    } else {
      const LayerArg& arg = *layer_.find_arg(check.parts[0].text);
      w.line("this->{} = row_of({}, {}, {});", arg.name, name(0), (arg.value ? "options." : "") + arg.name, part(1));
    }
  }

  void call(Writer& w) const {
    FormulaWords words;
    words.name = [this](const Formula& name) {
      const LayerArg* arg = layer_.find_arg(name.text);
      const bool maybe_sizes = arg != nullptr && arg->type.optional && arg->listing == Listing::sizes;
      return maybe_sizes ? fmt::format("numbers_in({})", name.text) : name.text;
    };
    words.call = [](const Formula& called) { return fmt::format("{}.{}()", called.parts[0].text, called.text); };
    const Formula& called = layer_.call();
    const Entry& op = *catalogue_.find_called(called.text);
    const std::vector<const Formula*> given = ordered_arguments(called, op);
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < given.size(); ++i)
      arguments.push_back(given[i] != nullptr ? write_formula(*given[i], words) : cpp_default(op.args[i]));
    if (takes_site(op)) {
      arguments.push_back("site");
    } else {
      arguments[0] = fmt::format("Operand({}, site)", arguments[0]);
    }
    const std::string head = fmt::format("Tensor {}::operator()(", layer_.name);
    const std::string does = fmt::format("return {}(", op.qualified());
    if (layer_.forward->kind != Kind::conditional) {
      w.function(head, call_parameters(false), ") const", does, arguments, ");");
      return;
    }
    w.wrapped(head, call_parameters(false), ") const {");
    w.indent();
    w.line("if (!({})) return {};", write_formula(layer_.forward->parts[1], words), layer_.forward->parts[2].text);
    w.wrapped(does, arguments, ");");
    w.dedent();
    w.add("}");
  }

  void fields(Writer& w) const {
    std::vector<std::string> names = mapped(layer_.parameters, [](const LayerParameter& each) { return each.name; });
    for (const LayerArg& arg : layer_.args) {
      if (arg.type.is_tensor()) names.push_back(arg.name);
    }
    if (names.empty()) {
      w.line("void {}::fields(tree::Visitor& /*visitor*/) {{}}", layer_.name);
      return;
    }
    const std::string list = fmt::format("{}", fmt::join(names, ", "));
    w.line("void {}::fields(tree::Visitor& visitor) {{", layer_.name);
    w.line("  tree::detail::visit_members(visitor, \"{}\", {});", list, list);
    w.add("}");
  }

  void repr(Writer& w) const {
    using Form = Layer::Shown::Form;
    std::vector<std::string> parts;
    for (const Layer::Shown& shown : layer_.shown) {
      const LayerArg& arg = *layer_.find_arg(shown.name);
      const std::string value = layer_.keeps(arg) ? arg.name : arg.name + ".has_value()";
      if (shown.form == Form::value) parts.push_back(fmt::format(".value({})", value));
      if (shown.form == Form::named) parts.push_back(fmt::format(".named(\"{}\", {})", arg.name, value));
      if (shown.form == Form::changed) {
        const std::string type = arg.type.list ? type_of(arg, false) : "";
        const bool braced = default_of(arg).starts_with('{');  // a list already
        const std::string usual = type.empty() || braced ? type + default_of(arg) : type + "(" + default_of(arg) + ")";
        parts.push_back(fmt::format(".changed(\"{}\", {}, {})", arg.name, value, usual));
      }
    }
    parts.push_back(".text();");
    const std::string flat = fmt::format("return Looks(){}", fmt::join(parts, ""));
    const std::string head = fmt::format("std::string {}::extra_repr() const {{", layer_.name);
    if (w.fits(fmt::format("{} {} }}", head, flat))) {
      w.line("{} {} }}", head, flat);
      return;
    }
    w.add(head);
    w.indent();
    if (w.fits(flat)) {
      w.add(flat);
    } else {
      w.line("return Looks()");
      for (const std::string& part : parts) w.line("    {}", part);
    }
    w.dedent();
    w.add("}");
  }

  const Layer& layer_;
  const Catalogue& catalogue_;
};

}  // namespace

void emit_layers(const Catalogue& catalogue, Files& files) {
  Writer all;
  all.add(file_header("The layers of the catalogue: parameters and a call of one op."));
  all.add("#pragma once");
  all.line();
  std::set<std::string> headers;
  for (const Layer& layer : catalogue.layers) headers.insert(layer.header());
  for (const std::string& header : headers) all.line("#include <{}>", header);
  files["lento/nn/layers.gen.h"] = all.text();

  Writer w;
  w.add(file_header("The layers of the catalogue: what makes them and what they call."));
  w.add("#include <lento/nn/layers.gen.h>");
  std::set<std::string> ops;
  for (const Layer& layer : catalogue.layers) ops.insert(catalogue.find_called(layer.call().text)->header());
  for (const std::string& header : ops) w.line("#include <{}>", header);
  w.line();
  w.add("#include \"base/source.h\"");
  w.add("#include \"nn/layer_parts.h\"");
  w.line();
  w.add("namespace lento::nn {");
  for (const Layer& layer : catalogue.layers) {
    const CppLayer cpp(layer, catalogue);
    files[layer.header()] = cpp.header();
    cpp.define(w);
  }
  w.line();
  w.add("}  // namespace lento::nn");
  files["nn/layers.gen.cpp"] = w.text();
}

}  // namespace lento::opgen
