// The samples of an entry: values for its arguments that the tests call it with.
#include <algorithm>
#include <regex>

#include <fmt/format.h>

#include "validate.h"

namespace lento::opgen {

namespace {

/// Kinds of data that are no dtype or class but make sense as "spd[3,3]".
const std::vector<std::string> kGenerators = {"spd", "permutation", "sign"};

std::vector<std::string> spec_words() {
  std::vector<std::string> words = kGenerators;
  for (const auto& [name, set] : kDtypeClasses) words.push_back(name);
  for (const std::string& name : kDtypes) words.push_back(name);
  return words;
}

/// "" when the text is "<class>[shape]" with modifiers, else what is wrong.
std::string wrong_tensor(const std::string& text) {
  // Data that follows from another argument: "argsort(x1)".
  static const std::regex derived(R"([a-z_]+\([a-z_0-9]+\))");
  if (std::regex_match(text, derived)) return "";
  static const std::regex shape(R"(\s*(?:sorted\s+)?([A-Za-z_0-9]+(?:\|[A-Za-z_0-9]+)*)\s*\[([0-9,\s]*)\]\s*(.*))");
  static const std::regex rest(R"((in\s*[\(\[]\s*[-+.0-9a-z]+\s*,\s*[-+.0-9a-z]+\s*[\)\]])?(\s*[a-z_ ]*)?)");
  std::smatch match;
  if (!std::regex_match(text, match, shape))
    return "write '<dtype or class>[shape]', such as 'floating[2,3] in (0, 1)'";
  const std::string classes = match[1];
  std::size_t begin = 0;
  while (begin <= classes.size()) {
    const std::size_t end = std::min(classes.find('|', begin), classes.size());
    const std::string word = classes.substr(begin, end - begin);
    const std::vector<std::string> words = spec_words();
    if (std::find(words.begin(), words.end(), word) == words.end()) {
      return fmt::format("unknown dtype or class '{}'{}", word, suggestion(word, words));
    }
    begin = end + 1;
  }
  static const std::regex extents(R"(\s*([0-9]+\s*(,\s*[0-9]+\s*)*,?)?\s*)");
  const std::string inner = match[2];
  if (!std::regex_match(inner, extents)) return fmt::format("'[{}]' is no shape", inner);
  const std::string modifiers = match[3];
  if (!std::regex_match(modifiers, rest))
    return fmt::format("unknown modifier '{}'; write 'in (low, high)'", modifiers);
  return "";
}

std::string wrong_interval(const std::string& text) {
  if (dtype_set(text) != 0) return "";
  static const std::regex interval(R"(\s*[\(\[]\s*[-+.0-9a-z]+\s*,\s*[-+.0-9a-z]+\s*[\)\]]\s*)");
  return std::regex_match(text, interval) ? "" : "write an interval such as '(-0.9, 0.9)'";
}

class SampleChecker {
 public:
  SampleChecker(const Entry& entry, Diagnostics& diagnostics) : entry_(entry), diagnostics_(diagnostics) {}

  void run() {
    const Json& samples = entry_.samples;
    if (samples.type() == Json::Type::object) {
      check_domains(samples);
    } else if (samples.type() == Json::Type::array) {
      for (std::size_t i = 0; i < samples.members().size(); ++i) {
        at_ = i < entry_.sample_at.size() ? entry_.sample_at[i] : entry_.samples_at;
        const Json& sample = samples.members()[i].second;
        if (sample.type() == Json::Type::object) {
          check_call(sample);
        } else {
          error("a sample is a map from arguments to values");
        }
      }
    } else if (!samples.is_null()) {
      at_ = entry_.samples_at;
      error("'samples' takes a list of calls, or a map of domains for an elementwise op");
    }
  }

 private:
  void error(std::string message) { diagnostics_.error(at_, std::move(message)); }

  std::vector<std::string> argument_names() const {
    std::vector<std::string> names;
    for (const Arg& arg : entry_.args) names.push_back(arg.name);
    return names;
  }

  const Arg* argument(const std::string& name) {
    const Arg* arg = entry_.find_arg(name);
    if (arg == nullptr) {
      error(fmt::format("sample names '{}', which is no argument of op '{}'{}", name, entry_.name,
                        suggestion(name, argument_names())));
    }
    return arg;
  }

  void check_domains(const Json& samples) {
    at_ = entry_.samples_at;
    if (!entry_.elementwise())
      error(
          fmt::format("'samples' of op '{}' must be a list of calls; only elementwise ops have domains", entry_.name));
    for (const auto& [key, value] : samples.members()) {
      if (key == "special") continue;
      if (argument(key) == nullptr) continue;
      const std::string wrong =
          value.type() == Json::Type::string ? wrong_interval(value.text()) : "write an interval such as '(-0.9, 0.9)'";
      if (!wrong.empty()) error(fmt::format("malformed domain '{}' of '{}': {}", value.text(), key, wrong));
    }
  }

  void check_call(const Json& sample) {
    for (const auto& [key, value] : sample.members()) {
      if (key == "raises" || key == "tolerance") continue;
      const Arg* arg = argument(key);
      if (arg != nullptr && arg->type.is_tensor()) check_tensor(*arg, value);
    }
    for (const Arg& arg : entry_.args) {
      const bool given = std::any_of(sample.members().begin(), sample.members().end(),
                                     [&](const auto& m) { return m.first == arg.name; });
      if (!given && !arg.value && !arg.type.optional)
        error(fmt::format("sample gives no value for argument '{}' of op '{}'", arg.name, entry_.name));
    }
  }

  void check_tensor(const Arg& arg, const Json& value) {
    if (arg.type.list && value.type() == Json::Type::array) {
      for (const auto& [key, each] : value.members()) check_spec(arg, each);
    } else if (!(arg.type.optional && value.is_null())) {
      check_spec(arg, value);
    }
  }

  /// A tensor is described by a text, or given by its values: a (nested) list.
  void check_spec(const Arg& arg, const Json& value) {
    if (value.type() == Json::Type::array || value.type() == Json::Type::literal) return;
    if (value.type() != Json::Type::string) {
      error(fmt::format("sample for tensor '{}' is no text such as 'floating[2,3]'", arg.name));
    } else if (const std::string wrong = wrong_tensor(value.text()); !wrong.empty()) {
      error(fmt::format("malformed tensor '{}' for '{}': {}", value.text(), arg.name, wrong));
    }
  }

  const Entry& entry_;
  Diagnostics& diagnostics_;
  Position at_;
};

}  // namespace

void validate_samples(const Entry& entry, Diagnostics& diagnostics) { SampleChecker(entry, diagnostics).run(); }

}  // namespace lento::opgen
