// lento/_layers.py: layers as Python classes; and docs/layers.md, their reference.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cpp.h"
#include "emit.h"
#include "formula.h"
#include "python_words.h"

namespace lento::opgen {

namespace {

using Form = Layer::Shown::Form;

/// The text of a Python file, with lines broken as ruff breaks them.
class PythonWriter {
 public:
  void add(std::size_t indent, const std::string& line) {
    if (!line.empty()) text_.append(indent, ' ').append(line);
    text_ += '\n';
  }
  /// `head` + items + `tail`: on one line, else the items on a line of their own, else one item per line.
  void call(std::size_t indent, const std::string& head, const std::vector<std::string>& items,
            const std::string& tail) {
    const std::string inside = fmt::format("{}", fmt::join(items, ", "));
    if (indent + head.size() + inside.size() + tail.size() <= kColumns) {
      add(indent, head + inside + tail);
      return;
    }
    add(indent, head);
    if (indent + 4 + inside.size() <= kColumns) {
      add(indent + 4, inside);
    } else {
      for (const std::string& item : items) add(indent + 4, item + ",");
    }
    add(indent, tail);
  }
  const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t kColumns = 120;
  std::string text_;
};

/// Docs are written in Markdown; docstrings in reStructuredText.
std::string as_docstring(const std::string& doc) {
  std::string result;
  for (const char c : doc) result += c == '`' ? std::string("``") : std::string(1, c);
  return result;
}

std::string type_of(const LayerArg& arg) {
  std::string type;
  switch (arg.type.kind) {
    case ArgKind::integer:
      type = arg.type.list ? "int | Sequence[int]" : "int";
      if (arg.listing == Listing::padding) type += " | Literal[\"same\", \"valid\"]";
      break;
    case ArgKind::boolean:
      type = "bool";
      break;
    case ArgKind::dtype:
      return "DTypeLike";
    case ArgKind::choice:
      type = fmt::format("Literal[\"{}\"]", fmt::join(arg.type.choices, "\", \""));
      break;
    case ArgKind::generator:
      type = "Generator";
      break;
    case ArgKind::tensor:
      type = "Tensor";
      break;
    default:
      type = arg.type.list ? "float | Sequence[float]" : "float";
      break;
  }
  return arg.type.optional ? type + " | None" : type;
}

std::string default_of(const LayerArg& arg) {
  const std::string value = python_default(arg, true);
  return value.starts_with('\'') ? fmt::format("\"{}\"", value.substr(1, value.size() - 2)) : value;
}

/// "self, x: int, *, y: int = 1"; without types for the docs.
std::vector<std::string> constructor_parameters(const Layer& layer, bool typed) {
  std::vector<std::string> result;
  bool keyword_only = false;
  for (const LayerArg& arg : layer.args) {
    if (arg.keyword_only && !keyword_only) result.push_back("*");
    keyword_only = arg.keyword_only;
    const std::string name = typed ? fmt::format("{}: {}", arg.name, type_of(arg)) : arg.name;
    result.push_back(arg.value ? fmt::format("{}{}{}", name, typed ? " = " : "=", default_of(arg)) : name);
  }
  return result;
}

/// "_nn.linear", "_ops.tanh"
std::string called_as(const Formula& call) {
  const std::size_t dot = call.text.rfind('.');
  return dot == std::string::npos ? "_ops." + call.text : "_" + call.text;
}

class PythonLayer {
 public:
  explicit PythonLayer(const Layer& layer) : layer_(layer) {}

  void write(PythonWriter& w) const {
    w.add(0, "");
    w.add(0, "");
    w.add(0, fmt::format("# {}: {}", layer_.file, layer_.name));
    if (!layer_.args.empty()) w.add(0, "@names_its_errors");
    w.add(0, fmt::format("class {}(Module):", layer_.name));
    docstring(w);
    if (!layer_.parameters.empty()) w.add(0, "");
    for (const LayerParameter& parameter : layer_.parameters)
      w.add(4, fmt::format("{}: Tensor{}", parameter.name, parameter.condition ? " | None" : ""));
    if (!layer_.args.empty()) constructor(w);
    forward(w);
    if (!layer_.shown.empty()) repr(w);
  }

 private:
  void docstring(PythonWriter& w) const {
    std::string text = "\"\"\"" + as_docstring(layer_.doc);
    if (!layer_.example.empty()) text += "\n\n" + layer_.example + "\n";
    text += "\"\"\"";
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      w.add(4, text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  FormulaWords constructor_words() const {
    FormulaWords words;
    words.python = true;
    words.name = [](const Formula& name) { return name.text; };
    words.call = [this](const Formula& called) {
      return fmt::format("math.{}({})", called.text, write_formula(called.parts[0], constructor_words()));
    };
    return words;
  }

  void constructor(PythonWriter& w) const {
    w.add(0, "");
    std::vector<std::string> parameters = constructor_parameters(layer_, true);
    parameters.insert(parameters.begin(), "self");
    w.call(4, "def __init__(", parameters, ") -> None:");
    const FormulaWords words = constructor_words();
    const std::vector<std::string> kinds = given_kinds();
    const bool named = kinds.size() > 1 || !layer_.checks.empty() ||
                       std::any_of(layer_.args.begin(), layer_.args.end(),
                                   [](const auto& arg) { return arg.type.kind == ArgKind::choice; });
    if (named) w.add(8, "caller = type(self).__name__");
    if (kinds.size() > 1) w.call(8, "check_kinds(", kinds, ")");
    for (const LayerArg& arg : layer_.args) {
      if (arg.listing == Listing::tuple)
        w.add(8, fmt::format("{0} = numbers_of(caller, \"{0}\", {0}, {1})", arg.name, arg.axes));
      if (arg.type.kind == ArgKind::choice) {
        w.add(8, fmt::format("check_choice(caller, \"{0}\", {0}, [\"{1}\"])", arg.name,
                             fmt::join(arg.type.choices, "\", \"")));
      }
    }
    for (const Formula& check : layer_.checks) write_check(w, check, words);
    for (const LayerArg& arg : layer_.args) {
      const std::string kept = arg.type.is_tensor() ? fmt::format("buffer_of({})", arg.name) : arg.name;
      if (layer_.keeps(arg)) w.add(8, fmt::format("self.{} = {}", arg.name, kept));
    }
    for (const LayerParameter& parameter : layer_.parameters) {
      std::vector<std::string> parts;
      for (const Formula& part : parameter.start.parts) parts.push_back(write_formula(part, words));
      parts.push_back("dtype");
      const std::string tail =
          parameter.condition ? fmt::format(") if {} else None", write_formula(*parameter.condition, words)) : ")";
      w.call(8, fmt::format("self.{} = initial_{}(", parameter.name, parameter.start.text), parts, tail);
    }
  }

  /// `size=(size, "int")`: what must be a number, a list of numbers or a bool. Other arguments have checks of their
  /// own.
  std::vector<std::string> given_kinds() const {
    std::vector<std::string> kinds = {"caller"};
    for (const LayerArg& arg : layer_.args) {
      std::string kind;
      if (arg.type.kind == ArgKind::integer)
        kind = arg.listing == Listing::padding ? "padding" : arg.type.list ? "ints" : "int";
      if (arg.type.kind == ArgKind::floating || arg.type.kind == ArgKind::number)
        kind = arg.type.list ? "floats" : "float";
      if (arg.type.kind == ArgKind::boolean) kind = "bool";
      if (kind.empty()) continue;
      kinds.push_back(fmt::format("{0}=({0}, \"{1}{2}\")", arg.name, kind, arg.type.optional ? "?" : ""));
    }
    return kinds;
  }

  void write_check(PythonWriter& w, const Formula& check, const FormulaWords& words) const {
    std::vector<std::string> parts;
    for (const Formula& part : check.parts) parts.push_back(write_formula(part, words));
    if (check.text == "at_least") {
      for (std::size_t i = 1; i < parts.size(); ++i) {
        const bool list = layer_.find_arg(parts[i])->type.list;
        parts[i] = fmt::format("{}={}", parts[i], list ? fmt::format("min({})", parts[i]) : parts[i]);
      }
      parts.insert(parts.begin(), "caller");
      w.call(8, "check_sizes(", parts, ")");
    } else if (check.text == "even") {
      w.add(8, fmt::format("check_parts(caller, {2}, {0}, {1}, {3})", parts[0], parts[1], parts[2], parts[3]));
    } else if (check.text == "probability") {
      w.add(8, fmt::format("check_probability(caller, \"{0}\", {0})", parts[0]));
    } else {
      w.add(8, fmt::format("{0} = row_of(caller, \"{0}\", {0}, {1})", parts[0], parts[1]));
    }
  }

  void forward(PythonWriter& w) const {
    FormulaWords words;
    words.python = true;
    words.name = [this](const Formula& name) {
      return layer_.find_input(name.text) != nullptr ? name.text : "self." + name.text;
    };
    words.call = [](const Formula& called) {
      return fmt::format("padding_{}(self.{})", called.text, called.parts[0].text);
    };
    std::vector<std::string> parameters = {"self"};
    for (const Arg& input : layer_.inputs) {
      parameters.push_back(input.type.optional ? fmt::format("{}: Tensor | None = None", input.name)
                                               : fmt::format("{}: Tensor", input.name));
    }
    w.add(0, "");
    w.call(4, "def forward(", parameters, ") -> Tensor:");
    if (layer_.forward->kind == Formula::Kind::conditional) {
      w.add(8, fmt::format("if not ({}):", write_formula(layer_.forward->parts[1], words)));
      w.add(12, fmt::format("return {}", layer_.forward->parts[2].text));
    }
    const Formula& call = layer_.call();
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < call.parts.size(); ++i) {
      const std::string value = write_formula(call.parts[i], words);
      arguments.push_back(call.keywords[i].empty() ? value : fmt::format("{}={}", call.keywords[i], value));
    }
    w.call(8, fmt::format("return {}(", called_as(call)), arguments, ")");
  }

  void repr(PythonWriter& w) const {
    std::vector<std::string> shown;
    std::vector<std::string> changed;
    for (const Layer::Shown& each : layer_.shown) {
      const LayerArg& arg = *layer_.find_arg(each.name);
      const std::string value = layer_.keeps(arg) ? "self." + arg.name : fmt::format("self.{} is not None", arg.name);
      if (each.form == Form::value) shown.push_back(fmt::format("{{{}}}", value));
      if (each.form == Form::named) shown.push_back(fmt::format("{}={{{}}}", arg.name, value));
      if (each.form == Form::changed) changed.push_back(fmt::format("{}=({}, {})", arg.name, value, default_of(arg)));
    }
    w.add(0, "");
    w.add(4, "def extra_repr(self) -> str:");
    const std::string text = shown.empty() ? "" : fmt::format("f\"{}\"", fmt::join(shown, ", "));
    if (changed.empty()) {
      w.add(8, fmt::format("return {}", text));
    } else {
      changed.insert(changed.begin(), text.empty() ? "\"\"" : text);
      w.call(8, "return what_changed(", changed, ")");
    }
  }

  const Layer& layer_;
};

/// The helpers that the classes use, in the order of their names.
std::vector<std::string> used_helpers(const std::string& text) {
  static const std::vector<std::string> kHelpers = {
      "DTypeLike",           "buffer_of",    "check_choice",   "check_kinds",  "check_parts",
      "check_probability",   "check_sizes",  "initial_fan_in", "initial_full", "initial_normal",
      "initial_normal_rows", "initial_ones", "initial_zeros",  "numbers_of",   "padding_numbers",
      "padding_word",        "row_of",       "what_changed"};
  std::vector<std::string> used;
  for (const std::string& helper : kHelpers) {
    const std::string call = helper == "DTypeLike" ? ": DTypeLike" : helper + "(";
    if (text.find(call) != std::string::npos) used.push_back(helper);
  }
  return used;
}

}  // namespace

void emit_layers_python(const Catalogue& catalogue, Files& files) {
  PythonWriter classes;
  std::set<std::string> modules;
  for (const Layer& layer : catalogue.layers) {
    PythonLayer(layer).write(classes);
    const std::string called = called_as(layer.call());
    modules.insert(called.substr(0, called.find('.')));
  }
  const std::string& body = classes.text();
  const auto uses = [&](std::string_view word) { return body.find(word) != std::string::npos; };
  PythonWriter w;
  w.add(0,
        "\"\"\"Layers that are parameters and a call of one function, with PyTorch's names, layouts and initial "
        "values.\"\"\"");
  w.add(0, "# Generated by opgen from the catalogue (ops/*.yaml): edit the catalogue, not this file.");
  w.add(0, "");
  w.add(0, "from __future__ import annotations");
  w.add(0, "");
  if (uses("math.")) w.add(0, "import math");
  if (uses("Sequence[")) w.add(0, "from collections.abc import Sequence");
  if (uses("Literal[")) w.add(0, "from typing import Literal");
  w.add(0, "");
  if (!modules.empty()) w.add(0, fmt::format("from . import {}", fmt::join(modules, ", ")));
  w.add(0, fmt::format("from ._core import {}Tensor", uses(": Generator") ? "Generator, " : ""));
  if (uses("@names_its_errors")) w.add(0, "from ._fail import names_its_errors");
  if (const std::vector<std::string> helpers = used_helpers(body); !helpers.empty()) {
    w.add(0, "from ._layer_parts import (");
    for (const std::string& helper : helpers) w.add(4, helper + ",");
    w.add(0, ")");
  }
  w.add(0, "from ._module import Module");
  w.add(0, "");
  w.add(0, "__all__ = [");
  for (const Layer& layer : catalogue.layers) w.add(4, fmt::format("\"{}\",", layer.name));
  w.add(0, "]");
  files["lento/_layers.py"] = w.text() + body;
}

std::string emit_layers_docs(const Catalogue& catalogue) {
  std::string out = "# Layers\n\nGenerated from the catalogue (`ops/*.yaml`) by `opgen`.\n\n";
  out +=
      "Layers that are parameters and a call of one op. [Training](training.md#modules) tells about modules, and about "
      "the "
      "layers that are more: `BatchNorm`, `InstanceNorm1d` to `3d`, `Sequential`, `MultiHeadAttention`, "
      "`TransformerEncoderLayer`, `RNN`, `GRU`, `LSTM` and `LSTMCell`. "
      "In C++ what has a default is given by name: `nn::Linear(4, 8, {.bias = false})`. Without a `dtype` parameters "
      "are "
      "float32.\n\n";
  out += "| layer | computes |\n|---|---|\n";
  const auto plain = [](const Formula& call) {
    FormulaWords words;
    words.python = true;
    words.name = [](const Formula& name) { return name.text; };
    words.call = [&words](const Formula& called) {
      std::vector<std::string> parts;
      for (std::size_t i = 0; i < called.parts.size(); ++i) {
        const std::string value = write_formula(called.parts[i], words);
        parts.push_back(called.keywords[i].empty() ? value : called.keywords[i] + "=" + value);
      }
      return fmt::format("{}({})", called.text, fmt::join(parts, ", "));
    };
    return write_formula(call, words);
  };
  for (const Layer& layer : catalogue.layers) {
    std::string anchor = "lentonn" + layer.name;
    std::transform(anchor.begin(), anchor.end(), anchor.begin(), [](unsigned char c) { return std::tolower(c); });
    out += fmt::format("| [{}](#{}) | `{}` |\n", layer.name, anchor, plain(*layer.forward));
  }
  for (const Layer& layer : catalogue.layers) {
    out += fmt::format("\n## lento.nn.{}\n\n", layer.name);
    out += fmt::format("`{}({})`\n\n", layer.name, fmt::join(constructor_parameters(layer, false), ", "));
    out += layer.doc + "\n\n";
    if (!layer.example.empty()) out += fmt::format("```pycon\n{}\n```\n\n", layer.example);
    for (const LayerParameter& parameter : layer.parameters) {
      out += fmt::format("- `{}`: starts as `{}`{}\n", parameter.name, plain(parameter.start),
                         parameter.condition ? fmt::format(", if `{}`", plain(*parameter.condition)) : "");
    }
    for (const LayerArg& arg : layer.args) {
      if (arg.type.kind == ArgKind::choice)
        out += fmt::format("- `{}`: one of `{}`\n", arg.name, fmt::join(arg.type.choices, "`, `"));
    }
    out += fmt::format("- computes `{}`\n- defined in `{}`\n", plain(*layer.forward), layer.origin);
  }
  return out;
}

}  // namespace lento::opgen
