// Functions that know the line that calls them, whatever their arguments are: what grad, vmap and their like give.
#pragma once

#include <lento/export.h>

#include <cstddef>
#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>

namespace lento {

class Tensor;
class Subscript;

namespace detail {

/// What an argument or a result is as a value: a part of a tensor is a tensor.
template <class T>
using Value = std::conditional_t<std::is_same_v<std::remove_cvref_t<T>, Subscript>, Tensor, std::remove_cvref_t<T>>;

/// A pointer, or an object like std::function. A lambda converts to a pointer, but is never empty.
template <class F>
concept MayBeEmpty = std::is_pointer_v<F> || std::is_member_pointer_v<F> || requires(const F& f) { f.operator bool(); };

template <class F>
bool is_empty_function(const F& function) {
  if constexpr (MayBeEmpty<F>) {
    return !static_cast<bool>(function);
  } else {
    return false;
  }
}

/// Throws ValueError for a function that can be empty, and is.
LENTO_API void refuse_empty_function(const char* caller, const std::source_location& site);
template <class F>
void check_function(const char* caller, const F& function, const std::source_location& site) {
  if (is_empty_function(function)) refuse_empty_function(caller, site);
}

/// `body(line, arguments...)` as a function of the arguments. A default argument cannot follow any number of others,
/// so there is an overload for each number; beyond six the line is the one that made the function.
template <class Body>
class Located {
 public:
  Located(Body body, const std::source_location& made) : body_(std::move(body)), made_(made) {}

  template <class A>
  decltype(auto) operator()(A&& a, std::source_location site = std::source_location::current()) const {
    return body_(site, std::forward<A>(a));
  }
  template <class A, class B>
  decltype(auto) operator()(A&& a, B&& b, std::source_location site = std::source_location::current()) const {
    return body_(site, std::forward<A>(a), std::forward<B>(b));
  }
  template <class A, class B, class C>
  decltype(auto) operator()(A&& a, B&& b, C&& c, std::source_location site = std::source_location::current()) const {
    return body_(site, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));
  }
  template <class A, class B, class C, class D>
  decltype(auto) operator()(A&& a, B&& b, C&& c, D&& d,
                            std::source_location site = std::source_location::current()) const {
    return body_(site, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d));
  }
  template <class A, class B, class C, class D, class E>
  decltype(auto) operator()(A&& a, B&& b, C&& c, D&& d, E&& e,
                            std::source_location site = std::source_location::current()) const {
    return body_(site, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                 std::forward<E>(e));
  }
  template <class A, class B, class C, class D, class E, class F>
  decltype(auto) operator()(A&& a, B&& b, C&& c, D&& d, E&& e, F&& f,
                            std::source_location site = std::source_location::current()) const {
    return body_(site, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                 std::forward<E>(e), std::forward<F>(f));
  }
  template <class... Args>
    requires(sizeof...(Args) > 6 && !(std::is_same_v<std::remove_cvref_t<Args>, std::source_location> || ...))
  decltype(auto) operator()(Args&&... args) const {
    return body_(made_, std::forward<Args>(args)...);
  }

  /// The same with the line first.
  template <class... Args>
  decltype(auto) at(const std::source_location& site, Args&&... args) const {
    return body_(site, std::forward<Args>(args)...);
  }

 private:
  mutable Body body_;  // a function may have a state of its own
  std::source_location made_;
};

template <class T>
inline constexpr bool kIsLocated = false;
template <class Body>
inline constexpr bool kIsLocated<Located<Body>> = true;

/// Calls a function that somebody gave; one that wants to know the line is told it.
template <class F, class... Args>
decltype(auto) call(F& function, const std::source_location& site, Args&&... args) {
  if constexpr (kIsLocated<std::remove_cv_t<F>>) {
    return function.at(site, std::forward<Args>(args)...);
  } else {
    return std::invoke(function, std::forward<Args>(args)...);
  }
}

}  // namespace detail

}  // namespace lento
