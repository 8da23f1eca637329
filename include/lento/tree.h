// Trees: values with tensors inside. A tensor is one; so are an optional, vector, array, map, pair or tuple of trees, a
// module, and a struct that names its members:
//
//     struct Params {
//       Tensor w, b;
//       LENTO_FIELDS(w, b)
//     };
//
// Whatever else is inside, such as numbers, belongs to the tree and is copied with it, but is no leaf.
#pragma once

#include <lento/export.h>
#include <lento/tensor.h>
#include <lento/tensor_dict.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace lento {

namespace nn {
class Module;
class Buffer;
}  // namespace nn

namespace tree {

/// What walks over a tree.
class LENTO_API Visitor {
 public:
  virtual ~Visitor() = default;
  /// A leaf.
  virtual void tensor(Tensor& x) = 0;
  /// A tensor of a module that is not trained: a Buffer, or one that is not floating. No leaf.
  virtual void buffer(Tensor& /*x*/) {}
  /// Around each child that has a name: that of a member, a key, or a position.
  virtual void enter(std::string_view /*name*/) {}
  virtual void leave() {}
  /// Before what is in a module; false goes round it.
  virtual bool module(nn::Module& /*m*/) { return true; }

  /// A child.
  template <class T>
  Visitor& operator()(std::string_view name, T& child);

  /// A tensor that is found: a leaf or, in a module, perhaps a buffer. An empty handle in a module is not there.
  void found(Tensor& x);

 private:
  friend class nn::Module;
  int modules_ = 0;  // how many modules the walk is inside of
};

namespace detail {

template <class T>
concept HasFields = requires(T& node, Visitor& visitor) { node.fields(visitor); };
/// A module, which says so itself.
template <class T>
concept Accepts = requires(T& node, Visitor& visitor) { node.accept(visitor); };
/// What owns its elements: a view of somebody else's tensors is no value, and a range of itself, as a path is, no tree.
template <class T>
concept Range = requires(T& node) {
  node.begin();
  node.end();
  requires !std::same_as<std::remove_cvref_t<decltype(*node.begin())>, T>;
} && !std::convertible_to<T, std::string_view> && !std::ranges::enable_view<T>;
template <class T>
concept Map = Range<T> && requires { typename T::mapped_type; };
template <class T>
concept TupleLike = !Range<T> && requires { std::tuple_size<T>::value; };

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct Pointee {
  using type = void;
};
template <class T>
struct Pointee<T*> {
  using type = T;
};
template <class T>
struct Pointee<std::shared_ptr<T>> {
  using type = T;
};
template <class T, class D>
struct Pointee<std::unique_ptr<T, D>> {
  using type = T;
};

template <class T>
constexpr bool is_tree();

template <class T, std::size_t... i>
constexpr bool any_is_tree(std::index_sequence<i...> /*all*/) {
  // A reference to a tensor is not part of the value.
  return (
      (!std::is_reference_v<std::tuple_element_t<i, T>> && is_tree<std::remove_cv_t<std::tuple_element_t<i, T>>>()) ||
      ...);
}

template <class T>
constexpr bool is_tree() {
  if constexpr (std::derived_from<T, Tensor> || std::same_as<T, TensorDict> || Accepts<T> || HasFields<T>) {
    return true;
  } else if constexpr (IsOptional<T>::value) {
    return is_tree<typename T::value_type>();
  } else if constexpr (Map<T>) {
    return is_tree<typename T::mapped_type>();
  } else if constexpr (Range<T>) {
    return is_tree<std::remove_cvref_t<decltype(*std::declval<T&>().begin())>>();
  } else if constexpr (TupleLike<T>) {
    return any_is_tree<T>(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else {
    return false;
  }
}

}  // namespace detail

/// What may have tensors inside.
template <class T>
concept Tree = detail::is_tree<std::remove_cvref_t<T>>();

/// Shows everything in a tree to the visitor, from left to right.
template <class T>
void visit(Visitor& visitor, T& node) {
  if constexpr (std::is_const_v<T>) {
    // A visitor of a constant tree only reads.
    visit(visitor, const_cast<std::remove_const_t<T>&>(node));
  } else if constexpr (detail::Accepts<T>) {
    node.accept(visitor);
  } else if constexpr (std::same_as<T, nn::Buffer>) {
    visitor.buffer(node);
  } else if constexpr (std::same_as<T, Tensor>) {
    visitor.found(node);
  } else if constexpr (detail::HasFields<T>) {
    node.fields(visitor);
  } else if constexpr (std::same_as<T, TensorDict>) {
    for (const auto& [name, tensor] : node) visitor(name, *node.find(name));
  } else if constexpr (detail::IsOptional<T>::value) {
    if (node) visit(visitor, *node);
  } else if constexpr (!detail::is_tree<T>()) {
    return;
  } else if constexpr (detail::Map<T>) {
    for (auto& [key, child] : node) {
      using Key = std::remove_cvref_t<decltype(key)>;
      static_assert(std::integral<Key> || std::convertible_to<const Key&, std::string_view>,
                    "the keys of a map with tensors are texts or integers");
      if constexpr (std::same_as<Key, char>) {
        visitor(std::string_view(&key, 1), child);
      } else if constexpr (std::integral<Key>) {
        visitor(std::to_string(key), child);
      } else {
        visitor(key, child);
      }
    }
  } else if constexpr (detail::Range<T>) {
    std::size_t i = 0;
    for (auto& child : node) visitor(std::to_string(i++), child);
  } else {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (visitor(std::to_string(i), std::get<i>(node)), ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  }
}

template <class T>
Visitor& Visitor::operator()(std::string_view name, T& child) {
  enter(name);
  visit(*this, child);
  leave();
  return *this;
}

namespace detail {

/// The next of names that a macro has turned into one text, "w, b".
LENTO_API std::string_view next_name(std::string_view& names);

/// Whether tensors are inside that a walk would not see: behind pointers, references and views, or in a variant.
template <class T>
inline constexpr bool kHidesTree =
    !std::is_void_v<typename Pointee<T>::type> && is_tree<std::remove_cv_t<typename Pointee<T>::type>>();
template <class... T>
inline constexpr bool kHidesTree<std::variant<T...>> = (is_tree<T>() || ...);
template <class T>
inline constexpr bool kHidesTree<std::reference_wrapper<T>> = is_tree<std::remove_cv_t<T>>();
template <class T>
constexpr bool hides_tree();
template <class T, std::size_t... i>
constexpr bool any_hides_tree(std::index_sequence<i...> /*all*/) {
  return (hides_tree<std::remove_cv_t<std::tuple_element_t<i, T>>>() || ...);
}
template <class T>
constexpr bool hides_tree() {
  if constexpr (kHidesTree<T>) {
    return true;
  } else if constexpr (std::is_bounded_array_v<T>) {
    return is_tree<std::remove_all_extents_t<T>>() || hides_tree<std::remove_all_extents_t<T>>();
  } else if constexpr (is_tree<T>()) {
    return false;
  } else if constexpr (TupleLike<T> && !Range<T>) {
    return any_hides_tree<T>(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (IsOptional<T>::value) {
    return hides_tree<typename T::value_type>();
  } else if constexpr (Map<T>) {
    return hides_tree<typename T::mapped_type>();
  } else if constexpr (Range<T>) {
    return hides_tree<std::remove_cvref_t<decltype(*std::declval<T&>().begin())>>();
  } else if constexpr (std::ranges::enable_view<T> && requires(T& view) { *view.begin(); }) {
    return is_tree<std::remove_cvref_t<decltype(*std::declval<T&>().begin())>>();
  } else {
    return false;
  }
}

/// A struct whose members nobody knows.
template <class T>
inline constexpr bool kIsPlainStruct =
    std::is_class_v<T> && std::is_aggregate_v<T> && !is_tree<T>() && !Range<T> && !TupleLike<T>;

template <class... Members>
void visit_members(Visitor& visitor, [[maybe_unused]] std::string_view names, Members&... members) {
  static_assert(
      !(hides_tree<std::remove_cv_t<Members>>() || ...),
      "a member has tensors behind pointers, in a view, in a variant or in a C array, where they would not be "
      "found: hold the tensors or modules themselves, or in vectors, std::arrays and maps");
  static_assert(
      !(kIsPlainStruct<std::remove_cv_t<Members>> || ...),
      "a member is a struct that does not name its own members: write LENTO_FIELDS in it too, or leave it out "
      "here when it has no tensors");
  (visitor(next_name(names), members), ...);
}

/// Gathers the leaves.
class LENTO_API Gather final : public Visitor {
 public:
  void tensor(Tensor& x) override;
  std::vector<Tensor> leaves;
};

/// Gathers the leaves by name.
class LENTO_API GatherNames : public Visitor {
 public:
  void tensor(Tensor& x) override;
  void enter(std::string_view name) override;
  void leave() override;
  std::vector<std::pair<std::string, Tensor>> leaves;

 protected:
  std::string path_;

 private:
  std::vector<std::size_t> lengths_;  // of the path before each name
};

/// Gives the leaves other values. Throws ValueError, once all are seen, unless there are as many.
class LENTO_API Fill final : public Visitor {
 public:
  explicit Fill(const std::vector<Tensor>& values) : values_(values) {}
  void tensor(Tensor& x) override;
  void finish(std::string_view caller, const std::source_location& site) const;

 private:
  const std::vector<Tensor>& values_;
  std::size_t next_ = 0;
};

/// Gathers the buffers by name.
class LENTO_API GatherBuffers final : public GatherNames {
 public:
  void tensor(Tensor& /*x*/) override {}
  void buffer(Tensor& x) override;
  TensorDict buffers;
};

/// Gives the buffers of these names other values.
class LENTO_API FillBuffers final : public GatherNames {
 public:
  explicit FillBuffers(const TensorDict& values) : values_(values) {}
  void tensor(Tensor& /*x*/) override {}
  void buffer(Tensor& x) override;

 private:
  const TensorDict& values_;
};

LENTO_API std::vector<Tensor> leaves_like(const GatherNames& tree, const GatherNames& other, std::string_view what,
                                          const std::source_location& site);

}  // namespace detail

/// Everything in a tree that is a leaf, from left to right. The leaves of a module are its parameters.
template <Tree T>
std::vector<Tensor> leaves(const T& tree) {
  detail::Gather gather;
  visit(gather, tree);
  return std::move(gather.leaves);
}

/// The leaves by the names of members, keys and positions that lead to them: "layers.0.weight". A tensor alone is "".
template <Tree T>
std::vector<std::pair<std::string, Tensor>> named_leaves(const T& tree) {
  detail::GatherNames gather;
  visit(gather, tree);
  return std::move(gather.leaves);
}

/// The leaves of `other`, which has the same names, in the order of `tree`. Throws ValueError where names differ;
/// `what` is what the error calls it.
template <Tree T, Tree U>
std::vector<Tensor> leaves_like(const T& tree, const U& other, std::string_view what = "leaves_like: the other tree",
                                std::source_location site = std::source_location::current()) {
  detail::GatherNames one;
  visit(one, tree);
  detail::GatherNames two;
  visit(two, other);
  return detail::leaves_like(one, two, what, site);
}

/// A tree like `tree` with these leaves. Throws ValueError unless there are as many.
template <Tree T>
T unflatten(T tree, const std::vector<Tensor>& values, std::source_location site = std::source_location::current()) {
  detail::Fill fill(values);
  visit(fill, tree);
  fill.finish("unflatten", site);
  return tree;
}

/// The leaves of a tree, and a function that makes a tree of the same form from others.
template <Tree T>
auto flatten(const T& tree) {
  return std::pair(leaves(tree), [tree](const std::vector<Tensor>& values,
                                        std::source_location site = std::source_location::current()) {
    return unflatten(tree, values, site);
  });
}

namespace detail {

template <class F, Tree T, Tree... Others>
T map(const std::source_location& site, F& function, const T& tree, const Others&... others) {
  const std::vector<Tensor> first = leaves(tree);
  const std::vector<std::vector<Tensor>> rest{tree::leaves_like(tree, others, "map: another tree", site)...};
  std::vector<Tensor> made;
  made.reserve(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    made.push_back([&]<std::size_t... k>(std::index_sequence<k...>) -> Tensor {
      return function(first[i], rest[k][i]...);
    }(std::make_index_sequence<sizeof...(Others)>{}));
  }
  return unflatten(tree, made, site);
}

}  // namespace detail

/// A tree of `function(leaf)` over the leaves of a tree.
template <class F, Tree T>
T map(F&& function, const T& tree, std::source_location site = std::source_location::current()) {
  return detail::map(site, function, tree);
}
/// The same with the leaves of several trees, which have the same names; ValueError where they have not.
template <class F, Tree T, Tree U>
T map(F&& function, const T& tree, const U& second, std::source_location site = std::source_location::current()) {
  return detail::map(site, function, tree, second);
}
template <class F, Tree T, Tree U, Tree V>
T map(F&& function, const T& tree, const U& second, const V& third,
      std::source_location site = std::source_location::current()) {
  return detail::map(site, function, tree, second, third);
}
template <class F, Tree T, Tree U, Tree V, Tree W>
T map(F&& function, const T& tree, const U& second, const V& third, const W& fourth,
      std::source_location site = std::source_location::current()) {
  return detail::map(site, function, tree, second, third, fourth);
}

}  // namespace tree

// A struct's function overrides nothing, a module's does: the macro cannot say so, and need not be told.
#ifdef __clang__
#define LENTO_MAY_OVERRIDE                                                                                 \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Winconsistent-missing-override\"") \
      _Pragma("clang diagnostic ignored \"-Wsuggest-override\"")
#define LENTO_END_MAY_OVERRIDE _Pragma("clang diagnostic pop")
#else
#define LENTO_MAY_OVERRIDE _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wsuggest-override\"")
#define LENTO_END_MAY_OVERRIDE _Pragma("GCC diagnostic pop")
#endif

/// Inside a struct or a module: names the members that are trees. Others need not be named.
#define LENTO_FIELDS(...)                                                                   \
  LENTO_MAY_OVERRIDE                                                                        \
  void fields([[maybe_unused]] ::lento::tree::Visitor& visitor) {                           \
    ::lento::tree::detail::visit_members(visitor, #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                         \
  LENTO_END_MAY_OVERRIDE

/// The same in a class that is derived from one with fields of its own: `LENTO_FIELDS_OF(Base, extra)`.
#define LENTO_FIELDS_OF(base, ...)                                                          \
  LENTO_MAY_OVERRIDE                                                                        \
  void fields([[maybe_unused]] ::lento::tree::Visitor& visitor) {                           \
    base::fields(visitor);                                                                  \
    ::lento::tree::detail::visit_members(visitor, #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                         \
  LENTO_END_MAY_OVERRIDE

}  // namespace lento
