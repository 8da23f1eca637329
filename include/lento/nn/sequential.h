// Sequential: modules and functions of a tensor, one after the other; and Identity.
#pragma once

#include <lento/located.h>
#include <lento/nn/module.h>

#include <concepts>
#include <cstddef>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lento::nn {

namespace detail {

template <class T>
concept TakesSite = requires(T& step, const Tensor& x, const std::source_location& site) {
  { step(x, site) } -> std::convertible_to<Tensor>;
};
template <class T>
concept TakesTensor = requires(T& step, const Tensor& x) {
  { step(x) } -> std::convertible_to<Tensor>;
};

}  // namespace detail

/// What makes a tensor of a tensor: a module, `nn::relu`, a lambda.
template <class T>
concept Step = detail::TakesSite<T> || detail::TakesTensor<T>;

/// Gives what it is called with: it stands for a layer that is left out.
class LENTO_API Identity : public Module {
 public:
  Tensor operator()(const Tensor& x, std::source_location = std::source_location::current()) const { return x; }
  void fields(tree::Visitor&) override {}
};

/// Modules, or functions of a tensor, one after the other; named "0", "1" and so on.
///
///     nn::Sequential model{nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2)};
///
/// It holds copies of them, and a copy of it holds copies of its own. In braces steps are made from left to right, so
/// that they draw the numbers that Python's draw; in parentheses C++ leaves their order to the compiler.
class LENTO_API Sequential : public Module {
 public:
  Sequential() = default;
  template <class... Steps>
    requires(sizeof...(Steps) > 0 && (Step<std::decay_t<Steps>> && ...) &&
             !(sizeof...(Steps) == 1 && (std::same_as<std::decay_t<Steps>, Sequential> && ...)))
  explicit Sequential(Steps&&... steps) {
    (push_back(std::forward<Steps>(steps)), ...);
  }

  /// Adds a step at the end.
  template <class T>
    requires Step<std::decay_t<T>>
  void push_back(T&& step) {
    static_assert(std::copy_constructible<std::decay_t<T>>, "Sequential: a step is copied with the module that has it");
    steps_.emplace_back(std::make_unique<Holder<std::decay_t<T>>>(std::forward<T>(step)));
  }

  Tensor operator()(const Tensor& x, std::source_location site = std::source_location::current());
  /// A constant one stays as it is, also where a step would change: batch norm keeps its running statistics.
  Tensor operator()(const Tensor& x, std::source_location site = std::source_location::current()) const;

  std::size_t size() const { return steps_.size(); }
  /// The step with this number as what it is: `model.at<nn::Linear>(0).weight`. Throws IndexError when there are not so
  /// many, ValueError when it is of another type.
  template <class T>
  T& at(std::size_t number, std::source_location site = std::source_location::current()) {
    auto* holder = dynamic_cast<Holder<T>*>(held(number, site));
    if (holder == nullptr) refuse_type(number, site);
    return holder->step;
  }
  template <class T>
  const T& at(std::size_t number, std::source_location site = std::source_location::current()) const {
    return const_cast<Sequential&>(*this).at<T>(number, site);
  }

  void fields(tree::Visitor& visitor) override;

 private:
  struct LENTO_API Held {
    Held() = default;
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    virtual ~Held();
    virtual std::unique_ptr<Held> copy() const = 0;
    virtual Tensor call(const Tensor& x, const std::source_location& site) = 0;
    virtual Tensor call_constant(const Tensor& x, const std::source_location& site) const = 0;
    virtual void visit(tree::Visitor& visitor, std::string_view name) = 0;
  };

  template <class T>
  struct Holder final : Held {
    explicit Holder(T given) : step(std::move(given)) {}

    std::unique_ptr<Held> copy() const override { return std::make_unique<Holder>(step); }
    Tensor call(const Tensor& x, const std::source_location& site) override { return run(step, x, site); }
    Tensor call_constant(const Tensor& x, const std::source_location& site) const override {
      if constexpr (Step<const T>) {
        return run(step, x, site);
      } else {
        T changed(step);
        return run(changed, x, site);
      }
    }
    void visit(tree::Visitor& visitor, std::string_view name) override {
      if constexpr (tree::Tree<T>) visitor(name, step);
    }
    template <class S>
    static Tensor run(S& step, const Tensor& x, const std::source_location& site) {
      if constexpr (!std::derived_from<T, Module>) lento::detail::check_function("Sequential", step, site);
      if constexpr (detail::TakesSite<S>) {
        return step(x, site);
      } else {
        return step(x);
      }
    }

    T step;
  };

  /// A pointer whose copies point to copies.
  class Pointer {
   public:
    explicit Pointer(std::unique_ptr<Held> held) : held_(std::move(held)) {}
    Pointer(const Pointer& other) : held_(other.held_->copy()) {}
    Pointer(Pointer&&) noexcept = default;
    Pointer& operator=(const Pointer& other) {
      held_ = other.held_->copy();
      return *this;
    }
    Pointer& operator=(Pointer&&) noexcept = default;
    ~Pointer() = default;
    Held* get() const { return held_.get(); }

   private:
    std::unique_ptr<Held> held_;
  };

  Held* held(std::size_t number, const std::source_location& site) const;
  [[noreturn]] void refuse_type(std::size_t number, const std::source_location& site) const;

  std::vector<Pointer> steps_;
};

}  // namespace lento::nn
