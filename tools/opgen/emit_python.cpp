// python/: a function with the fast calling convention for each op (python/src/arguments.h says how), and the table of
// names.
#include <sstream>

#include "callers.h"
#include "cpp.h"
#include "emit.h"
#include "python_words.h"

namespace lento::opgen {

namespace {

std::string thunk_name(const Entry& entry) {
  return fmt::format("py_{}{}", entry.space.empty() ? "" : entry.space + "_", entry.name);
}

/// What messages call it: `delete_` has its underscore for C++ alone.
std::string python_name(const Entry& entry) { return entry.name == "delete_" ? "delete" : entry.name; }

std::string constant_name(const Entry& entry) { return fmt::format("k{}{}", camel(entry.space), camel(entry.name)); }

const char* kind_word(const ArgType& type) {
  switch (type.kind) {
    case ArgKind::tensor:
      return type.list ? "tensors" : "tensor";
    case ArgKind::operand:
      return "operand";
    case ArgKind::number:
      return type.list ? "numbers" : "number";
    case ArgKind::integer:
      return type.list ? "integers" : type.saturates ? "offset" : "integer";
    case ArgKind::floating:
      return "real";
    case ArgKind::boolean:
      return "boolean";
    case ArgKind::dtype:
      return "dtype";
    case ArgKind::device:
      return "device";
    case ArgKind::choice:
    case ArgKind::string:
      return "string";
    case ArgKind::generator:
      return "generator";
  }
  return "";
}

std::string flags(const Entry& entry, std::size_t index) {
  const Arg& arg = entry.args[index];
  std::vector<std::string> words;
  if (arg.type.optional) {
    words.push_back("kOptional");
  } else if (arg.value) {
    words.push_back("kDefaulted");
  }
  if (arg.keyword_only) words.push_back("kKeywordOnly");
  if (variadic(entry, index) || arg.type.separate) words.push_back("kVariadic");
  return fmt::format("{}", fmt::join(words, " | "));
}

std::string getter(const Arg& arg, std::size_t index) {
  const ArgKind kind = arg.type.kind;
  if (kind == ArgKind::generator) return fmt::format("a.generator({})", index);
  const bool has_value = arg.value && *arg.value != "null" && *arg.value != "None";
  std::string fallback;
  if (has_value) {
    fallback = cpp_default(arg);
    if (kind == ArgKind::integer && arg.type.list && !arg.type.optional) fallback = "Ints" + fallback;
    if (kind == ArgKind::number && arg.type.list && !arg.type.optional) fallback = "std::vector<Scalar>" + fallback;
    fallback = ", " + fallback;
  }
  return fmt::format("a.{}{}({}{})", arg.type.optional ? "optional_" : "", kind_word(arg.type), index, fallback);
}

/// NumPy's form: what it does, the parameters, the results.
std::string docstring(const Entry& entry) {
  std::string text = entry.doc + "\n";
  if (!entry.args.empty()) {
    text += "\nParameters\n----------\n";
    for (const Arg& arg : entry.args) text += fmt::format("{} : {}\n", arg.name, python_type_words(arg));
  }
  text += "\nReturns\n-------\n";
  switch (entry.returns) {
    case Returns::tensor:
      text += "Tensor\n";
      break;
    case Returns::named:
      for (const std::string& result : entry.results) text += fmt::format("{} : Tensor\n", result);
      break;
    case Returns::list:
      text += "tuple of Tensors\n";
      break;
    case Returns::boolean:
      text += "bool\n";
      break;
    case Returns::integer:
      text += "int\n";
      break;
    case Returns::integers:
      text += "tuple of ints\n";
      break;
    case Returns::dtype:
      text += "dtype\n";
      break;
  }
  if (entry.has_dtype) text += fmt::format("\nNotes\n-----\nDtypes: {}\n", entry.dtype.text);
  if (!entry.see.empty()) text += fmt::format("\nSee also\n--------\n{}\n", entry.see);
  if (!entry.example.empty()) text += fmt::format("\nExamples\n--------\n{}\n", entry.example);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// A string literal a line, broken at spaces where a line is too long.
void string_lines(Writer& w, const std::string& text, std::string_view tail) {
  std::istringstream lines(text);
  std::string line;
  bool more = static_cast<bool>(std::getline(lines, line));
  while (more) {
    std::string next;
    more = static_cast<bool>(std::getline(lines, next));
    std::string rest = line + (more ? "\n" : "");
    std::string end = more ? "" : std::string(tail);
    for (std::string literal = cpp_string(rest) + end; !w.fits(literal); literal = cpp_string(rest) + end) {
      std::size_t cut = rest.rfind(' ');
      while (cut != std::string::npos && cut > 0 && !w.fits(cpp_string(rest.substr(0, cut + 1))))
        cut = rest.rfind(' ', cut - 1);
      if (cut == std::string::npos || cut == 0) break;
      w.add(cpp_string(rest.substr(0, cut + 1)));
      rest = rest.substr(cut + 1);
    }
    w.add(cpp_string(rest) + end);
    line = std::move(next);
  }
}

void function(Writer& w, const Entry& entry) {
  w.line();
  w.line("// {}: {}", entry.file, entry.name);
  const std::string constant = constant_name(entry);
  std::string parameters = "{}";
  if (!entry.args.empty()) {
    std::vector<std::string> items;
    for (std::size_t i = 0; i < entry.args.size(); ++i) {
      const std::string bits = flags(entry, i);
      items.push_back(fmt::format("{{\"{}\", Kind::{}{}}}", entry.args[i].name, kind_word(entry.args[i].type),
                                  bits.empty() ? "" : ", " + bits));
    }
    w.rows(fmt::format("Parameter {}Parameters[] = {{", constant), items, "};");
    parameters = constant + "Parameters";
  }
  if (entry.returns == Returns::named) {
    w.wrapped(fmt::format("constexpr const char* {}Results[] = {{", constant), mapped(entry.results, cpp_string), "};");
    parameters += fmt::format(", .results = {}Results", constant);
  }
  w.line("Signature {}{{.name = \"{}\", .parameters = {}{}}};", constant, python_name(entry), parameters,
         entry.waits ? ", .waits = true" : "");
  w.line("constexpr const char* {}Doc =", constant);
  w.indent();
  w.indent();
  string_lines(w, docstring(entry), ";");
  w.dedent();
  w.dedent();
  w.line();
  w.line("PyObject* {}(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {{",
         thunk_name(entry));
  w.indent();
  const bool unused = entry.args.empty() && entry.returns != Returns::named;
  const std::string head = fmt::format("return call({}, self, args, count, names,", constant);
  const std::string lambda = unused ? "[](const Arguments&) {" : "[](const Arguments& a) {";
  std::size_t index = 0;
  const std::vector<std::string> arguments = mapped(entry.args, [&](const Arg& arg) { return getter(arg, index++); });
  const std::string body =
      fmt::format("{} return wrap({}({})); }});", lambda, entry.qualified(), fmt::join(arguments, ", "));
  const std::string aligned = std::string(std::string_view("return call(").size(), ' ') + body;
  if (entry.returns != Returns::named && w.fits(head + " " + body)) {
    w.add(head + " " + body);
  } else if (entry.returns != Returns::named && w.fits(aligned)) {
    w.add(head);
    w.add(aligned);
  } else {
    w.line("{} {}", head, lambda);
    w.indent();
    if (entry.returns == Returns::named) {
      w.wrapped(fmt::format("auto results = {}(", entry.qualified()), arguments, ");");
      const auto moved = [](const std::string& result) { return fmt::format("std::move(results.{})", result); };
      w.wrapped("std::array all{", mapped(entry.results, moved), "};");
      w.add("return wrap_results(a.signature(), all);");
    } else {
      w.wrapped(fmt::format("return wrap({}(", entry.qualified()), arguments, "));");
    }
    w.dedent();
    w.add("});");
  }
  w.dedent();
  w.add("}");
}

void export_rows(Writer& w, const Entry& entry) {
  std::vector<std::string> spaces = {entry.space.empty() ? "lento" : entry.space};
  for (const std::string& also : entry.also) spaces.push_back(also);
  std::vector<std::pair<std::string, std::string>> names;
  for (const std::string& space : spaces) {
    names.emplace_back(space, entry.name);
    for (const Text& alias : entry.aliases) names.emplace_back(space, alias.value);
  }
  for (const std::string& method : entry.methods()) names.emplace_back("Tensor", method);
  for (const auto& [space, name] : names) {
    w.rows("{",
           {cpp_string(space), cpp_string(name), thunk_name(entry), cpp_string(python_signature(entry, true)),
            constant_name(entry) + "Doc"},
           "},");
  }
}

std::string functions_source(const Catalogue& catalogue, std::size_t shard) {
  Writer w;
  w.add(file_header(fmt::format("The op functions for Python, part {} of {}.", shard + 1, kShards)));
  w.add("#include \"python/functions.gen.h\"");
  w.line();
  std::vector<const Entry*> here;
  for (const Entry& entry : catalogue.entries) {
    if (shard_of(entry.name, kShards) == shard) here.push_back(&entry);
  }
  for (const std::string& include : op_includes(here)) w.add(include);
  w.line();
  w.add("#include <array>");
  w.add("#include <limits>");
  w.add("#include <utility>");
  w.line();
  w.add("namespace lento::python {");
  w.line();
  w.add("namespace {");
  for (const Entry* entry : here) function(w, *entry);
  if (!here.empty()) {
    w.line();
    w.add("constexpr Export kExports[] = {");
    w.indent();
    w.indent();
    for (const Entry* entry : here) export_rows(w, *entry);
    w.dedent();
    w.dedent();
    w.add("};");
  }
  w.line();
  w.add("}  // namespace");
  w.line();
  w.line("std::span<const Export> exports_{}() {{ return {}; }}", shard, here.empty() ? "{}" : "kExports");
  w.line();
  w.add("}  // namespace lento::python");
  return w.text();
}

std::string functions_header() {
  Writer w;
  w.add(file_header("The tables of Python functions."));
  w.add("#pragma once");
  w.line();
  w.add("#include \"arguments.h\"");
  w.line();
  w.add("#include <array>");
  w.add("#include <span>");
  w.line();
  w.add("namespace lento::python {");
  w.line();
  std::vector<std::string> calls;
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    w.line("std::span<const Export> exports_{}();", shard);
    calls.push_back(fmt::format("exports_{}()", shard));
  }
  w.line();
  w.line("inline std::array<std::span<const Export>, {}> all_exports() {{", kShards);
  w.line("  return {{{}}};", fmt::join(calls, ", "));
  w.add("}");
  w.line();
  w.add("}  // namespace lento::python");
  return w.text();
}

}  // namespace

void emit_python(const Catalogue& catalogue, Files& files) {
  files["python/functions.gen.h"] = functions_header();
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    files[fmt::format("python/functions_{}.gen.cpp", shard)] = functions_source(catalogue, shard);
  }
  emit_stubs(catalogue, files);
}

}  // namespace lento::opgen
