// Module: a model as a value whose tensors are found by their names.
//
//     struct Net : nn::Module {
//       nn::Linear first{4, 8}, second{8, 2};
//       Tensor operator()(const Tensor& x) const { return second(nn::relu(first(x))); }
//       LENTO_FIELDS(first, second)
//     };
//
// Copying a module copies handles, so a copy is cheap and keeps its values when the original is trained on. The
// gradient by a module is a module of the same type.
#pragma once

#include <lento/dtype.h>
#include <lento/export.h>
#include <lento/tensor.h>
#include <lento/tensor_dict.h>
#include <lento/tree.h>

#include <functional>
#include <iosfwd>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace lento::nn {

/// A tensor that belongs to a module's state but is not trained. What is assigned to it is a constant for derivatives.
class LENTO_API Buffer : public Tensor {
 public:
  Buffer() = default;
  Buffer(Tensor value) : Tensor(std::move(value)) {}
  Buffer& operator=(const Tensor& value) &;
};

/// What load_state_dict found no value or no tensor for.
struct LoadedState {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
};

/// What has parameters and computes something in its operator(). Floating tensors among its fields are parameters,
/// other tensors and Buffers are buffers. Modules among the fields count too, also in vectors, maps and other trees.
class LENTO_API Module {
 public:
  /// What dropout and batch norm go by.
  bool training = true;

  virtual ~Module() = default;
  /// Shows the members that are trees to the visitor. LENTO_FIELDS writes it.
  virtual void fields(tree::Visitor& visitor) = 0;

  // --- what is in it ---

  /// The parameters by their dotted names: "first.weight".
  TensorDict parameters(std::source_location site = std::source_location::current()) const;
  /// The buffers by their dotted names.
  TensorDict buffers(std::source_location site = std::source_location::current()) const;
  /// This module and those inside, outer ones first. The pointers are good while the module stays where it is.
  std::vector<Module*> modules();
  /// The same with their dotted names: "" for this one.
  std::vector<std::pair<std::string, Module*>> named_modules();
  /// The modules directly inside, also those in vectors, maps and other trees.
  std::vector<Module*> children();
  std::vector<std::pair<std::string, Module*>> named_children();
  /// Calls `f` for all modules inside and then for this one: to give weights other initial values, for example.
  Module& apply(const std::function<void(Module&)>& f, std::source_location site = std::source_location::current());

  /// Sets `training` here and in all modules inside.
  Module& train(bool mode = true);
  /// train(false): dropout does nothing, batch norm uses its running statistics.
  Module& eval() { return train(false); }
  /// Gives all floating parameters and buffers this dtype; complex ones only a complex one. Throws DTypeError unless it
  /// is floating or complex.
  Module& to(DType dtype, std::source_location site = std::source_location::current());

  // --- state ---

  /// Parameters and buffers by the names that Python and PyTorch give them.
  TensorDict state_dict(std::source_location site = std::source_location::current()) const;
  /// Gives parameters and buffers the values of `state`, converted to their dtypes. Gives the names that are missing
  /// and those that are not known; with `strict` either is a ValueError, and a value of another shape always is. The
  /// error names all of them, and nothing is changed.
  LoadedState load_state_dict(const TensorDict& state, bool strict = true,
                              std::source_location site = std::source_location::current());

  // --- looks ---

  /// The name of the class, without its namespace.
  virtual std::string class_name() const;
  /// What is shown in parentheses behind it.
  virtual std::string extra_repr() const { return {}; }
  /// As Python's repr: the modules inside, a line each.
  virtual std::string to_string() const;

  /// For the walk over trees: the fields, as those of a module.
  virtual void accept(tree::Visitor& visitor);

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;
};

LENTO_API std::ostream& operator<<(std::ostream& out, const Module& module);

namespace detail {

/// Copies the values of `state` into the tensors of the same names; all is checked before anything is changed.
LENTO_API LoadedState load_into(const std::vector<std::pair<std::string, Tensor*>>& here, const TensorDict& state,
                                bool strict);

}  // namespace detail

}  // namespace lento::nn
