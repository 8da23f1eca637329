// vmap: a function of one example, applied to many at once. The function runs once, on tensors that stand for all
// examples, so it cannot read their values.
#pragma once

#include <lento/autograd.h>
#include <lento/batching.h>
#include <lento/export.h>
#include <lento/located.h>
#include <lento/tensor.h>
#include <lento/tree.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lento {

/// Along which axis examples lie: one axis for everything, or a list with one for each argument or result. nullopt is
/// for what all examples share.
class LENTO_API MappedAxes {
 public:
  using Axis = std::optional<std::int64_t>;

  template <std::integral T>
  MappedAxes(T axis) : all_(static_cast<std::int64_t>(axis)) {}
  MappedAxes(std::nullopt_t /*shared*/) {}
  MappedAxes(std::initializer_list<Axis> each);
  MappedAxes(std::vector<Axis> each) : is_list_(true), each_(std::move(each)) {}

  bool is_list() const { return is_list_; }
  std::size_t size() const { return each_.size(); }
  Axis at(std::size_t i) const { return is_list_ ? each_[i] : all_; }

 private:
  bool is_list_ = false;
  Axis all_;
  std::vector<Axis> each_;
};

namespace detail {

/// The leaves of some arguments, of which those with an axis have become single examples.
class LENTO_API Mapped {
 public:
  using Axis = MappedAxes::Axis;

  Mapped(const std::vector<Tensor>& leaves, const std::vector<Axis>& axes, Randomness randomness,
         const std::source_location& site);

  const std::vector<Tensor>& examples() const { return examples_; }
  /// The function has run. Throws ValueError when leaves without an axis, or buffers, differ between the examples now,
  /// and when there are more or fewer leaves.
  void end(const std::vector<Tensor>& leaves, const std::vector<Axis>& axes, const TensorDict& buffers);
  /// The results of all examples.
  std::vector<Tensor> leave(const std::vector<Tensor>& results, const std::vector<Axis>& axes);

 private:
  std::source_location site_;
  std::optional<Batching> batching_;
  std::vector<Tensor> examples_;
};

LENTO_API void refuse_axes(const char* what, std::size_t axes, std::size_t entries, const std::source_location& site);

/// One axis for each leaf of a tuple: that of the list for the entry that it is in.
template <class... T>
std::vector<MappedAxes::Axis> axes_of_leaves(const char* what, const MappedAxes& axes, const std::tuple<T...>& entries,
                                             const std::source_location& site) {
  if (axes.is_list() && axes.size() != sizeof...(T)) refuse_axes(what, axes.size(), sizeof...(T), site);
  std::vector<MappedAxes::Axis> all;
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    const auto add = [&](const auto& entry, std::size_t number) {
      if constexpr (tree::Tree<decltype(entry)>) all.resize(all.size() + tree::leaves(entry).size(), axes.at(number));
    };
    (add(std::get<i>(entries), i), ...);
  }(std::index_sequence_for<T...>{});
  return all;
}

/// The same for a result; a list is for the entries of a tuple, pair, array or vector.
template <class T>
std::vector<MappedAxes::Axis> axes_of_results(const MappedAxes& axes, const T& result,
                                              const std::source_location& site) {
  if (!axes.is_list()) return std::vector(tree::leaves(result).size(), axes.at(0));
  if constexpr (tree::detail::TupleLike<T>) {
    return std::apply([&](const auto&... entry) { return axes_of_leaves("out_axes", axes, std::tie(entry...), site); },
                      result);
  } else if constexpr (tree::detail::Range<T> && !std::derived_from<T, Tensor>) {
    if (axes.size() != result.size()) refuse_axes("out_axes", axes.size(), result.size(), site);
    std::vector<MappedAxes::Axis> all;
    std::size_t number = 0;
    for (const auto& entry : result) {
      all.resize(all.size() + tree::leaves(entry).size(), axes.at(number++));
    }
    return all;
  } else {
    if (axes.size() != 1) refuse_axes("out_axes", axes.size(), 1, site);
    return std::vector(tree::leaves(result).size(), axes.at(0));
  }
}

template <class F, class... Args>
auto vmap_of(F& function, const MappedAxes& in_axes, const MappedAxes& out_axes, Randomness randomness,
             const std::source_location& site, Args&&... args) {
  const std::tuple<Value<Args>...> copies(args...);
  static_assert(tree::Tree<decltype(copies)>, "vmap: no argument has tensors inside");
  const std::vector<MappedAxes::Axis> axes = axes_of_leaves("in_axes", in_axes, copies, site);
  Mapped mapped(tree::leaves(copies), axes, randomness, site);
  auto examples = tree::unflatten(copies, mapped.examples(), site);
  using Result = Value<decltype(std::apply(
      [&](auto&... each) -> decltype(auto) { return call(function, site, each...); }, examples))>;
  static_assert(tree::Tree<Result>, "vmap: the function must give tensors");
  const Result result = std::apply([&](auto&... each) -> Result { return call(function, site, each...); }, examples);
  tree::detail::GatherBuffers after;
  tree::visit(after, examples);
  mapped.end(tree::leaves(examples), axes, after.buffers);
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (keep_buffers<Args>(std::forward<Args>(args), std::get<i>(examples)), ...);
  }(std::index_sequence_for<Args...>{});
  return tree::unflatten(result, mapped.leave(tree::leaves(result), axes_of_results(out_axes, result, site)), site);
}

}  // namespace detail

/// `function`, which works on one example, for all examples along an axis of its arguments at once:
///
///     vmap(f)(xs)                            // along the first axis
///     vmap(f, {0, std::nullopt})(xs, w)      // w is the same for all
///
/// An axis of a tree of tensors is that of all its leaves. The results get the axis `out_axes`; nullopt is for results
/// that do not depend on the examples.
template <class F>
auto vmap(F function, MappedAxes in_axes = 0, MappedAxes out_axes = 0, Randomness randomness = Randomness::error,
          std::source_location site = std::source_location::current()) {
  detail::check_function("vmap", function, site);
  return detail::Located(
      [function = std::move(function), in_axes = std::move(in_axes), out_axes = std::move(out_axes),
       randomness]<class... Args>(const std::source_location& line, Args&&... args) mutable {
        return detail::vmap_of(function, in_axes, out_axes, randomness, line, std::forward<Args>(args)...);
      },
      site);
}

}  // namespace lento
