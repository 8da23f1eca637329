// docs/ops.md: the reference page, grouped as the catalogue's files are.
#include <algorithm>
#include <cctype>
#include <map>

#include "cpp.h"
#include "emit.h"
#include "python_words.h"

namespace lento::opgen {

namespace {

/// "prim_index_map" → "Primitives: index map", "elementwise_math" → "Elementwise math".
std::string title(const std::string& group) {
  std::string words = group;
  std::replace(words.begin(), words.end(), '_', ' ');
  if (words.starts_with("prim ")) return "Primitives: " + words.substr(5);
  words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words;
}

/// GitHub's anchor of a heading.
std::string anchor(const std::string& heading) {
  std::string result;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-')
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == ' ') result += '-';
  }
  return result;
}

std::string dtypes(const DtypeRule& rule) {
  std::string classes = fmt::format("{}", fmt::join(rule.classes, ", "));
  const std::string args = fmt::format("`{}`", fmt::join(rule.args, "`, `"));
  switch (rule.result) {
    case ResultRule::same:
      return fmt::format("{} of {}; the result has the dtype of {}", classes, args, args);
    case ResultRule::promote:
      return fmt::format("{}; {} are promoted together", classes, args);
    case ResultRule::floating:
      return fmt::format("{}; integers and bools become the default float", classes);
    case ResultRule::boolean:
      return fmt::format("{}; the result is bool", classes);
    case ResultRule::real:
      return fmt::format("{}; the result is real", classes);
    case ResultRule::complex:
      return fmt::format("{}; the result is complex", classes);
    case ResultRule::fixed:
      return fmt::format("{}; the result is {}", classes, rule.fixed);
  }
  return classes;
}

void entry_text(std::string& out, const Entry& entry) {
  out += fmt::format("### {}\n\n", python_name(entry, entry.name));
  out += fmt::format("`{}{}`\n\n", entry.name, python_signature(entry, false));
  out += entry.doc + "\n\n";
  if (!entry.example.empty()) out += fmt::format("```pycon\n{}\n```\n\n", entry.example);
  if (entry.has_dtype) out += fmt::format("- dtypes: {}\n", dtypes(entry.dtype));
  if (entry.results.size() > 1) out += fmt::format("- returns: `{}`\n", fmt::join(entry.results, "`, `"));
  if (entry.returns == Returns::list) out += "- returns: a tuple of tensors\n";
  for (const Arg& arg : entry.args) {
    if (arg.type.kind == ArgKind::choice)
      out += fmt::format("- `{}`: one of `{}`\n", arg.name, fmt::join(arg.type.choices, "`, `"));
  }
  std::vector<std::string> names = mapped(entry.aliases, [](const Text& alias) { return "`" + alias.value + "`"; });
  for (const std::string& also : entry.also)
    names.push_back(also == "lento" ? "`lento." + entry.name + "`" : "`lento." + also + "." + entry.name + "`");
  for (const std::string& method : entry.methods()) names.push_back("method `Tensor." + method + "`");
  if (!entry.operator_text.empty()) names.push_back("operator `" + entry.operator_text + "`");
  if (!names.empty()) out += fmt::format("- also: {}\n", fmt::join(names, ", "));
  out += entry.primitive() ? fmt::format("- primitive ({})\n", entry.family)
         : entry.compose   ? fmt::format("- composite: `{}`\n", entry.compose->value)
                           : "- composite\n";
  if (!entry.see.empty()) out += fmt::format("- see: {}\n", entry.see);
  out += fmt::format("- defined in `{}`\n\n", entry.origin);
}

}  // namespace

std::string emit_docs(const Catalogue& catalogue) {
  std::vector<std::string> groups;
  std::map<std::string, std::vector<const Entry*>> by_group;
  for (const Entry& entry : catalogue.entries) {
    if (!by_group.contains(entry.group)) groups.push_back(entry.group);
    by_group[entry.group].push_back(&entry);
  }
  // What users call first, then the primitives behind it.
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return !group.starts_with("prim_"); });
  std::string out = "# Ops\n\nGenerated from the op catalogue (`ops/*.yaml`) by `opgen`.\n\n";
  const std::size_t primitives = catalogue.primitives().size();
  out += fmt::format(
      "{} ops: {} primitives, which a backend runs, and {} composites, which are made of them. C++ has the same names "
      "in "
      "namespace `lento` (`lento::linalg::qr`).\n\n",
      catalogue.entries.size(), primitives, catalogue.entries.size() - primitives);
  for (const std::string& group : groups) {
    out += fmt::format("- [{}](#{}):", title(group), anchor(title(group)));
    for (const Entry* entry : by_group[group])
      out += fmt::format(" [{}](#{})", entry->name, anchor(python_name(*entry, entry->name)));
    out += "\n";
  }
  out += "\n";
  for (const std::string& group : groups) {
    out += fmt::format("## {}\n\n", title(group));
    for (const Entry* entry : by_group[group]) entry_text(out, *entry);
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace lento::opgen
