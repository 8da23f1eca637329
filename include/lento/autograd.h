// Derivatives of plain code. What a function computes from its arguments is followed while it runs, so control flow,
// in-place updates and reads of values inside of it are all right; the derivative is made of ordinary ops, so it is
// recorded, compiled and cached with everything else, and can be differentiated again.
//
// Functions may be anything that can be called. Arguments may be any trees (lento/tree.h): tensors, vectors and maps of
// them, modules, structs that name their members; a derivative by one has its type. A leaf that is not floating has
// none: an empty handle stands there. Functions work on copies of these arguments; only a module's buffers come back.
#pragma once

#include <lento/differentiation.h>
#include <lento/export.h>
#include <lento/located.h>
#include <lento/nn/module.h>
#include <lento/tensor.h>
#include <lento/tree.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lento {

namespace detail {

/// The leaves of some arguments, of which the floating ones are followed.
class LENTO_API Followed {
 public:
  /// `caller` is a literal.
  explicit Followed(const char* caller, const std::source_location& site) : caller_(caller), site_(site) {}

  /// The leaves of the next argument, with tensors that are followed. With `needed` one must be floating: DTypeError.
  std::vector<Tensor> follow(const std::vector<Tensor>& leaves, std::size_t number, bool needed);
  void end() { differentiation_.end(); }

  /// The gradients of all leaves; empty handles for those that have none.
  std::vector<Tensor> pull_back(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents,
                                const std::source_location& site) const;
  /// The same of one real scalar.
  std::vector<Tensor> gradient(const Tensor& value) const;
  /// How outputs change when all leaves change by `tangents`.
  std::vector<Tensor> push_forward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& tangents) const;
  /// The derivatives of each element of `y` by all leaves: the shape of `y`, then that of the leaf. Empty handles where
  /// `y` is one.
  std::vector<Tensor> jacobian(const Tensor& y) const;

 private:
  std::vector<Tensor> spread(std::vector<Tensor> followed) const;

  const char* caller_;
  std::source_location site_;
  Differentiation differentiation_;
  std::vector<Tensor> leaves_;    // of all arguments, as they were given
  std::vector<Tensor> followed_;  // in place of the floating ones
};

/// Where `number` stands among `numbers`, or how many there are.
template <std::size_t... numbers>
constexpr std::size_t place_of(std::size_t number) {
  constexpr std::array<std::size_t, sizeof...(numbers)> kAll{numbers...};
  std::size_t place = 0;
  while (place < kAll.size() && kAll[place] != number) ++place;
  return place;
}

/// What a function gives the buffers of a copy, the module that was copied gets, unless it is constant.
template <class Given, class Copy>
void keep_buffers(Given&& given, Copy& copy) {
  if constexpr (std::is_lvalue_reference_v<Given> && !std::is_const_v<std::remove_reference_t<Given>> &&
                std::same_as<std::remove_cvref_t<Given>, Copy> && tree::Tree<Copy> && !std::same_as<Copy, Tensor>) {
    tree::detail::GatherBuffers gather;
    tree::visit(gather, copy);
    if (gather.buffers.empty()) return;
    tree::detail::FillBuffers fill(gather.buffers);
    tree::visit(fill, given);
  }
}

/// The arguments of a call, of which those with these numbers are followed.
template <class Numbers, class... Args>
class Arguments;
template <std::size_t... numbers, class... Args>
class Arguments<std::index_sequence<numbers...>, Args...> {
  static_assert(((numbers < sizeof...(Args)) && ...), "there is no argument with this number");
  static_assert(((place_of<numbers...>(numbers) < sizeof...(numbers)) && ...));

 public:
  using Chosen = std::tuple<Value<std::tuple_element_t<numbers, std::tuple<Args...>>>...>;
  static_assert((tree::Tree<Value<std::tuple_element_t<numbers, std::tuple<Args...>>>> && ...),
                "a derivative is by tensors, or by what has tensors inside; make a number one with tensor(number)");

  Arguments(const char* caller, bool needed, const std::source_location& site, Args&&... args)
      : given_(std::forward<Args>(args)...),
        chosen_(std::get<numbers>(given_)...),
        followed_(std::make_shared<Followed>(caller, site)) {
    copies_.emplace(chosen_);
    const auto follow = [&](auto& copy, std::size_t number) {
      const std::vector<Tensor> followed = followed_->follow(tree::leaves(copy), number, needed);
      tree::detail::Fill fill(followed);
      tree::visit(fill, copy);
    };
    (follow(std::get<place_of<numbers...>(numbers)>(*copies_), numbers), ...);
  }

  /// What the function gives for the arguments.
  template <class F>
  auto call(F& function, const std::source_location& site) {
    using Result = Value<decltype(call_all(function, site, std::index_sequence_for<Args...>{}))>;
    Result result = call_all(function, site, std::index_sequence_for<Args...>{});
    followed_->end();
    (keep_buffers<std::tuple_element_t<numbers, std::tuple<Args...>>>(
         std::forward<std::tuple_element_t<numbers, std::tuple<Args...>>>(std::get<numbers>(given_)),
         std::get<place_of<numbers...>(numbers)>(*copies_)),
     ...);
    return result;
  }

  const std::shared_ptr<Followed>& followed() const { return followed_; }
  /// The arguments, with other leaves.
  const Chosen& chosen() const { return chosen_; }
  static Chosen with_leaves(const Chosen& chosen, const std::vector<Tensor>& leaves, const std::source_location& site) {
    return tree::unflatten(chosen, leaves, site);
  }

 private:
  template <class F, std::size_t... all>
  decltype(auto) call_all(F& function, const std::source_location& site, std::index_sequence<all...> /*each*/) {
    return detail::call(function, site, argument<all>()...);
  }
  template <std::size_t number>
  decltype(auto) argument() {
    constexpr std::size_t kPlace = place_of<numbers...>(number);
    if constexpr (kPlace < sizeof...(numbers)) {
      return (std::get<kPlace>(*copies_));
    } else {
      return std::forward<std::tuple_element_t<number, std::tuple<Args...>>>(std::get<number>(given_));
    }
  }

  std::tuple<Args&&...> given_;
  Chosen chosen_;
  std::optional<Chosen> copies_;  // what the function works on
  std::shared_ptr<Followed> followed_;
};

/// Whether it is a pair or tuple of a tensor and anything else.
template <class T>
inline constexpr bool kHasAux = false;
template <class Aux>
inline constexpr bool kHasAux<std::pair<Tensor, Aux>> = true;
template <class First, class... More>
inline constexpr bool kHasAux<std::tuple<Tensor, First, More...>> = true;

/// What is beside the tensor: one thing as it is, several as a tuple.
template <class T>
auto aux_of(T&& value) {
  return [&]<std::size_t... i>(std::index_sequence<0, i...>) {
    if constexpr (sizeof...(i) == 1) {
      return std::get<1>(std::forward<T>(value));
    } else {
      return std::tuple<std::tuple_element_t<i, std::remove_cvref_t<T>>...>(std::get<i>(std::forward<T>(value))...);
    }
  }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<T>>>{});
}

/// One as it is, several as they are in a tuple.
template <class... T>
auto one_or_all(std::tuple<T...>&& all) {
  if constexpr (sizeof...(T) == 1) {
    return std::get<0>(std::move(all));
  } else {
    return std::move(all);
  }
}

/// The numbers, or 0 where none are given.
template <std::size_t... numbers>
using Numbers = std::conditional_t<sizeof...(numbers) == 0, std::index_sequence<0>, std::index_sequence<numbers...>>;

}  // namespace detail

/// What a function gives, and its gradient.
template <class Value, class Grads>
struct ValueAndGrad {
  Value value;
  Grads grads;
};

namespace detail {

/// What value_and_grad gives; errors name `caller`, a literal.
template <std::size_t... argnums, class F>
auto value_and_grad_for(const char* caller, F function, const std::source_location& site) {
  check_function(caller, function, site);
  return Located(
      [caller, function = std::move(function)]<class... Args>(const std::source_location& line,
                                                              Args&&... args) mutable {
        Arguments<Numbers<argnums...>, Args...> arguments(caller, true, line, std::forward<Args>(args)...);
        auto result = arguments.call(function, line);
        using Result = decltype(result);
        static_assert(std::same_as<Result, Tensor> || kHasAux<Result>,
                      "the function must give a Tensor, or a pair or tuple of a Tensor and anything else");
        std::vector<Tensor> gradients;
        if constexpr (kHasAux<Result>) {
          gradients = arguments.followed()->gradient(std::get<0>(result));
        } else {
          gradients = arguments.followed()->gradient(result);
        }
        auto grads = one_or_all(arguments.with_leaves(arguments.chosen(), gradients, line));
        return ValueAndGrad<Result, decltype(grads)>{std::move(result), std::move(grads)};
      },
      site);
}

template <std::size_t... argnums, class F>
auto grad_for(const char* caller, F function, const std::source_location& site) {
  return Located(
      [both = value_and_grad_for<argnums...>(caller, std::move(function), site)]<class... Args>(
          const std::source_location& line, Args&&... args) {
        auto [value, grads] = both.at(line, std::forward<Args>(args)...);
        if constexpr (kHasAux<decltype(value)>) {
          return std::pair(std::move(grads), aux_of(std::move(value)));
        } else {
          return std::move(grads);
        }
      },
      site);
}

}  // namespace detail

/// A function that gives the value of `function`, a real scalar, and its gradient by its first argument:
///
///     auto [loss, grads] = value_and_grad([](Net& net, const Tensor& x) { … })(net, x);
///     auto [loss, grads] = value_and_grad<0, 2>(f)(w, x, b);   // by two arguments: grads is a tuple
///
/// A function may give a pair or a tuple of the scalar and anything else; the value is all of that then.
template <std::size_t... argnums, class F>
auto value_and_grad(F function, std::source_location site = std::source_location::current()) {
  return detail::value_and_grad_for<argnums...>("value_and_grad", std::move(function), site);
}

/// The gradient of a function that gives a real scalar: `grad(f)(x)`, or `grad<0, 1>(f)(x, y)` by two arguments. Nests:
/// `grad(grad(f))(x)`. Where the function gives a pair of the scalar and anything else, this gives the gradient and
/// that; of a longer tuple, the gradient and a tuple of the rest.
template <std::size_t... argnums, class F>
auto grad(F function, std::source_location site = std::source_location::current()) {
  return detail::grad_for<argnums...>("grad", std::move(function), site);
}

/// What a function gives, and what turns cotangents of it into those of its arguments.
template <class Value, class Pull>
struct Vjp {
  Value value;
  Pull pull;
};

namespace detail {

/// An argument that is not given. A default argument, as a line is, cannot follow any number of others.
struct Absent {};

/// `body` of the arguments that are given; the absent ones are the last.
template <class Body, class... Args>
auto with_given(const Body& body, Args&&... args) {
  constexpr std::size_t kGiven = (std::size_t{!std::same_as<Args, Absent>} + ...);
  return [&]<std::size_t... i>(std::index_sequence<i...>, std::tuple<Args&&...> all) {
    return body(std::get<i>(std::move(all))...);
  }(std::make_index_sequence<kGiven>{}, std::tuple<Args&&...>(std::forward<Args>(args)...));
}

template <class F, class... Args>
auto vjp_of(F function, const std::source_location& site, Args&&... args) {
  check_function("vjp", function, site);
  Arguments<std::index_sequence_for<Args...>, Args...> arguments("vjp", false, site, std::forward<Args>(args)...);
  auto value = arguments.call(function, site);
  static_assert(tree::Tree<decltype(value)>, "vjp: the function must give tensors");
  using Result = decltype(value);
  auto pull = [value, chosen = arguments.chosen(), followed = arguments.followed(), site](const Result& cotangents) {
    const std::vector<Tensor> given = tree::leaves_like(value, cotangents, "vjp: the cotangents", site);
    return tree::unflatten(chosen, followed->pull_back(tree::leaves(value), given, site), site);
  };
  return Vjp<Result, decltype(pull)>{std::move(value), std::move(pull)};
}

}  // namespace detail

/// `function(args...)`, and a function from cotangents of it, which have its type, to a tuple of those of all
/// arguments: `auto [y, pull] = vjp(f, x); auto [dx] = pull(dy);`. There may be eight arguments; more go into a struct
/// or a tuple. Errors of `pull` name this line.
template <class F, class A, class B = detail::Absent, class C = detail::Absent, class D = detail::Absent,
          class E = detail::Absent, class G = detail::Absent, class H = detail::Absent, class I = detail::Absent>
auto vjp(F function, A&& a, B&& b = {}, C&& c = {}, D&& d = {}, E&& e = {}, G&& g = {}, H&& h = {}, I&& i = {},
         std::source_location site = std::source_location::current()) {
  const auto body = [&]<class... Args>(Args&&... args) {
    return detail::vjp_of(std::move(function), site, std::forward<Args>(args)...);
  };
  return detail::with_given(body, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                            std::forward<E>(e), std::forward<G>(g), std::forward<H>(h), std::forward<I>(i));
}

/// What a function gives, and how it changes.
template <class Value>
struct Jvp {
  Value value;
  Value tangent;
};

namespace detail {

/// `primals` is a tuple of values or references, `tangents` one of as many values.
template <class F, class Primals, class Tangents, std::size_t... i>
auto jvp_of(F& function, Primals& primals, const Tangents& tangents, const std::source_location& site,
            std::index_sequence<i...> /*all*/) {
  Arguments<std::index_sequence<i...>, decltype(std::get<i>(primals))...> arguments("jvp", false, site,
                                                                                    std::get<i>(primals)...);
  const std::vector<Tensor> given = tree::leaves_like(arguments.chosen(), tangents, "jvp: the tangents", site);
  auto value = arguments.call(function, site);
  using Result = decltype(value);
  static_assert(tree::Tree<Result>, "jvp: the function must give tensors");
  Result tangent = tree::unflatten(value, arguments.followed()->push_forward(tree::leaves(value), given), site);
  return Jvp<Result>{std::move(value), std::move(tangent)};
}

}  // namespace detail

/// `function(primal)`, and how it changes when the primal changes by `tangent`, which has its type: forward mode. For a
/// function of several arguments both are std::tuples.
template <class F, class Primals, class Tangents>
auto jvp(F function, Primals&& primals, const Tangents& tangents,
         std::source_location site = std::source_location::current()) {
  detail::check_function("jvp", function, site);
  using Given = std::remove_cvref_t<Primals>;
  if constexpr (tree::detail::TupleLike<Given>) {
    return detail::jvp_of(function, primals, tangents, site, std::make_index_sequence<std::tuple_size_v<Given>>{});
  } else {
    const std::tuple<detail::Value<Tangents>> changes(tangents);
    if constexpr (std::same_as<detail::Value<Primals>, Given>) {
      std::tuple<std::remove_reference_t<Primals>&> one(primals);  // what the function gives its buffers, it gets
      return detail::jvp_of(function, one, changes, site, std::index_sequence<0>{});
    } else {
      std::tuple<detail::Value<Primals>> one(primals);
      return detail::jvp_of(function, one, changes, site, std::index_sequence<0>{});
    }
  }
}

/// What a function gives, and the linear function from changes of its arguments to the change of that.
template <class Value, class Push>
struct Linearized {
  Value value;
  Push push;
};

namespace detail {

template <class F, class... Args>
auto linearize_of(F function, const std::source_location& site, Args&&... args) {
  check_function("linearize", function, site);
  Arguments<std::index_sequence_for<Args...>, Args...> arguments("linearize", false, site, std::forward<Args>(args)...);
  auto value = arguments.call(function, site);
  using Result = decltype(value);
  static_assert(tree::Tree<Result>, "linearize: the function must give tensors");
  auto push = [value, chosen = arguments.chosen(), followed = arguments.followed(),
               site](const Value<Args>&... tangents) -> Result {
    const std::vector<Tensor> given =
        tree::leaves_like(chosen, std::tuple<Value<Args>...>(tangents...), "linearize: the tangents", site);
    return tree::unflatten(value, followed->push_forward(tree::leaves(value), given), site);
  };
  return Linearized<Result, decltype(push)>{std::move(value), std::move(push)};
}

}  // namespace detail

/// `function(args...)`, and a function from changes of all arguments, which have their types, to the change of it:
/// `auto [y, push] = linearize(f, x); Tensor dy = push(dx);`. Forward mode, with `function` called once for as many
/// directions as wanted. There may be eight arguments, as for vjp. Errors of `push` name this line.
template <class F, class A, class B = detail::Absent, class C = detail::Absent, class D = detail::Absent,
          class E = detail::Absent, class G = detail::Absent, class H = detail::Absent, class I = detail::Absent>
auto linearize(F function, A&& a, B&& b = {}, C&& c = {}, D&& d = {}, E&& e = {}, G&& g = {}, H&& h = {}, I&& i = {},
               std::source_location site = std::source_location::current()) {
  const auto body = [&]<class... Args>(Args&&... args) {
    return detail::linearize_of(std::move(function), site, std::forward<Args>(args)...);
  };
  return detail::with_given(body, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                            std::forward<E>(e), std::forward<G>(g), std::forward<H>(h), std::forward<I>(i));
}

/// `function`, which gives a tensor or a tree of them, with a derivative of its own:
/// `backward(inputs, outputs, cotangents)` gives the cotangents of the inputs, all as vectors: of the leaves of all
/// arguments and of the result, from left to right. An empty handle stands for a cotangent of zeros. Arguments may be
/// trees, and others, such as numbers, beside them.
template <class F, class Backward>
  requires std::constructible_from<BackwardFunction, Backward>
auto custom_gradient(F function, Backward backward, std::source_location site = std::source_location::current()) {
  detail::check_function("custom_gradient", function, site);
  detail::check_function("custom_gradient", backward, site);
  return detail::Located(
      [function = std::move(function), backward = BackwardFunction(std::move(backward))]<class... Args>(
          const std::source_location& line, const Args&... args) mutable {
        using Given =
            std::tuple<std::conditional_t<std::convertible_to<const Args&, Tensor>, Tensor, detail::Value<Args>>...>;
        static_assert(tree::Tree<Given>, "custom_gradient: no argument has tensors inside");
        const auto run = [&](Given& given) -> decltype(auto) {
          const auto called = [&](auto&... each) -> decltype(auto) { return detail::call(function, line, each...); };
          return std::apply(called, given);
        };
        using Result = detail::Value<decltype(run(std::declval<Given&>()))>;
        static_assert(tree::Tree<Result>, "custom_gradient: the function must give tensors");
        const Given given(args...);
        std::optional<Result> form;
        const TensorFunction flat = [&](const std::vector<Tensor>& inputs) {
          Given followed = tree::unflatten(given, inputs, line);
          form = run(followed);
          return tree::leaves(*form);
        };
        const std::vector<Tensor> outputs = custom_gradient(flat, backward, tree::leaves(given), line);
        return tree::unflatten(*form, outputs, line);
      },
      site);
}

}  // namespace lento
