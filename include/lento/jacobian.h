// jacobian and hessian: the derivatives of every element, by one pass back for all of them.
#pragma once

#include <lento/autograd.h>
#include <lento/located.h>
#include <lento/tensor.h>
#include <lento/tensor_dict.h>
#include <lento/tree.h>

#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lento {

/// The derivatives of each element of what a function gives, a tensor, by each element of an argument: for shapes
/// (2, 3) and (4,) a tensor of shape (2, 3, 4). Arguments are chosen as for grad. Where the function gives a pair of
/// the tensor and anything else, this gives the derivatives and that; of a longer tuple, the derivatives and a tuple of
/// the rest.
template <std::size_t... argnums, class F>
auto jacobian(F function, std::source_location site = std::source_location::current()) {
  detail::check_function("jacobian", function, site);
  return detail::Located(
      [function = std::move(function)]<class... Args>(const std::source_location& line, Args&&... args) mutable {
        detail::Arguments<detail::Numbers<argnums...>, Args...> arguments("jacobian", true, line,
                                                                          std::forward<Args>(args)...);
        auto result = arguments.call(function, line);
        using Result = decltype(result);
        static_assert(std::same_as<Result, Tensor> || detail::kHasAux<Result>,
                      "jacobian: the function must give a Tensor, or a pair or tuple of a Tensor and anything else");
        const auto rows = [&](const Tensor& y) {
          return detail::one_or_all(arguments.with_leaves(arguments.chosen(), arguments.followed()->jacobian(y), line));
        };
        if constexpr (detail::kHasAux<Result>) {
          return std::pair(rows(std::get<0>(result)), detail::aux_of(std::move(result)));
        } else {
          return rows(result);
        }
      },
      site);
}

namespace detail {

/// A tree like `tree` with `block(leaf)` for each leaf. A struct or a module holds tensors and nothing else: a map by
/// the names of its leaves stands for it.
template <class T, class Block>
auto with_blocks(const T& tree, const Block& block) {
  if constexpr (std::derived_from<T, Tensor>) {
    return block(tree);
  } else if constexpr (tree::detail::Accepts<T> || tree::detail::HasFields<T> || std::same_as<T, TensorDict>) {
    std::map<std::string, decltype(block(std::declval<const Tensor&>()))> all;
    for (const auto& [name, leaf] : tree::named_leaves(tree)) all.emplace(name, block(leaf));
    return all;
  } else if constexpr (!tree::Tree<T>) {
    return tree;
  } else if constexpr (tree::detail::IsOptional<T>::value) {
    std::optional<decltype(with_blocks(*tree, block))> one;
    if (tree) one = with_blocks(*tree, block);
    return one;
  } else if constexpr (tree::detail::Map<T>) {
    std::map<typename T::key_type, decltype(with_blocks(tree.begin()->second, block))> all;
    for (const auto& [key, child] : tree) all.emplace(key, with_blocks(child, block));
    return all;
  } else if constexpr (tree::detail::Range<T>) {
    std::vector<decltype(with_blocks(*tree.begin(), block))> all;
    for (const auto& child : tree) all.push_back(with_blocks(child, block));
    return all;
  } else {
    return std::apply([&](const auto&... child) { return std::make_tuple(with_blocks(child, block)...); }, tree);
  }
}

}  // namespace detail

/// The second derivatives of a function that gives a real scalar: for an argument of shape (4,) a tensor of shape
/// (4, 4). Of a tree it is a tree of trees, and by several arguments a tuple of tuples; the first derivative is by the
/// outer entry:
///
///     auto blocks = hessian(f)(std::vector{a, b});        // blocks[0][1]: by a, then by b
///     auto [by_a, by_b] = hessian<0, 1>(g)(a, b);         // std::get<1>(by_a): the same
///     auto by_name = hessian(h)(line);                    // by_name.at("w").b: a struct or module is outside a map
template <std::size_t... argnums, class F>
auto hessian(F function, std::source_location site = std::source_location::current()) {
  detail::check_function("hessian", function, site);
  return detail::Located(
      [function = std::move(function)]<class... Args>(const std::source_location& line, Args&&... args) mutable {
        detail::Arguments<detail::Numbers<argnums...>, Args...> arguments("hessian", true, line,
                                                                          std::forward<Args>(args)...);
        auto gradient = detail::grad_for<argnums...>(
            "hessian",
            [&]<class... Inner>(Inner&&... inner) -> Tensor {
              using Result = detail::Value<decltype(detail::call(function, line, std::forward<Inner>(inner)...))>;
              static_assert(std::same_as<Result, Tensor>,
                            "hessian: the function must give a Tensor; leave out what it gives beside it");
              return detail::call(function, line, std::forward<Inner>(inner)...);
            },
            line);
        return detail::with_blocks(arguments.call(gradient, line), [&](const Tensor& slope) {
          return detail::one_or_all(
              arguments.with_leaves(arguments.chosen(), arguments.followed()->jacobian(slope), line));
        });
      },
      site);
}

}  // namespace lento
