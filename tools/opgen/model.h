// The catalogue as opgen sees it: what the YAML files say, checked and typed. Emitters read this and nothing else, and
// so will the vendor mode, which resolves the ops of a backend file against the same Catalogue.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json.h"

namespace lento::opgen {

/// A place in a catalogue file; lines and columns count from 1.
struct Position {
  std::string file;
  int line = 0;
  int column = 0;
};

/// A piece of YAML text together with where it stands: what expressions and messages need.
struct Text {
  std::string value;
  Position at;
};

enum class ArgKind { tensor, operand, number, integer, floating, boolean, dtype, device, choice, string, generator };

struct ArgType {
  ArgKind kind = ArgKind::tensor;
  bool list = false;
  bool optional = false;
  bool separate = false;             ///< `Tensor...`: a list that Python gives as separate arguments
  bool saturates = false;            ///< `offset`: an int; one beyond 64 bits is as good as the farthest inside
  std::vector<std::string> choices;  ///< of `str{a,b}`
  std::string number_dtype;          ///< of `number(uint64)`: the dtype in which the plan takes it; empty: the result's

  bool is_tensor() const { return kind == ArgKind::tensor; }
  /// True for what a record holds as an operand: tensors and numbers that are arguments of the plan.
  bool is_operand() const { return kind == ArgKind::tensor || kind == ArgKind::operand || kind == ArgKind::number; }
  /// True for what decides structure and is encoded in a record's attributes.
  bool is_attribute() const {
    return !is_operand() && kind != ArgKind::device && kind != ArgKind::generator && kind != ArgKind::string;
  }
};

struct Arg {
  std::string name;
  ArgType type;
  std::string type_text;             ///< as written, for messages and docs
  std::optional<std::string> value;  ///< default, as written
  bool keyword_only = false;         ///< stands after `*`
  Position at;
};

/// How the result's dtype follows from the arguments'.
enum class ResultRule { same, promote, floating, boolean, real, complex, fixed };

struct DtypeRule {
  std::string text;
  ResultRule result = ResultRule::same;
  std::string fixed;                 ///< dtype name when result is `fixed`
  std::vector<std::string> args;     ///< the arguments that decide, in the order written
  std::vector<std::string> classes;  ///< as written after `in`
  unsigned dtypes = 0;               ///< the classes as a set: bit i is the i-th dtype of kDtypes
  Position at;

  bool mentions(std::string_view name) const;
};

/// One branch of `compute`: the expression for a dtype class ("any" when there is one expression for all).
struct Compute {
  std::string dtype_class;
  Text expression;
};

enum class Returns { tensor, named, list, boolean, integer, integers, dtype };

struct Entry {
  std::string name;
  std::string doc;
  std::string example;  ///< of calls in Python, as doctest runs them; empty: none
  std::vector<Arg> args;
  std::string family;
  std::string space;  ///< "" (lento), "linalg", "nn", …; "prim" for hidden primitives
  DtypeRule dtype;
  bool has_dtype = false;
  std::vector<Compute> compute;
  std::optional<Text> compose;
  Returns returns = Returns::tensor;
  std::vector<std::string> results;  ///< names of several results
  std::vector<std::string> also;     ///< further namespaces that export it
  std::string method;                ///< name of the Tensor method; empty: none
  bool method_by_aliases = false;    ///< the aliases are methods too
  std::string operator_text;
  std::vector<Text> aliases;
  std::vector<std::pair<Text, Text>> vjp;  ///< argument or comma-separated arguments → expression
  std::optional<Text> batch;               ///< how a primitive is repeated for a batch: see autograd/batch_rule.h
  bool hidden = false;
  bool waits = false;         ///< a composite that reads values: its shape depends on data
  bool updates = false;       ///< a primitive whose result is its first operand with some elements replaced
  std::vector<Text> extents;  ///< attributes of a primitive that are extents of its operands or results
  Json samples;               ///< null when there are none
  Position samples_at;
  std::vector<Position> sample_at;  ///< of each sample, when they are a list
  std::string numpy;
  std::string torch;
  std::optional<double> tolerance;
  std::string see;
  Position at;
  std::string file;              ///< "ops/math.yaml": what C++ names, so that an entry above changes no code
  std::string origin;            ///< "ops/math.yaml:12": stable wherever the catalogue lies
  std::string group;             ///< the file's stem
  std::set<std::string> broken;  ///< keys whose value was wrong: what depends on them is not checked further

  bool primitive() const { return family != "composite"; }
  bool elementwise() const { return family == "elementwise"; }
  /// All names of the Tensor method.
  std::vector<std::string> methods() const;
  bool has_attributes() const;
  const Arg* find_arg(std::string_view arg) const;
  bool is_extent(const Arg& arg) const;
  /// "lento::linalg::qr"
  std::string qualified() const;
  /// The generated header that declares its function: "lento/ops/linalg/qr.gen.h"
  std::string header() const;
};

/// An expression of a layer; formula.h says what the language has.
struct Formula {
  enum class Kind { number, string, name, call, tuple, spread, parentheses, negated, binary, conditional };

  Kind kind = Kind::number;
  std::string text;            ///< the number, the name, what is called ("nn.linear") or the operator
  std::vector<Formula> parts;  ///< operands, arguments, elements; of a conditional: value, condition, other value
  std::vector<std::string> keywords;  ///< of a call: the name each argument is given by, or ""
  Position at;
};

/// What a layer does with an argument that is a list of ints.
enum class Listing {
  none,     ///< it is none
  tuple,    ///< `int[]`, `int[2]`: an int stands for a list; kept as a list
  sizes,    ///< `sizes`: an int for all axes or one for each, kept as given
  padding,  ///< `padding`: sizes, or "same" or "valid"
};

struct LayerArg : Arg {
  Listing listing = Listing::none;
  std::size_t axes = 0;  ///< of `int[2]`: how many numbers; 0: any
};

struct LayerParameter {
  std::string name;
  Position at;
  Formula start;                     ///< the call that makes it: `fan_in((rows, columns), columns)`
  std::optional<Formula> condition;  ///< it is there if this holds
};

/// Parameters and a call of one op.
struct Layer {
  /// A part of what repr shows.
  struct Shown {
    enum class Form { value, named, changed } form;  ///< `3`; `eps=1e-05`; the same, only if it is not the default
    std::string name;
    Position at;
  };

  std::string name;  ///< in CamelCase
  std::string doc;
  std::string example;
  std::vector<LayerArg> args;
  std::vector<Formula> checks;
  std::vector<LayerParameter> parameters;
  std::vector<Arg> inputs;  ///< of the call: [x: Tensor] unless given
  std::optional<Formula> forward;
  std::vector<Shown> shown;
  Position at;
  std::string file;
  std::string origin;
  std::set<std::string> broken;

  const LayerArg* find_arg(std::string_view arg) const;
  const LayerParameter* find_parameter(std::string_view parameter) const;
  const Arg* find_input(std::string_view input) const;
  /// True for arguments that the layer has as attributes: all but the dtype and those that a parameter is named after.
  bool keeps(const LayerArg& arg) const;
  /// The call of an op inside of `forward`.
  const Formula& call() const { return forward->kind == Formula::Kind::conditional ? forward->parts[0] : *forward; }
  /// The generated header that declares it: "lento/nn/group_norm.gen.h"
  std::string header() const;
};

struct Catalogue {
  std::vector<Entry> entries;           ///< in file order, files sorted by name
  std::vector<Layer> layers;            ///< in the same order
  std::vector<std::string> files;       ///< everything that was read, for the depfile
  std::vector<std::string> math_names;  ///< functions of the scalar math header
  std::vector<const Entry*> primitives() const;
  std::vector<const Entry*> composites() const;
  /// The public op (or alias) of this name, else the hidden one, else null.
  const Entry* find(std::string_view name) const;
  /// The op or alias of this name in one namespace, or null.
  const Entry* find_in(std::string_view space, std::string_view name) const;
  /// The op that a layer calls: "nn.linear", "tanh"; or null.
  const Entry* find_called(std::string_view dotted) const;
  void index();

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> by_space_;
};

/// Names in the order of lento::DType.
extern const std::vector<std::string> kDtypes;
/// Dtype classes and the sets they stand for.
extern const std::vector<std::pair<std::string, unsigned>> kDtypeClasses;
extern const std::vector<std::string> kPrimitiveFamilies;
extern const std::vector<std::string> kFamilies;  ///< and composites
extern const std::vector<std::string> kBatchRules;
extern const std::vector<std::string> kNamespaces;

/// The arguments that an entry of `vjp` gives cotangents of, separated by commas in its key.
std::vector<std::string> vjp_arguments(const Text& key);

/// The set a class or dtype name stands for; 0 when it is neither.
unsigned dtype_set(std::string_view name);

}  // namespace lento::opgen
