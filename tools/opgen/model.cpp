#include "model.h"

#include <algorithm>
#include <cctype>

namespace lento::opgen {

const std::vector<std::string> kDtypes = {"bool",     "int8",    "int16",   "int32",     "int64",
                                          "uint8",    "uint16",  "uint32",  "uint64",    "float16",
                                          "bfloat16", "float32", "float64", "complex64", "complex128"};

const std::vector<std::pair<std::string, unsigned>> kDtypeClasses = {
    {"bool", 0x0001},    {"signed", 0x001e}, {"unsigned", 0x01e0}, {"integer", 0x01fe}, {"floating", 0x1e00},
    {"complex", 0x6000}, {"real", 0x1ffe},   {"numeric", 0x7ffe},  {"any", 0x7fff},
};

const std::vector<std::string> kBatchRules = {"shift", "leading", "product", "merge", "index",
                                              "take",  "search",  "draw",    "steps", "each"};

const std::vector<std::string> kPrimitiveFamilies = {"elementwise", "creation", "cast",    "reduction", "scan",
                                                     "index_map",   "gather",   "scatter", "sort",      "contraction",
                                                     "window",      "linalg",   "fft",     "random"};

const std::vector<std::string> kFamilies = [] {
  std::vector<std::string> families = kPrimitiveFamilies;
  families.push_back("composite");
  return families;
}();

const std::vector<std::string> kNamespaces = {"lento", "linalg", "fft", "nn", "random", "special", "stats"};

std::vector<std::string> vjp_arguments(const Text& key) {
  std::vector<std::string> names;
  const std::string_view text = key.value;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::string_view name = text.substr(at, comma - at);
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    names.emplace_back(name);
    at = comma + 1;
  }
  return names;
}

unsigned dtype_set(std::string_view name) {
  for (const auto& [word, set] : kDtypeClasses) {
    if (word == name) return set;
  }
  const auto found = std::find(kDtypes.begin(), kDtypes.end(), name);
  return found == kDtypes.end() ? 0 : 1u << (found - kDtypes.begin());
}

bool DtypeRule::mentions(std::string_view name) const {
  return std::find(args.begin(), args.end(), name) != args.end();
}

std::vector<std::string> Entry::methods() const {
  std::vector<std::string> names;
  if (!method.empty()) names.push_back(method);
  if (!method_by_aliases) return names;
  for (const Text& alias : aliases) names.push_back(alias.value);
  return names;
}

bool Entry::has_attributes() const {
  return std::any_of(args.begin(), args.end(), [](const Arg& arg) { return arg.type.is_attribute(); });
}

bool Entry::is_extent(const Arg& arg) const {
  return std::ranges::any_of(extents, [&](const Text& extent) { return extent.value == arg.name; });
}

const Arg* Entry::find_arg(std::string_view arg) const {
  const auto found = std::find_if(args.begin(), args.end(), [&](const Arg& a) { return a.name == arg; });
  return found == args.end() ? nullptr : &*found;
}

std::string Entry::qualified() const { return space.empty() ? "lento::" + name : "lento::" + space + "::" + name; }

std::string Entry::header() const { return "lento/ops/" + (space.empty() ? "" : space + "/") + name + ".gen.h"; }

const LayerArg* Layer::find_arg(std::string_view arg) const {
  const auto found = std::find_if(args.begin(), args.end(), [&](const LayerArg& a) { return a.name == arg; });
  return found == args.end() ? nullptr : &*found;
}

const LayerParameter* Layer::find_parameter(std::string_view parameter) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const LayerParameter& each) { return each.name == parameter; });
  return found == parameters.end() ? nullptr : &*found;
}

const Arg* Layer::find_input(std::string_view input) const {
  const auto found = std::find_if(inputs.begin(), inputs.end(), [&](const Arg& each) { return each.name == input; });
  return found == inputs.end() ? nullptr : &*found;
}

bool Layer::keeps(const LayerArg& arg) const {
  return arg.type.kind != ArgKind::dtype && find_parameter(arg.name) == nullptr;
}

std::string Layer::header() const {
  const auto is_upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
  std::string words;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool starts_word =
        is_upper(name[i]) && i + 1 < name.size() && std::islower(static_cast<unsigned char>(name[i + 1])) != 0;
    if (starts_word && i > 0) words += '_';
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return "lento/nn/" + words + ".gen.h";
}

std::vector<const Entry*> Catalogue::primitives() const {
  std::vector<const Entry*> result;
  for (const Entry& entry : entries) {
    if (entry.primitive()) result.push_back(&entry);
  }
  return result;
}

std::vector<const Entry*> Catalogue::composites() const {
  std::vector<const Entry*> result;
  for (const Entry& entry : entries) {
    if (!entry.primitive()) result.push_back(&entry);
  }
  return result;
}

const Entry* Catalogue::find_in(std::string_view space, std::string_view name) const {
  const auto found = by_space_.find({std::string(space == "lento" ? "" : space), std::string(name)});
  return found == by_space_.end() ? nullptr : &entries[found->second];
}

const Entry* Catalogue::find(std::string_view name) const {
  for (const std::string_view space : {"", "linalg", "fft", "nn", "random", "special", "stats", "prim"}) {
    if (const Entry* entry = find_in(space, name)) return entry;
  }
  return nullptr;
}

const Entry* Catalogue::find_called(std::string_view dotted) const {
  const std::size_t dot = dotted.rfind('.');
  return dot == std::string_view::npos ? find_in("", dotted) : find_in(dotted.substr(0, dot), dotted.substr(dot + 1));
}

void Catalogue::index() {
  by_space_.clear();
  // Names before aliases, so that an alias never hides an op.
  for (std::size_t i = 0; i < entries.size(); ++i) by_space_.emplace(std::pair(entries[i].space, entries[i].name), i);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const Text& alias : entries[i].aliases) by_space_.emplace(std::pair(entries[i].space, alias.value), i);
    for (const std::string& space : entries[i].also) {
      const std::string key = space == "lento" ? "" : space;
      by_space_.emplace(std::pair(key, entries[i].name), i);
      for (const Text& alias : entries[i].aliases) by_space_.emplace(std::pair(key, alias.value), i);
    }
  }
}

}  // namespace lento::opgen
