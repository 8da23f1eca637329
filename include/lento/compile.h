// compile: a function whose calls are recorded twice, and then run without it (clauses F1 to F5).
#pragma once

#include <lento/export.h>
#include <lento/located.h>
#include <lento/nn/module.h>
#include <lento/scalar.h>
#include <lento/tensor.h>
#include <lento/tree.h>

#include <any>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

namespace lento {

/// What `function()` gives; in a function of compile() it is asked for anew at each call. Use it as the operand of an
/// op, as it is: what arithmetic makes of it is the same at each call, and such a function is not frozen.
LENTO_API Scalar host_number(const std::function<Scalar()>& function);

namespace detail {

/// The tensors of some arguments, buffers of modules included, and the form they stand in.
class LENTO_API CallHandles final : public tree::Visitor {
 public:
  void tensor(Tensor& x) override { handles.push_back(&x); }
  void buffer(Tensor& x) override { handles.push_back(&x); }
  void enter(std::string_view name) override;
  void leave() override { form += ')'; }
  bool module(nn::Module& m) override;

  std::vector<Tensor*> handles;
  std::string form;  // names, and which modules are in training
};

/// What is known of the calls of one compiled function. Any thread may call it.
class LENTO_API CompiledCalls {
 public:
  CompiledCalls(std::size_t verify, const std::source_location& made);
  ~CompiledCalls();
  CompiledCalls(const CompiledCalls&) = delete;
  CompiledCalls& operator=(const CompiledCalls&) = delete;

  /// One call, from the look at its arguments to its end.
  class LENTO_API Call {
   public:
    /// The tensors of the arguments, and what CallHandles calls their form. `type` tells apart the types of arguments;
    /// `values()` is what is no tensor among them, and `same(values)` whether that is as it was.
    Call(CompiledCalls& calls, std::vector<Tensor*> handles, std::string form, std::type_index type,
         const std::function<bool(const std::any& values)>& same, const std::function<std::any()>& values,
         const std::source_location& site);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    /// True when it was run: then `results` has the tensors of the result, and form() what they stand in.
    bool run(std::vector<Tensor>& results);
    const std::any& form() const;
    /// From here on the function is being recorded, if that can help.
    void record();
    /// The function has returned: these are the tensors of its result. `form` is the result without tensors.
    void finish(const std::vector<Tensor>& results, const std::function<std::any()>& form);

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  struct Table;
  std::shared_ptr<Table> table_;
};

/// A value that is no tree, as a part of a signature.
template <class T>
auto signature_of(const T& value) {
  if constexpr (tree::Tree<T>) {
    return std::tuple<>();
  } else {
    static_assert(std::equality_comparable<T> && std::copy_constructible<T>,
                  "compile: an argument is a tree of tensors, or a value that can be compared and copied");
    return std::tuple<T>(value);
  }
}

template <class T>
void visit_argument(CallHandles& handles, T& argument) {
  static_assert(!std::same_as<std::remove_cv_t<T>, Subscript>, "compile: give a part of a tensor as Tensor(x[...])");
  if constexpr (tree::Tree<T>) tree::visit(handles, argument);
}

template <class F, class... Args>
auto compiled_call(F& function, CompiledCalls& calls, const std::source_location& site, Args&... args) {
  using Result = Value<decltype(call(function, site, args...))>;
  constexpr bool kGives = !std::is_void_v<Result>;
  static_assert(!kGives || tree::Tree<Result>, "compile: the function gives tensors, or nothing");
  CallHandles handles;
  (visit_argument(handles, args), ...);
  using Values = decltype(std::tuple_cat(signature_of(args)...));
  const auto same = [&](const std::any& known) {
    const auto* values = std::any_cast<Values>(&known);
    return values != nullptr && *values == std::tuple_cat(signature_of(args)...);
  };
  const auto values = [&] { return std::any(std::tuple_cat(signature_of(args)...)); };
  CompiledCalls::Call one(calls, std::move(handles.handles), std::move(handles.form),
                          typeid(std::tuple<std::remove_cvref_t<Args>...>*), same, values, site);
  std::vector<Tensor> results;
  if (one.run(results)) {
    if constexpr (kGives) return tree::unflatten(*std::any_cast<Result>(&one.form()), results, site);
  } else {
    one.record();
    if constexpr (kGives) {
      Result result = call(function, site, args...);
      const auto form = [&] {
        return std::any(tree::unflatten(result, std::vector<Tensor>(tree::leaves(result).size()), site));
      };
      one.finish(tree::leaves(result), form);
      return result;
    } else {
      call(function, site, args...);
      one.finish({}, [] { return std::any(); });
    }
  }
}

}  // namespace detail

/// `function` without its own cost: after two calls that record the same, later ones run without calling it.
///
///     auto step = compile([](Params& params, const Tensor& x) { … return loss; });
///     Tensor loss = step(params, x);
///
/// Arguments are trees of tensors, modules among them, or values that can be compared and copied, which are part of
/// what a call is known by; they are given to `function` as lvalues. The tensors in them are its inputs, and nothing
/// else is: a function that computes with a tensor that it has captured is not frozen. Tensors of arguments that it
/// changes have their new values after each call; generators advance. It gives a tree of tensors or nothing; what else
/// is in the result is that of the recorded call. What cannot be frozen is told once, as a warning, and is recorded at
/// each call. With `verify` each so many calls one is recorded too, and throws ValueError where it differs.
template <class F>
auto compile(F function, std::size_t verify = 0, std::source_location site = std::source_location::current()) {
  detail::check_function("compile", function, site);
  return detail::Located(
      [function = std::move(function), calls = std::make_shared<detail::CompiledCalls>(verify, site)]<class... Args>(
          const std::source_location& line, Args&&... args) mutable {
        return detail::compiled_call(function, *calls, line, args...);
      },
      site);
}

}  // namespace lento
