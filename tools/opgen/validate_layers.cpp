// The rules of layers: every name in a formula means something, and the op that is called takes what it is given.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cpp.h"
#include "formula.h"
#include "layer_words.h"
#include "validate.h"

namespace lento::opgen {

namespace {

using Kind = Formula::Kind;

/// Names that modules and generated functions use for themselves.
const std::set<std::string> kReserved = {
    "self",  "site", "options", "caller",     "training",        "parameters", "buffers", "modules",
    "train", "eval", "to",      "state_dict", "load_state_dict", "forward",    "fields",  "extra_repr"};

std::vector<std::string> word_names(const std::vector<LayerWord>& words) {
  return mapped(words, [](const LayerWord& word) { return word.name; });
}

class LayerValidator {
 public:
  LayerValidator(const Layer& layer, const Catalogue& catalogue, Diagnostics& diagnostics)
      : layer_(layer), catalogue_(catalogue), diagnostics_(diagnostics) {}

  void run() {
    check_names();
    // What follows looks names up: when they are wrong themselves, it would only repeat that.
    if (layer_.broken.contains("args") || layer_.broken.contains("parameters") || layer_.broken.contains("inputs"))
      return;
    for (const Formula& check : layer_.checks) check_check(check);
    for (const LayerParameter& parameter : layer_.parameters) check_parameter(parameter);
    if (layer_.forward) check_forward();
    for (const Layer::Shown& shown : layer_.shown) check_shown(shown);
  }

 private:
  void error(const Position& at, std::string message) { diagnostics_.error(at, std::move(message)); }

  std::vector<std::string> argument_names() const {
    return mapped(layer_.args, [](const Arg& arg) { return arg.name; });
  }

  void check_names() {
    std::set<std::string> seen;
    bool defaulted = false;
    for (const LayerArg& arg : layer_.args) {
      if (!seen.insert(arg.name).second) error(arg.at, fmt::format("duplicate argument '{}'", arg.name));
      check_free(arg.name, "argument", arg.at);
      if (defaulted && !arg.value && !arg.keyword_only)
        error(arg.at, fmt::format("argument '{}' has no default but follows one that has", arg.name));
      defaulted = defaulted || arg.value.has_value();
      const bool is_dtype = arg.type.kind == ArgKind::dtype;
      if (is_dtype != (arg.name == "dtype") || (is_dtype && (!arg.type.optional || arg.value != "null")))
        error(arg.at, "the dtype of a layer's parameters is the argument 'dtype: dtype?'");
      if (arg.type.kind == ArgKind::generator && !arg.type.optional)
        error(arg.at, fmt::format("argument '{}': a Generator is always optional ('Generator?')", arg.name));
    }
    for (const LayerParameter& parameter : layer_.parameters) {
      check_free(parameter.name, "parameter", parameter.at);
      const LayerArg* arg = layer_.find_arg(parameter.name);
      if (arg != nullptr && (arg->type.kind != ArgKind::boolean || !parameter.condition)) {
        error(parameter.at, fmt::format("parameter '{}' has the name of an argument, which must then be a bool that "
                                        "says whether it is there ('if {}')",
                                        parameter.name, parameter.name));
      }
    }
    if (!layer_.parameters.empty() && layer_.find_arg("dtype") == nullptr && !layer_.broken.contains("args"))
      error(layer_.at, fmt::format("layer '{}' has parameters but no argument 'dtype: dtype?'", layer_.name));
    for (const Arg& input : layer_.inputs) {
      check_free(input.name, "input", input.at);
      if (layer_.find_arg(input.name) != nullptr || layer_.find_parameter(input.name) != nullptr)
        error(input.at, fmt::format("input '{}' has the name of an argument or a parameter", input.name));
    }
  }

  void check_free(const std::string& name, const char* what, const Position& at) {
    if (kReserved.contains(name) || cpp_identifier(name) != name)
      error(at, fmt::format("{} '{}' of layer '{}': the name is reserved; try '{}_'", what, name, layer_.name, name));
  }

  /// A call of one of `words`, with as many arguments as it takes.
  bool check_word(const Formula& call, const std::vector<LayerWord>& words, const char* key) {
    const LayerWord* word = find_word(words, call.text);
    if (word == nullptr) {
      error(call.at, fmt::format("unknown '{}' in '{}'{}", call.text, key, suggestion(call.text, word_names(words))));
      return false;
    }
    const bool by_name =
        std::any_of(call.keywords.begin(), call.keywords.end(), [](const std::string& each) { return !each.empty(); });
    if (call.parts.size() < word->least || call.parts.size() > word->most || by_name) {
      error(call.at, fmt::format("'{}' in '{}' is written {}", call.text, key, word->pattern));
      return false;
    }
    return true;
  }

  /// Numbers and arguments of the layer, and what can be computed of them.
  void check_values(const Formula& formula, const char* key) {
    visit_formula(formula, [&](const Formula& each) {
      if (each.kind == Kind::name) check_argument(each, key);
      if (each.kind == Kind::call) check_word(each, kShapeFunctions, key);
    });
  }
  const LayerArg* check_argument(const Formula& formula, const char* key) {
    const LayerArg* arg = formula.kind == Kind::name ? layer_.find_arg(formula.text) : nullptr;
    if (arg == nullptr) {
      error(formula.at, fmt::format("'{}' in '{}' is no argument of layer '{}'{}", formula.text, key, layer_.name,
                                    suggestion(formula.text, argument_names())));
    }
    return arg;
  }

  void check_check(const Formula& check) {
    if (check.kind != Kind::call) {
      error(check.at, fmt::format("'checks' takes calls of {}", fmt::join(word_names(kChecks), ", ")));
      return;
    }
    if (!check_word(check, kChecks, "checks")) return;
    for (std::size_t i = 0; i < check.parts.size(); ++i) {
      const Formula& part = check.parts[i];
      const bool number = check.text == "at_least" && i == 0;
      const bool string = check.text == "even" && i >= 2;
      if (number ? part.kind != Kind::number : string && part.kind != Kind::string) {
        error(part.at,
              fmt::format("'{}' in 'checks' is written {}", check.text, find_word(kChecks, check.text)->pattern));
      } else if (!number && !string) {
        check_argument(part, "checks");
      }
    }
  }

  void check_parameter(const LayerParameter& parameter) {
    if (parameter.condition) check_values(*parameter.condition, "parameters");
    const Formula& start = parameter.start;
    if (start.kind != Kind::call) {
      error(start.at,
            fmt::format("parameter '{}' starts as a call of {}", parameter.name, fmt::join(word_names(kStarts), ", ")));
      return;
    }
    if (!check_word(start, kStarts, "parameters")) return;
    const Formula& shape = start.parts[0];
    const LayerArg* arg = shape.kind == Kind::name ? layer_.find_arg(shape.text) : nullptr;
    if (shape.kind != Kind::tuple && (arg == nullptr || arg->listing != Listing::tuple)) {
      error(shape.at, fmt::format("the shape of parameter '{}' is a tuple such as (rows, columns), or an argument of "
                                  "type int[]",
                                  parameter.name));
      return;
    }
    for (const Formula& part : start.parts) check_values(part, "parameters");
  }

  void check_forward() {
    const Formula& forward = *layer_.forward;
    if (forward.kind == Kind::conditional) {
      if (forward.parts.size() < 3 || layer_.find_input(forward.parts[2].text) == nullptr)
        error(forward.at, "a conditional 'forward' ends with 'else' and one of the inputs");
      visit_formula(forward.parts[1], [&](const Formula& each) {
        if (each.kind == Kind::name && each.text != "training") check_argument(each, "forward");
      });
    }
    const Formula& call = layer_.call();
    if (call.kind != Kind::call) {
      error(call.at, "'forward' is a call of one op, such as nn.linear(x, weight, bias)");
      return;
    }
    const Entry* op = catalogue_.find_called(call.text);
    if (op == nullptr || op->hidden) {
      std::vector<std::string> known;
      for (const Entry& entry : catalogue_.entries) {
        if (!entry.hidden) known.push_back(entry.space.empty() ? entry.name : entry.space + "." + entry.name);
      }
      error(call.at, fmt::format("unknown op '{}' in 'forward'{}", call.text, suggestion(call.text, known)));
      return;
    }
    if (op->returns != Returns::tensor) {
      error(call.at, fmt::format("op '{}' in 'forward' does not return one Tensor", call.text));
      return;
    }
    const std::size_t errors = diagnostics_.size();
    bool named = false;
    for (std::size_t i = 0; i < call.parts.size(); ++i) {
      const std::string& keyword = call.keywords[i];
      if (!keyword.empty() && op->find_arg(keyword) == nullptr) {
        error(call.parts[i].at,
              fmt::format("op '{}' has no argument '{}'{}", call.text, keyword,
                          suggestion(keyword, mapped(op->args, [](const Arg& a) { return a.name; }))));
      }
      if (keyword.empty() && (i >= op->args.size() || named || op->args[i].keyword_only))
        error(call.parts[i].at, fmt::format("op '{}' does not take so many arguments by their place", call.text));
      named = named || !keyword.empty();
    }
    const std::vector<const Formula*> given = ordered_arguments(call, *op);
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i] != nullptr) {
        check_given(*given[i], op->args[i], call.text);
      } else if (!op->args[i].value) {
        error(call.at, fmt::format("argument '{}' of op '{}' is missing in 'forward'", op->args[i].name, call.text));
      }
    }
    // What is wrong above may be why something is not given.
    if (diagnostics_.size() != errors) return;
    const auto is_given = [&](const std::string& name) {
      return std::any_of(call.parts.begin(), call.parts.end(), [&](const Formula& part) { return part.text == name; });
    };
    for (const Arg& input : layer_.inputs) {
      if (!is_given(input.name))
        error(call.at, fmt::format("input '{}' is not given to op '{}' in 'forward'", input.name, call.text));
    }
    for (const LayerParameter& parameter : layer_.parameters) {
      if (!is_given(parameter.name))
        error(parameter.at,
              fmt::format("parameter '{}' is not given to op '{}' in 'forward'", parameter.name, call.text));
    }
  }

  void check_given(const Formula& given, const Arg& taken, const std::string& op) {
    if (given.kind == Kind::number || given.kind == Kind::string) return;
    if (given.kind == Kind::call) {
      if (check_word(given, kForwardFunctions, "forward")) {
        const LayerArg* arg = check_argument(given.parts[0], "forward");
        if (arg != nullptr && arg->listing != Listing::padding)
          error(given.at, fmt::format("'{}' takes a padding; '{}' is none", given.text, arg->name));
      }
      return;
    }
    const bool parameter = given.kind == Kind::name && layer_.find_parameter(given.text) != nullptr;
    const bool input = given.kind == Kind::name && layer_.find_input(given.text) != nullptr;
    const LayerArg* arg = given.kind == Kind::name ? layer_.find_arg(given.text) : nullptr;
    if (given.kind != Kind::name || !(parameter || input || arg != nullptr || given.text == "training")) {
      std::vector<std::string> known = argument_names();
      for (const LayerParameter& each : layer_.parameters) known.push_back(each.name);
      for (const Arg& each : layer_.inputs) known.push_back(each.name);
      error(given.at, given.kind == Kind::name
                          ? fmt::format("'{}' in 'forward' is no input, parameter or argument of layer '{}'{}",
                                        given.text, layer_.name, suggestion(given.text, known))
                          : "an argument in 'forward' is a name, a number or a text");
      return;
    }
    const bool takes_tensor = taken.type.kind == ArgKind::tensor;
    const bool is_tensor = parameter || input || (arg != nullptr && arg->type.is_tensor());
    if (takes_tensor != is_tensor && taken.type.kind != ArgKind::operand) {
      error(given.at, fmt::format("'{}' is {}, but argument '{}' of op '{}' is of type '{}'", given.text,
                                  is_tensor ? "a tensor" : "no tensor", taken.name, op, taken.type_text));
    }
    if (arg != nullptr && !is_tensor && arg->listing == Listing::padding)
      error(given.at, fmt::format("a padding is given as numbers({0}) and word({0})", given.text));
  }

  void check_shown(const Layer::Shown& shown) {
    const LayerArg* arg = layer_.find_arg(shown.name);
    if (arg == nullptr) {
      error(shown.at, fmt::format("'{}' in 'repr' is no argument of layer '{}'{}", shown.name, layer_.name,
                                  suggestion(shown.name, argument_names())));
    } else if (shown.form == Layer::Shown::Form::changed ? !arg->value.has_value() : !layer_.keeps(*arg)) {
      error(shown.at,
            fmt::format("'{}' in 'repr': {}", shown.name,
                        arg->value ? "a layer does not keep it; show it by '?'" : "it has no default, so no '?'"));
    }
  }

  const Layer& layer_;
  const Catalogue& catalogue_;
  Diagnostics& diagnostics_;
};

}  // namespace

void validate_layers(const Catalogue& catalogue, Diagnostics& diagnostics) {
  std::map<std::string, Position> seen;
  for (const Layer& layer : catalogue.layers) {
    if (const auto [found, fresh] = seen.emplace(layer.name, layer.at); !fresh) {
      diagnostics.error(layer.at,
                        fmt::format("duplicate layer '{}': it is already at line {}", layer.name, found->second.line));
    }
    LayerValidator(layer, catalogue, diagnostics).run();
  }
}

}  // namespace lento::opgen
