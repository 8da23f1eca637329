// Reads the catalogue. Every key is handled by one small function; what does not fit is reported with its line.
#include "load.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "cpp.h"
#include "load_layer.h"
#include "yaml_file.h"

namespace lento::opgen {

namespace {

/// Reads the entries of one file.
class Loader : YamlFile {
 public:
  Loader(const std::filesystem::path& path, Catalogue& catalogue, Diagnostics& diagnostics)
      : YamlFile(path, diagnostics), catalogue_(catalogue) {}

  void run() {
    const std::optional<YAML::Node> root = read();
    if (!root) return;
    for (const YAML::Node& node : *root) {
      if (node.IsMap() && node["layer"].IsDefined()) {
        read_layer(*this, node, catalogue_);
      } else {
        read_entry(node);
      }
    }
  }

 private:
  using Handler = void (Loader::*)(const YAML::Node&);

  void read_entry(const YAML::Node& node) {
    if (!node.IsMap()) {
      error(node, "an entry is a map that starts with 'op: name' or 'layer: Name'");
      return;
    }
    static const std::vector<std::pair<std::string, Handler>> kKeys = {
        {"op", &Loader::read_op},
        {"doc", &Loader::read_doc},
        {"example", &Loader::read_example},
        {"args", &Loader::read_args},
        {"family", &Loader::read_family},
        {"dtype", &Loader::read_dtype},
        {"compute", &Loader::read_compute},
        {"compose", &Loader::read_compose},
        {"returns", &Loader::read_returns},
        {"namespace", &Loader::read_namespace},
        {"also", &Loader::read_also},
        {"method", &Loader::read_method},
        {"operator", &Loader::read_operator},
        {"aliases", &Loader::read_aliases},
        {"batch", &Loader::read_batch},
        {"vjp", &Loader::read_vjp},
        {"hidden", &Loader::read_hidden},
        {"waits", &Loader::read_waits},
        {"updates", &Loader::read_updates},
        {"extents", &Loader::read_extents},
        {"samples", &Loader::read_samples},
        {"numpy", &Loader::read_numpy},
        {"torch", &Loader::read_torch},
        {"tolerance", &Loader::read_tolerance},
        {"see", &Loader::read_see},
    };
    entry_ = Entry{};
    entry_.at = position(node);
    entry_.group = path_.stem().string();
    entry_.file = fmt::format("ops/{}", path_.filename().string());
    entry_.origin = fmt::format("{}:{}", entry_.file, entry_.at.line);
    std::set<std::string> seen;
    // `method: true` needs the op's name, so names come first.
    for (const bool names : {true, false}) {
      for (const auto& pair : node) {
        const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "…";
        if ((key == "op" || key == "hidden") != names) continue;
        const auto found =
            std::find_if(kKeys.begin(), kKeys.end(), [&](const auto& each) { return each.first == key; });
        if (found == kKeys.end()) {
          std::vector<std::string> known;
          for (const auto& [word, handler] : kKeys) known.push_back(word);
          error(pair.first, fmt::format("unknown key '{}'{}", key, suggestion(key, known)));
        } else if (!seen.insert(key).second) {
          error(pair.first, fmt::format("duplicate key '{}'", key));
        } else {
          const std::size_t errors = diagnostics_.size();
          (this->*found->second)(pair.second);
          if (diagnostics_.size() != errors) entry_.broken.insert(key);
        }
      }
    }
    for (const char* key : {"op", "doc", "args", "family"}) {
      if (!seen.contains(key)) {
        const std::string who = entry_.name.empty() ? "an entry" : fmt::format("op '{}'", entry_.name);
        diagnostics_.error(entry_.at, fmt::format("{} has no '{}'", who, key));
        entry_.broken.insert(key);
      }
    }
    if (!entry_.name.empty()) catalogue_.entries.push_back(std::move(entry_));
  }

  void read_op(const YAML::Node& node) {
    const std::optional<Text> name = scalar(node, "op");
    if (!name) return;
    if (!is_identifier(name->value)) {
      diagnostics_.error(name->at, fmt::format("op name '{}' is not in snake_case", name->value));
      return;
    }
    entry_.name = name->value;
    entry_.at = name->at;
  }

  void read_doc(const YAML::Node& node) {
    if (const auto doc = scalar(node, "doc")) {
      entry_.doc = doc->value;
      while (!entry_.doc.empty() && entry_.doc.back() == '\n') entry_.doc.pop_back();
      if (entry_.doc.empty()) diagnostics_.error(doc->at, "'doc' is empty");
    }
  }

  void read_example(const YAML::Node& node) {
    const auto example = scalar(node, "example");
    if (!example) return;
    entry_.example = example->value;
    while (!entry_.example.empty() && entry_.example.back() == '\n') entry_.example.pop_back();
    if (!entry_.example.starts_with(">>> "))
      diagnostics_.error(example->at, "'example' is a dialogue with Python that starts with '>>> '");
  }

  void read_family(const YAML::Node& node) {
    const auto family = scalar(node, "family");
    if (!family) return;
    if (std::find(kFamilies.begin(), kFamilies.end(), family->value) == kFamilies.end()) {
      diagnostics_.error(family->at,
                         fmt::format("unknown family '{}'{}", family->value, suggestion(family->value, kFamilies)));
      return;
    }
    entry_.family = family->value;
  }

  void read_batch(const YAML::Node& node) {
    const auto batch = scalar(node, "batch");
    if (!batch) return;
    if (std::find(kBatchRules.begin(), kBatchRules.end(), batch->value) == kBatchRules.end()) {
      diagnostics_.error(batch->at,
                         fmt::format("unknown batch rule '{}'{}", batch->value, suggestion(batch->value, kBatchRules)));
      return;
    }
    entry_.batch = batch;
  }

  void read_args(const YAML::Node& node) {
    for (Argument& argument : arguments(node, "args")) {
      Arg arg;
      arg.name = argument.name.value;
      arg.at = argument.name.at;
      arg.keyword_only = argument.keyword_only;
      if (parse_arg_type(argument.type, arg, diagnostics_)) entry_.args.push_back(std::move(arg));
    }
    // An optional argument may be left out, unless one that may not follows.
    for (auto arg = entry_.args.rbegin(); arg != entry_.args.rend() && (arg->value || arg->type.optional); ++arg) {
      if (!arg->value) arg->value = "null";
    }
  }

  void read_dtype(const YAML::Node& node) {
    if (const auto rule = scalar(node, "dtype")) entry_.has_dtype = parse_dtype_rule(*rule, entry_.dtype, diagnostics_);
  }

  void read_compute(const YAML::Node& node) {
    if (!node.IsMap()) {
      if (const auto expression = scalar(node, "compute")) entry_.compute.push_back({"any", *expression});
      return;
    }
    std::set<std::string> seen;
    for (const auto& pair : node) {
      const Text key = text(pair.first);
      if (dtype_set(key.value) == 0) {
        std::vector<std::string> known;
        for (const auto& [name, bits] : kDtypeClasses) known.push_back(name);
        known.insert(known.end(), kDtypes.begin(), kDtypes.end());
        diagnostics_.error(
            key.at, fmt::format("unknown dtype class '{}' in 'compute'{}", key.value, suggestion(key.value, known)));
      } else if (!seen.insert(key.value).second) {
        diagnostics_.error(key.at, fmt::format("duplicate key '{}' in 'compute'", key.value));
      } else if (const auto expression = scalar(pair.second, "compute")) {
        entry_.compute.push_back({key.value, *expression});
      }
    }
  }

  void read_compose(const YAML::Node& node) { entry_.compose = scalar(node, "compose"); }

  void read_returns(const YAML::Node& node) {
    if (node.IsSequence()) {
      for (Text& name : words(node, "returns", /*capital=*/true)) {
        if (std::find(entry_.results.begin(), entry_.results.end(), name.value) != entry_.results.end()) {
          diagnostics_.error(name.at, fmt::format("duplicate result '{}' in 'returns'", name.value));
        }
        entry_.results.push_back(std::move(name.value));
      }
      entry_.returns = entry_.results.size() < 2 ? Returns::tensor : Returns::named;
      return;
    }
    const auto type = scalar(node, "returns");
    if (!type) return;
    static const std::vector<std::pair<std::string, Returns>> kReturns = {
        {"Tensor", Returns::tensor}, {"Tensor[]", Returns::list},  {"bool", Returns::boolean},
        {"int", Returns::integer},   {"int[]", Returns::integers}, {"dtype", Returns::dtype}};
    const auto found =
        std::find_if(kReturns.begin(), kReturns.end(), [&](const auto& each) { return each.first == type->value; });
    if (found != kReturns.end()) {
      entry_.returns = found->second;
      return;
    }
    std::vector<std::string> known;
    for (const auto& [word, value] : kReturns) known.push_back(word);
    diagnostics_.error(type->at, fmt::format("unknown return type '{}'{}; several results are a list of names",
                                             type->value, suggestion(type->value, known)));
  }

  bool known_namespace(const Text& space) {
    if (std::find(kNamespaces.begin(), kNamespaces.end(), space.value) != kNamespaces.end()) return true;
    diagnostics_.error(space.at,
                       fmt::format("unknown namespace '{}'{}", space.value, suggestion(space.value, kNamespaces)));
    return false;
  }

  void read_namespace(const YAML::Node& node) {
    const auto space = scalar(node, "namespace");
    if (!space || !known_namespace(*space)) return;
    if (entry_.hidden) {
      diagnostics_.error(space->at, "a hidden op has no 'namespace': it lives in 'prim'");
      return;
    }
    if (space->value != "lento") entry_.space = space->value;
  }

  void read_also(const YAML::Node& node) {
    for (const Text& space : words(node, "also")) {
      if (known_namespace(space)) entry_.also.push_back(space.value);
    }
  }

  void read_method(const YAML::Node& node) {
    const auto method = scalar(node, "method");
    if (!method || method->value == "false") return;
    if (method->value != "true" && !is_identifier(method->value)) {
      diagnostics_.error(method->at,
                         fmt::format("'method' takes true or a name in snake_case, not '{}'", method->value));
      return;
    }
    entry_.method_by_aliases = method->value == "true";
    entry_.method = entry_.method_by_aliases ? entry_.name : method->value;
  }

  void read_operator(const YAML::Node& node) {
    if (const auto value = scalar(node, "operator")) entry_.operator_text = value->value;
  }

  void read_aliases(const YAML::Node& node) { entry_.aliases = words(node, "aliases"); }

  void read_vjp(const YAML::Node& node) {
    if (!node.IsMap()) {
      error(node, "'vjp' takes a map from arguments to expressions");
      return;
    }
    std::set<std::string> seen;
    for (const auto& pair : node) {
      const Text key = text(pair.first);
      if (!seen.insert(key.value).second) {
        diagnostics_.error(key.at, fmt::format("duplicate key '{}' in 'vjp'", key.value));
      } else if (const auto expression = scalar(pair.second, "vjp")) {
        entry_.vjp.emplace_back(key, *expression);
      }
    }
  }

  void read_hidden(const YAML::Node& node) {
    if (const auto value = boolean(node, "hidden"); value && *value) {
      entry_.hidden = true;
      entry_.space = "prim";
    }
  }

  void read_waits(const YAML::Node& node) { entry_.waits = boolean(node, "waits").value_or(false); }
  void read_updates(const YAML::Node& node) { entry_.updates = boolean(node, "updates").value_or(false); }
  void read_extents(const YAML::Node& node) { entry_.extents = words(node, "extents"); }

  void read_samples(const YAML::Node& node) {
    entry_.samples = to_json(node, "samples");
    sample_positions(node);
  }

  void read_numpy(const YAML::Node& node) {
    if (const auto value = scalar(node, "numpy")) entry_.numpy = value->value;
  }
  void read_torch(const YAML::Node& node) {
    if (const auto value = scalar(node, "torch")) entry_.torch = value->value;
  }

  void read_tolerance(const YAML::Node& node) {
    try {
      entry_.tolerance = node.as<double>();
    } catch (const YAML::Exception&) {
      error(node, "'tolerance' takes a number");
    }
  }

  void read_see(const YAML::Node& node) {
    if (node.IsSequence()) {
      for (const YAML::Node& each : node) {
        if (!entry_.see.empty()) entry_.see += ", ";
        entry_.see += each.Scalar();
      }
    } else if (const auto value = scalar(node, "see")) {
      entry_.see = value->value;
    }
  }

  void sample_positions(const YAML::Node& node) {
    entry_.samples_at = position(node);
    if (!node.IsSequence()) return;
    for (const YAML::Node& each : node) entry_.sample_at.push_back(position(each));
  }

  Catalogue& catalogue_;
  Entry entry_;
};

}  // namespace

Catalogue load_catalogue(const std::filesystem::path& folder, Diagnostics& diagnostics) {
  Catalogue catalogue;
  std::vector<std::filesystem::path> paths;
  std::error_code failure;
  for (const auto& item : std::filesystem::directory_iterator(folder, failure)) {
    if (item.path().extension() == ".yaml" || item.path().extension() == ".yml") paths.push_back(item.path());
  }
  if (failure) {
    diagnostics.error({folder.string(), 0, 0}, fmt::format("cannot read the folder: {}", failure.message()));
    return catalogue;
  }
  if (paths.empty()) diagnostics.error({folder.string(), 0, 0}, "no catalogue file (*.yaml) in this folder");
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    catalogue.files.push_back(path.string());
    Loader(path, catalogue, diagnostics).run();
  }
  catalogue.index();
  return catalogue;
}

void load_math_names(const std::filesystem::path& header, Catalogue& catalogue) {
  std::ifstream stream(header);
  std::stringstream buffer;
  buffer << stream.rdbuf();
  const std::string text = std::regex_replace(buffer.str(), std::regex("//[^\n]*"), "");
  // Every name before an opening parenthesis: the functions that are defined, and those that their bodies call.
  static const std::regex pattern(R"(([A-Za-z_][A-Za-z0-9_]*)\s*\()");
  std::set<std::string> names(catalogue.math_names.begin(), catalogue.math_names.end());
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    const std::string name = (*match)[1];
    if (cpp_identifier(name) == name && name != "constexpr" && name != "decltype" && name != "while")
      names.insert(name);
  }
  catalogue.math_names.assign(names.begin(), names.end());
  catalogue.files.push_back(header.string());
}

}  // namespace lento::opgen
