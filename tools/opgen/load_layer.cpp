#include "load_layer.h"

#include <algorithm>
#include <regex>

#include <fmt/format.h>

#include "expression.h"
#include "formula.h"
#include "load.h"

namespace lento::opgen {

namespace {

bool is_class_name(const std::string& text) {
  static const std::regex pattern("[A-Z][A-Za-z0-9]*");
  return std::regex_match(text, pattern);
}

class LayerLoader {
 public:
  LayerLoader(YamlFile& file, Catalogue& catalogue)
      : file_(file), diagnostics_(file.diagnostics_), catalogue_(catalogue) {}

  void run(const YAML::Node& node) {
    using Handler = void (LayerLoader::*)(const YAML::Node&);
    static const std::vector<std::pair<std::string, Handler>> kKeys = {
        {"layer", &LayerLoader::read_name},      {"doc", &LayerLoader::read_doc},
        {"example", &LayerLoader::read_example}, {"args", &LayerLoader::read_args},
        {"checks", &LayerLoader::read_checks},   {"parameters", &LayerLoader::read_parameters},
        {"inputs", &LayerLoader::read_inputs},   {"forward", &LayerLoader::read_forward},
        {"repr", &LayerLoader::read_repr},
    };
    layer_.at = file_.position(node);
    layer_.file = fmt::format("ops/{}", file_.path_.filename().string());
    layer_.origin = fmt::format("{}:{}", layer_.file, layer_.at.line);
    std::set<std::string> seen;
    for (const auto& pair : node) {
      const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "…";
      const auto found = std::find_if(kKeys.begin(), kKeys.end(), [&](const auto& each) { return each.first == key; });
      if (found == kKeys.end()) {
        std::vector<std::string> known;
        for (const auto& [word, handler] : kKeys) known.push_back(word);
        file_.error(pair.first, fmt::format("unknown key '{}' of a layer{}", key, suggestion(key, known)));
      } else if (!seen.insert(key).second) {
        file_.error(pair.first, fmt::format("duplicate key '{}'", key));
      } else {
        const std::size_t errors = diagnostics_.size();
        (this->*found->second)(pair.second);
        if (diagnostics_.size() != errors) layer_.broken.insert(key);
      }
    }
    for (const char* key : {"doc", "forward"}) {
      if (!seen.contains(key)) {
        diagnostics_.error(layer_.at, fmt::format("layer '{}' has no '{}'", layer_.name, key));
        layer_.broken.insert(key);
      }
    }
    if (!seen.contains("inputs")) {
      Arg x;
      x.name = "x";
      x.type_text = "Tensor";
      layer_.inputs.push_back(std::move(x));
    }
    if (!layer_.name.empty()) catalogue_.layers.push_back(std::move(layer_));
  }

 private:
  void read_name(const YAML::Node& node) {
    const auto name = file_.scalar(node, "layer");
    if (!name) return;
    layer_.at = name->at;
    if (is_class_name(name->value)) {
      layer_.name = name->value;
    } else {
      diagnostics_.error(name->at, fmt::format("layer name '{}' is not in CamelCase", name->value));
    }
  }

  /// A text without line breaks at its end.
  std::string paragraph(const YAML::Node& node, const char* key) {
    const auto text = file_.scalar(node, key);
    if (!text) return "";
    std::string value = text->value;
    while (value.ends_with('\n')) value.pop_back();
    if (value.empty()) diagnostics_.error(text->at, fmt::format("'{}' is empty", key));
    return value;
  }

  void read_doc(const YAML::Node& node) { layer_.doc = paragraph(node, "doc"); }

  void read_example(const YAML::Node& node) {
    layer_.example = paragraph(node, "example");
    if (!layer_.example.empty() && !layer_.example.starts_with(">>> "))
      file_.error(node, "'example' is a dialogue with Python that starts with '>>> '");
  }

  /// The catalogue's types, and those that only layers have: `int[2]`, `sizes` and `padding`.
  bool parse_type(Text text, LayerArg& arg) {
    static const std::regex numbered(R"(^(\s*int\[)([0-9]+)(\].*)$)");
    static const std::regex sizes(R"(^\s*(sizes|padding)\b(.*)$)");
    const std::string written = text.value;
    std::smatch match;
    if (std::regex_match(written, match, numbered)) {
      arg.listing = Listing::tuple;
      arg.axes = std::stoul(match[2]);
      text.value = match[1].str() + match[3].str();
    } else if (std::regex_match(written, match, sizes)) {
      arg.listing = match[1] == "sizes" ? Listing::sizes : Listing::padding;
      text.value = "int[]" + match[2].str();
    }
    if (!parse_arg_type(text, arg, diagnostics_)) return false;
    if (arg.type.kind == ArgKind::integer && arg.type.list && arg.listing == Listing::none)
      arg.listing = Listing::tuple;
    arg.type_text = written.substr(0, written.find('='));
    while (arg.type_text.ends_with(' ')) arg.type_text.pop_back();
    const ArgKind kind = arg.type.kind;
    const bool allowed = kind == ArgKind::integer || kind == ArgKind::floating || kind == ArgKind::number ||
                         kind == ArgKind::boolean || kind == ArgKind::dtype || kind == ArgKind::choice ||
                         kind == ArgKind::generator || (kind == ArgKind::tensor && arg.type.optional);
    if (!allowed || (arg.type.list && kind != ArgKind::integer && kind != ArgKind::number)) {
      diagnostics_.error(text.at,
                         fmt::format("argument '{}' of a layer cannot have type '{}'; it is an int, float, bool, "
                                     "dtype, Generator, Tensor?, str{{a,b}}, int[], int[2], number[], sizes or padding",
                                     arg.name, arg.type_text));
      return false;
    }
    return true;
  }

  void read_args(const YAML::Node& node) {
    for (YamlFile::Argument& argument : file_.arguments(node, "args")) {
      LayerArg arg;
      arg.name = argument.name.value;
      arg.at = argument.name.at;
      arg.keyword_only = argument.keyword_only;
      if (parse_type(argument.type, arg)) layer_.args.push_back(std::move(arg));
    }
    // An optional argument may be left out, unless one that may not follows.
    for (auto arg = layer_.args.rbegin(); arg != layer_.args.rend() && (arg->value || arg->type.optional); ++arg) {
      if (!arg->value) arg->value = "null";
    }
  }

  void read_inputs(const YAML::Node& node) {
    for (YamlFile::Argument& argument : file_.arguments(node, "inputs")) {
      Arg input;
      input.name = argument.name.value;
      input.at = argument.name.at;
      if (!parse_arg_type(argument.type, input, diagnostics_)) continue;
      if (!input.type.is_tensor() || input.type.list) {
        diagnostics_.error(argument.type.at, fmt::format("input '{}' of a layer is a Tensor or a Tensor?", input.name));
        continue;
      }
      if (input.type.optional) input.value = "null";
      layer_.inputs.push_back(std::move(input));
    }
  }

  void read_checks(const YAML::Node& node) {
    if (!node.IsSequence()) {
      file_.error(node, "'checks' takes a list such as [\"at_least(1, channels)\"]");
      return;
    }
    for (const YAML::Node& each : node) {
      const auto text = file_.scalar(each, "checks");
      if (!text) continue;
      if (auto formula = parse_formula(*text, "checks", diagnostics_)) layer_.checks.push_back(std::move(*formula));
    }
  }

  void read_parameters(const YAML::Node& node) {
    if (!node.IsMap()) {
      file_.error(node, "'parameters' takes a map from names to what they start as, such as 'ones((features,))'");
      return;
    }
    for (const auto& pair : node) {
      const Text name = file_.text(pair.first);
      if (!is_identifier(name.value)) {
        diagnostics_.error(name.at, fmt::format("parameter name '{}' is not in snake_case", name.value));
        continue;
      }
      if (layer_.find_parameter(name.value) != nullptr) {
        diagnostics_.error(name.at, fmt::format("duplicate parameter '{}'", name.value));
        continue;
      }
      const auto text = file_.scalar(pair.second, "parameters");
      if (!text) continue;
      auto formula = parse_formula(*text, "parameters", diagnostics_);
      if (!formula) continue;
      LayerParameter parameter{name.value, name.at, *formula, std::nullopt};
      if (formula->kind == Formula::Kind::conditional) {
        if (formula->parts.size() > 2) {
          diagnostics_.error(formula->parts[2].at,
                             fmt::format("parameter '{}' is there or not: 'if' without 'else'", name.value));
          continue;
        }
        parameter.start = formula->parts[0];
        parameter.condition = formula->parts[1];
      }
      layer_.parameters.push_back(std::move(parameter));
    }
  }

  void read_forward(const YAML::Node& node) {
    if (const auto text = file_.scalar(node, "forward")) layer_.forward = parse_formula(*text, "forward", diagnostics_);
  }

  /// "in_features, kernel_size=, bias?": `3`, `kernel_size=3`, and `bias=False` only where that is not the default.
  void read_repr(const YAML::Node& node) {
    const auto text = file_.scalar(node, "repr");
    if (!text) return;
    using Form = Layer::Shown::Form;
    for (std::size_t begin = 0; begin <= text->value.size();) {
      const std::size_t end = std::min(text->value.find(',', begin), text->value.size());
      const std::size_t first = std::min(text->value.find_first_not_of(' ', begin), end);
      std::string name = text->value.substr(first, end - first);
      const Form form = name.ends_with('=') ? Form::named : name.ends_with('?') ? Form::changed : Form::value;
      if (form != Form::value) name.pop_back();
      layer_.shown.push_back({form, name, position_inside(*text, first)});
      begin = end + 1;
    }
  }

  YamlFile& file_;
  Diagnostics& diagnostics_;
  Catalogue& catalogue_;
  Layer layer_;
};

}  // namespace

void read_layer(YamlFile& file, const YAML::Node& node, Catalogue& catalogue) {
  LayerLoader(file, catalogue).run(node);
}

}  // namespace lento::opgen
