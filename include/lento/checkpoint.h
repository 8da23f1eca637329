// checkpoint: a function or a module without the memory of its derivative.
#pragma once

#include <lento/autograd.h>
#include <lento/differentiation.h>
#include <lento/located.h>
#include <lento/nn/module.h>
#include <lento/tree.h>

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace lento {

namespace detail {

/// `function(args...)`, computed again on the way back. What has tensors inside, `function` too, goes in as an input.
/// The first call's changes of buffers reach `function` and the arguments, later ones are lost.
template <class F, class... Args>
auto recomputed(F& function, const std::source_location& site, Args&&... args) {
  static_assert(std::copy_constructible<F> && (std::copy_constructible<Value<Args>> && ...),
                "checkpoint: the function and its arguments are copied, as they are called again on the way back");
  using Called = std::tuple<F, Value<Args>...>;
  const Called before(function, args...);
  const auto run = [site](Called& called) {
    return std::apply([&](F& callee, auto&... each) -> decltype(auto) { return call(callee, site, each...); }, called);
  };
  using Result = Value<decltype(run(std::declval<Called&>()))>;
  static_assert(tree::Tree<Result>, "checkpoint: the function must give tensors");
  struct First {
    std::optional<Result> form;
    std::optional<Called> after;
  };
  const auto first = std::make_shared<First>();
  if constexpr (tree::Tree<Called>) {
    const TensorFunction flat = [=, watching = std::weak_ptr(first)](const std::vector<Tensor>& inputs) {
      Called called = tree::unflatten(before, inputs, site);
      Result result = run(called);
      std::vector<Tensor> outputs = tree::leaves(result);
      if (const auto keep = watching.lock()) {
        keep->form.emplace(std::move(result));
        keep->after.emplace(std::move(called));
      }
      return outputs;
    };
    const std::vector<Tensor> outputs = checkpoint(flat, tree::leaves(before), site);
    keep_buffers<F&>(function, std::get<0>(*first->after));
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (keep_buffers<Args>(std::forward<Args>(args), std::get<i + 1>(*first->after)), ...);
    }(std::index_sequence_for<Args...>{});
    return tree::unflatten(*first->form, outputs, site);
  } else {
    return Result(call(function, site, std::forward<Args>(args)...));
  }
}

/// A module that is computed again on the way back; its tensors have the names they have without it.
template <std::derived_from<nn::Module> M>
class Checkpointed final : public nn::Module {
 public:
  explicit Checkpointed(M inner) : module(std::move(inner)) {}

  template <class A>
  auto operator()(A&& a, std::source_location site = std::source_location::current()) {
    return recomputed(module, site, std::forward<A>(a));
  }
  template <class A, class B>
  auto operator()(A&& a, B&& b, std::source_location site = std::source_location::current()) {
    return recomputed(module, site, std::forward<A>(a), std::forward<B>(b));
  }
  template <class A, class B, class C>
  auto operator()(A&& a, B&& b, C&& c, std::source_location site = std::source_location::current()) {
    return recomputed(module, site, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));
  }

  // Of a constant: a copy is called, and what it changes is lost.
  template <class A>
  auto operator()(A&& a, std::source_location site = std::source_location::current()) const {
    M copy = module;
    return recomputed(copy, site, std::forward<A>(a));
  }
  template <class A, class B>
  auto operator()(A&& a, B&& b, std::source_location site = std::source_location::current()) const {
    M copy = module;
    return recomputed(copy, site, std::forward<A>(a), std::forward<B>(b));
  }
  template <class A, class B, class C>
  auto operator()(A&& a, B&& b, C&& c, std::source_location site = std::source_location::current()) const {
    M copy = module;
    return recomputed(copy, site, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));
  }

  void fields(tree::Visitor& visitor) override { module.fields(visitor); }
  void accept(tree::Visitor& visitor) override { module.accept(visitor); }
  std::string class_name() const override { return module.class_name(); }
  std::string to_string() const override { return module.to_string(); }

  M module;
};

}  // namespace detail

/// `function` without the memory of its derivative: what that needs is computed again on the way back, with the same
/// random numbers. It works on copies of its arguments; of what it captures by reference it must change nothing, as
/// that would be changed again.
///
/// Of a module it is a module with the same tensors under the same names, which may stand in its place; buffers are
/// changed once.
template <class F>
auto checkpoint(F function, std::source_location site = std::source_location::current()) {
  if constexpr (std::derived_from<F, nn::Module>) {
    return detail::Checkpointed<F>(std::move(function));
  } else {
    detail::check_function("checkpoint", function, site);
    return detail::Located(
        [function = std::move(function)]<class... Args>(const std::source_location& line, Args&&... args) mutable {
          return detail::recomputed(function, line, std::forward<Args>(args)...);
        },
        site);
  }
}

}  // namespace lento
