#include "validate.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "cpp.h"
#include "expression.h"

namespace lento::opgen {

namespace {

/// Names that generated functions use for themselves: all, those of primitives, and the inner loops of elementwise ops.
const std::set<std::string> kReservedArguments = {"site", "scope", "named", "self"};
const std::set<std::string> kReservedInPrimitives = {"attrs", "meta", "metas", "operands", "all"};
const std::set<std::string> kReservedInLoops = {"out", "inputs", "strides", "count", "i"};

/// The numbers of a family (src/ir/op_number.h).
constexpr std::size_t kFamilyRoom = 32;
constexpr std::size_t kElementwiseRoom = 256;

/// Methods of Tensor that are written by hand (include/lento/tensor.h).
const std::set<std::string> kReservedMethods = {
    "defined", "dtype", "shape",       "rank",      "size",  "device",       "is_pending",
    "id",      "item",  "item_scalar", "to_vector", "data",  "data_pointer", "to_string",
    "assign",  "set",   "slice",       "state",     "adopt", "read",         "release"};

std::vector<std::string> argument_names(const Entry& entry) {
  return mapped(entry.args, [](const Arg& arg) { return arg.name; });
}

class Validator {
 public:
  Validator(const Catalogue& catalogue, Diagnostics& diagnostics) : catalogue_(catalogue), diagnostics_(diagnostics) {}

  void run() {
    check_names();
    check_room();
    for (const Entry& entry : catalogue_.entries) {
      check_keyword(entry.name, "op", entry.at);
      for (const Text& alias : entry.aliases) check_keyword(alias.value, "alias", alias.at);
      check_args(entry);
      if (!entry.broken.contains("family")) check_family(entry);
      // What follows looks arguments up: when they are wrong themselves, it would only repeat that.
      if (entry.broken.contains("args")) continue;
      check_dtype(entry);
      check_expressions(entry);
      if (!entry.broken.contains("family") && entry.primitive()) check_primitive(entry);
      check_method(entry);
      if (!entry.broken.contains("family")) check_properties(entry);
      check_vjp(entry);
      if (!entry.broken.contains("family") && !entry.broken.contains("batch")) check_batch(entry);
      validate_samples(entry, diagnostics_);
    }
  }

 private:
  void error(const Position& at, std::string message) { diagnostics_.error(at, std::move(message)); }

  /// Names become functions and parameters in C++ and Python.
  void check_keyword(const std::string& name, const char* what, const Position& at) {
    static const std::set<std::string> kPythonWords = {
        "as",     "assert", "async", "await",  "def",      "del",  "elif",  "except", "finally", "from", "global",
        "import", "in",     "is",    "lambda", "nonlocal", "pass", "raise", "try",    "while",   "with", "yield"};
    if (cpp_identifier(name) != name)
      error(at, fmt::format("{} '{}' has the name of a C++ keyword; try '{}_'", what, name, name));
    if (kPythonWords.contains(name))
      error(at, fmt::format("{} '{}' has the name of a Python keyword; try '{}_'", what, name, name));
  }

  static std::string place(const Position& at) { return fmt::format("{}:{}", at.file, at.line); }

  /// Every public name means one thing in its namespace; composites and primitives each share one C++ namespace.
  void check_names() {
    std::map<std::pair<std::string, std::string>, Position> names;
    std::map<std::string, Position> primitives, composites, methods;
    const auto claim = [&](auto& map, const auto& key, const std::string& what, const std::string& name,
                           const Position& at) {
      const auto [found, fresh] = map.emplace(key, at);
      if (!fresh) error(at, fmt::format("duplicate {} '{}': it is already at {}", what, name, place(found->second)));
      return fresh;
    };
    for (const Entry& entry : catalogue_.entries) {
      const bool fresh = claim(names, std::pair(entry.space, entry.name), "op", entry.name, entry.at);
      if (fresh && entry.primitive()) claim(primitives, entry.name, "primitive", entry.name, entry.at);
      if (fresh && !entry.primitive()) {
        // Bodies share a C++ namespace, where ops of several namespaces may overload one name.
        std::string signature = entry.name;
        for (const Arg& arg : entry.args) signature += " " + param_type(arg);
        claim(composites, signature, "composite", entry.name, entry.at);
      }
      for (const std::string& method : entry.methods()) claim(methods, method, "method", method, entry.at);
    }
    for (const Entry& entry : catalogue_.entries) {
      std::vector<std::string> spaces = {entry.space};
      for (const std::string& also : entry.also) {
        spaces.push_back(also == "lento" ? "" : also);
        if (spaces.back() == entry.space)
          error(entry.at, fmt::format("'also' of op '{}' names its own namespace '{}'", entry.name, also));
        if (spaces.back() != entry.space)
          claim(names, std::pair(spaces.back(), entry.name), "op", entry.name, entry.at);
      }
      for (const Text& alias : entry.aliases) {
        for (const std::string& space : spaces) {
          if (!claim(names, std::pair(space, alias.value), "alias", alias.value, alias.at)) break;
        }
      }
    }
  }

  void check_args(const Entry& entry) {
    std::set<std::string> seen;
    bool defaulted = false;
    for (const Arg& arg : entry.args) {
      if (!seen.insert(arg.name).second)
        error(arg.at, fmt::format("duplicate argument '{}' of op '{}'", arg.name, entry.name));
      check_keyword(arg.name, "argument", arg.at);
      if (kReservedArguments.contains(arg.name) ||
          (entry.primitive() ? kReservedInPrimitives.contains(arg.name) : arg.name == "common") ||
          (entry.elementwise() && kReservedInLoops.contains(arg.name))) {
        error(arg.at,
              fmt::format("argument '{}' of op '{}': the name is reserved; try '{}_'", arg.name, entry.name, arg.name));
      }
      if (defaulted && !arg.value) {
        error(arg.at,
              fmt::format("argument '{}' of op '{}' has no default but follows one that has", arg.name, entry.name));
      }
      defaulted = defaulted || arg.value.has_value();
      if (entry.find_arg(arg.name) == &arg && arg.type.kind == ArgKind::generator && !arg.type.optional) {
        error(arg.at, fmt::format("argument '{}' of op '{}': a Generator is always optional ('Generator?')", arg.name,
                                  entry.name));
      }
    }
    if (entry.args.size() > 16)
      error(entry.at, fmt::format("op '{}' has {} arguments; at most 16", entry.name, entry.args.size()));
  }

  void check_dtype(const Entry& entry) {
    if (!entry.has_dtype) {
      if (entry.elementwise() && !entry.broken.contains("dtype")) {
        error(entry.at, fmt::format("elementwise op '{}' has no 'dtype' rule", entry.name));
      }
      return;
    }
    for (const std::string& name : entry.dtype.args) {
      const Arg* arg = entry.find_arg(name);
      if (arg == nullptr) {
        error(entry.dtype.at, fmt::format("dtype rule names '{}', which is no argument of op '{}'{}", name, entry.name,
                                          suggestion(name, argument_names(entry))));
      } else if (!arg->type.is_operand() && arg->type.kind != ArgKind::dtype) {
        error(entry.dtype.at,
              fmt::format("dtype rule names '{}', which has no dtype: its type is '{}'", name, arg->type_text));
      }
    }
  }

  /// What the family demands and forbids.
  void check_family(const Entry& entry) {
    if (entry.elementwise()) {
      if (entry.compute.empty() && !entry.broken.contains("compute"))
        error(entry.at, fmt::format("elementwise op '{}' has no 'compute' expression", entry.name));
    } else if (!entry.compute.empty()) {
      error(entry.compute.front().expression.at,
            fmt::format("op '{}' of family '{}' has a 'compute' expression; only elementwise ops do", entry.name,
                        entry.family));
    }
    if (entry.compose && !entry.compute.empty()) {
      error(entry.compose->at, fmt::format("op '{}' has both 'compose' and 'compute'", entry.name));
    } else if (entry.compose && entry.primitive()) {
      error(entry.compose->at, fmt::format("op '{}' of family '{}' has a 'compose' expression; only composites do",
                                           entry.name, entry.family));
    }
    if (entry.elementwise() && entry.args.empty() && !entry.broken.contains("args")) {
      error(entry.at, fmt::format("elementwise op '{}' has no arguments", entry.name));
    }
    if (entry.elementwise() && entry.has_dtype && !entry.compute.empty() && !entry.broken.contains("compute")) {
      unsigned covered = 0;
      for (const Compute& branch : entry.compute) covered |= dtype_set(branch.dtype_class);
      for (std::size_t d = 0; d < kDtypes.size(); ++d) {
        if ((entry.dtype.dtypes & ~covered) >> d & 1) {
          error(entry.compute.front().expression.at,
                fmt::format("'compute' of op '{}' has no expression for {}, which its dtype rule allows", entry.name,
                            kDtypes[d]));
          break;
        }
      }
    }
  }

  void check_expressions(const Entry& entry) {
    for (const Compute& branch : entry.compute) {
      check_expression(branch.expression, ExpressionKind::compute, entry, catalogue_, diagnostics_);
    }
    if (entry.compose) check_expression(*entry.compose, ExpressionKind::compose, entry, catalogue_, diagnostics_);
  }

  void check_primitive(const Entry& entry) {
    std::size_t lists = 0;
    for (const Arg& arg : entry.args) {
      const ArgType& type = arg.type;
      if (type.is_operand() && type.list) ++lists;
      if (type.is_operand() && type.optional) {
        error(arg.at, fmt::format("argument '{}' of primitive '{}': operands of primitives are not optional", arg.name,
                                  entry.name));
      }
      if (type.kind == ArgKind::string || type.kind == ArgKind::generator) {
        error(arg.at, fmt::format("argument '{}' of primitive '{}': a primitive cannot take '{}'", arg.name, entry.name,
                                  arg.type_text));
      }
      if (!entry.elementwise()) {
        if (type.kind == ArgKind::operand) {
          error(arg.at,
                fmt::format("argument '{}' of primitive '{}': only elementwise ops and composites take an Operand",
                            arg.name, entry.name));
        }
        continue;
      }
      if (type.kind != ArgKind::tensor && type.kind != ArgKind::operand) {
        error(
            arg.at,
            fmt::format("argument '{}' of elementwise op '{}' is a '{}'; elementwise ops take Tensor and Operand only",
                        arg.name, entry.name, arg.type_text));
      }
      if (!entry.has_dtype) continue;
      const bool mentioned = entry.dtype.mentions(arg.name);
      if (!mentioned && (&arg != &entry.args.front() || type.kind == ArgKind::operand)) {
        error(arg.at, fmt::format("argument '{}' of elementwise op '{}' is not in its dtype rule; only a leading "
                                  "Tensor may be left out, as a "
                                  "bool condition",
                                  arg.name, entry.name));
      }
    }
    if (lists > 1)
      error(entry.at, fmt::format("primitive '{}' has {} lists of operands; at most one", entry.name, lists));
    if (entry.returns != Returns::tensor && entry.returns != Returns::named) {
      error(entry.at, fmt::format("primitive '{}' must return one Tensor or a list of named ones", entry.name));
    }
    if (entry.elementwise() && entry.returns != Returns::tensor) {
      error(entry.at, fmt::format("elementwise op '{}' has one result", entry.name));
    }
  }

  void check_method(const Entry& entry) {
    if (entry.method.empty()) return;
    for (const std::string& method : entry.methods()) {
      if (kReservedMethods.contains(method))
        error(entry.at, fmt::format("method '{}' of op '{}': Tensor has its own '{}'", method, entry.name, method));
    }
    const bool self = !entry.args.empty() && !entry.args[0].type.list && !entry.args[0].type.optional &&
                      (entry.args[0].type.kind == ArgKind::tensor || entry.args[0].type.kind == ArgKind::operand);
    if (!self) error(entry.at, fmt::format("op '{}' cannot be a method: its first argument is no Tensor", entry.name));
    if (entry.hidden) error(entry.at, fmt::format("hidden op '{}' cannot be a method", entry.name));
  }

  /// Each family has a block of numbers (src/ir/op_number.h).
  void check_room() {
    std::map<std::string, std::size_t> counts;
    for (const Entry* entry : catalogue_.primitives()) {
      const std::size_t room = entry->elementwise() ? kElementwiseRoom : kFamilyRoom;
      if (++counts[entry->family] == room + 1) {
        error(entry->at, fmt::format("primitive '{}' is one too many: family '{}' has {} numbers", entry->name,
                                     entry->family, room));
      }
    }
  }

  /// vmap repeats what is recorded: primitives. Elementwise ones all have the same rule.
  void check_batch(const Entry& entry) {
    if (entry.batch && (!entry.primitive() || entry.elementwise())) {
      error(entry.batch->at,
            fmt::format("op '{}' of family '{}' has a 'batch' rule; only primitives that are not elementwise do",
                        entry.name, entry.family));
      return;
    }
    const bool draws = entry.family == "random";
    if (entry.batch && draws != (entry.batch->value == "draw")) {
      error(entry.batch->at, fmt::format("op '{}' of family '{}' cannot have the batch rule '{}': 'draw' is that of "
                                         "random primitives, and of no others",
                                         entry.name, entry.family, entry.batch->value));
    }
    const auto is_tensor = [](const Arg& arg) { return arg.type.kind == ArgKind::tensor; };
    if (entry.batch || !entry.primitive() || entry.elementwise()) return;
    if (draws || std::any_of(entry.args.begin(), entry.args.end(), is_tensor)) {
      error(entry.at, fmt::format("primitive '{}' of family '{}' has no 'batch' rule", entry.name, entry.family));
    }
  }

  /// What the compiler and the front end ask of an entry.
  void check_properties(const Entry& entry) {
    if (entry.waits && entry.primitive())
      error(entry.at, fmt::format("primitive '{}' cannot have 'waits': primitives only record", entry.name));
    const bool updates_tensor = entry.primitive() && !entry.elementwise() && !entry.args.empty() &&
                                entry.args[0].type.kind == ArgKind::tensor && !entry.args[0].type.list;
    if (entry.updates && !updates_tensor) {
      error(entry.at, fmt::format("op '{}' cannot have 'updates': only primitives that are not elementwise and "
                                  "begin with a Tensor do",
                                  entry.name));
    }
    for (const Text& extent : entry.extents) {
      const Arg* arg = entry.find_arg(extent.value);
      if (arg == nullptr) {
        error(extent.at, fmt::format("'extents' names '{}', which is no argument of op '{}'{}", extent.value,
                                     entry.name, suggestion(extent.value, argument_names(entry))));
      } else if (!entry.primitive() || arg->type.kind != ArgKind::integer) {
        error(extent.at,
              fmt::format("'extents' names '{}', which is no int or list of ints of a primitive", extent.value));
      }
    }
  }

  void check_vjp(const Entry& entry) {
    for (const auto& [key, expression] : entry.vjp) {
      const std::vector<std::string> names = vjp_arguments(key);
      for (const std::string& name : names) {
        const Arg* arg = entry.find_arg(name);
        if (arg == nullptr) {
          error(key.at, fmt::format("derivative for '{}', which is no argument of op '{}'{}", name, entry.name,
                                    suggestion(name, argument_names(entry))));
        } else if (arg->type.kind != ArgKind::tensor && arg->type.kind != ArgKind::operand) {
          error(key.at, fmt::format("derivative for '{}', which is no tensor: its type is '{}'", name, arg->type_text));
        } else if (names.size() > 1 && arg->type.list) {
          error(key.at, fmt::format("derivative for '{}', a list, together with others", name));
        }
      }
      check_expression(expression, ExpressionKind::vjp, entry, catalogue_, diagnostics_);
    }
  }

  const Catalogue& catalogue_;
  Diagnostics& diagnostics_;
};

}  // namespace

void validate(const Catalogue& catalogue, Diagnostics& diagnostics) { Validator(catalogue, diagnostics).run(); }

}  // namespace lento::opgen
