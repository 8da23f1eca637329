// T2, T7: whatever public function refuses its arguments, the message names the function and the caller's line.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <source_location>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace lento {
namespace {

/// A call that must fail, and the line it stands on.
struct Refused {
  std::string name;
  std::function<void()> call;
  std::uint32_t line;
};

Refused refused(const char* name, std::function<void()> call,
                std::source_location site = std::source_location::current()) {
  return {name, std::move(call), site.line()};
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

using Tensors = std::vector<Tensor>;
using Axes = std::vector<std::optional<std::int64_t>>;

constexpr auto kNoDType = static_cast<DType>(99);
constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 2;

const Tensor& x() {
  static const Tensor made = tensor({1.0F, 2.0F});
  return made;
}
const Tensor& whole() {
  static const Tensor made = tensor({1, 2});
  return made;
}
Tensors same(const Tensors& inputs) { return inputs; }
Tensor first(const Tensors& inputs) { return inputs[0]; }
std::ostream& stream() {
  static std::ostringstream made;
  return made;
}
std::string print(const Printed& printed) {
  std::ostringstream out;
  out << printed;
  return out.str();
}

template <class T, class Value>
Options with(T Options::* member, Value value) {
  Options changed = options();
  changed.*member = value;
  return changed;
}

std::vector<Refused> evaluation() {
  return {
      refused("eval", [] { eval(Tensor()); }),
      refused("eval", [] { eval({x(), Tensor()}); }),
      refused("eval", [] { eval(x(), Tensor()); }),
      refused("eval", [] { eval(x(), x(), Tensor()); }),
      refused("dump", [] { (void)dump({Tensor()}); }),
      refused("graph_key", [] { (void)graph_key({Tensor()}); }),
      refused("run", [] { (void)cache::run(1, {}); }),
      refused("set_options", [] { set_options(with(&Options::max_pending_nodes, 1)); }),
      refused("set_options", [] { set_options(with(&Options::max_inflight_steps, 0)); }),
      refused("set_options", [] { set_options(with(&Options::force_fallback, "no_such_op")); }),
  };
}

std::vector<Refused> making_and_reading() {
  static const float values[] = {1, 2};
  return {
      refused("Device", [] { (void)Device("gpu"); }),
      refused("from_host", [] { (void)from_host(values, DType::float32, {-1}); }),
      refused("from_host", [] { (void)from_host(values, DType::float32, {kHuge, kHuge}); }),
      refused("from_filler", [] { (void)from_filler([](void*, std::size_t) {}, DType::int8, {-1}); }),
      refused("from_memory", [] { (void)from_memory(values, DType::float32, {-1}, nullptr); }),
      refused("tensor", [] { (void)tensor(std::span<const float>(values), {3}); }),
      refused("tensor", [] { (void)tensor(std::vector<float>{1, 2}, {3}); }),
      refused("tensor", [] { (void)tensor({{1, 2}, {3}}); }),
      refused("to_device", [] { (void)to_device(Tensor(), Device()); }),
      refused("item", [] { (void)x().item<float>(); }),
      refused("item", [] { (void)tensor({std::complex<float>(1, 2)}).item<float>(); }),
      refused("item", [] { (void)tensor({std::complex<double>(1, 2)}).item<int>(); }),
      refused("id", [] { (void)Tensor().id(); }),
      refused("is_pending", [] { (void)Tensor().is_pending(); }),
      refused("real", [] { (void)Tensor().real(); }),
      refused("imag", [] { (void)Tensor().imag(); }),
      refused("shape", [] { (void)x().shape()[1]; }),
      refused("shape", [] { (void)x().shape()[-2]; }),
      refused("reshape", [] { (void)x().reshape(3, 5); }),
      refused("reshape", [] { (void)x().view(3, 5); }),
      refused("astype", [] { (void)x().astype(kNoDType); }),
      refused("bitcast", [] { (void)bitcast(x(), kNoDType); }),
      refused("zeros", [] { (void)zeros({2}, kNoDType); }),
      refused("from_host", [] { (void)from_host(values, kNoDType, {1}); }),
      refused("add_step_closure", [] { add_step_closure(StepClosure(), {x()}); }),
      refused("add_step_closure", [] { add_step_closure([](const Tensor&) {}, {Tensor()}); }),
      refused("add_step_closure", [] { add_step_closure([](const Tensor&) {}, Tensor()); }),
      refused("add_step_closure", [] { add_step_closure([](const Tensor&) {}, x(), x()); }),
      refused("set_memory_limit", [] { set_memory_limit(-5); }),
      refused("data", [] { (void)x().data<int>(); }),
      refused("data_pointer", [] { (void)Tensor().data_pointer(); }),
      refused("export_data", [] { (void)export_data(Tensor()); }),
      refused("to_vector", [] { (void)x().to_vector<int>(); }),
      refused("to_string", [] { (void)Tensor().to_string(); }),
      refused("to_string", [] { stream() << Tensor(); }),
      refused("to_string", [] { (void)print(Tensor()); }),
      refused("zeros", [] { (void)zeros({-1}); }),
      refused("add", [] { (void)(x() + zeros({3})); }),
      refused("matmul", [] { (void)matmul(x(), zeros({3, 1})); }),
  };
}

std::vector<Refused> transforms() {
  return {
      refused("grad", [] { (void)grad([](const Tensor& v) { return v; })(x()); }),
      refused("grad", [] { (void)grad([](const Tensor& v) { return sum(v); })(whole()); }),
      refused("grad", [] { (void)grad([](const Tensor& v) { return argmax(v); })(x()); }),
      refused("value_and_grad", [] { (void)value_and_grad([](const Tensor& v, int) { return v; })(x(), 1); }),
      refused("value_and_grad", [] { (void)value_and_grad(std::function(first))(Tensors{x()}); }),
      refused("vjp", [] { (void)vjp(same, Tensors{Tensor()}); }),
      refused("vjp", [] { (void)vjp(same, Tensors{x()}).pull({zeros({3})}); }),
      refused("jvp", [] { (void)jvp(same, Tensors{x()}, Tensors{zeros({4})}); }),
      refused("jvp", [] { (void)jvp([](const Tensor& v) { return v; }, x(), zeros({3})); }),
      refused("follow", [] { (void)Differentiation().follow(whole()); }),
      refused("pull_back", [] { (void)Differentiation().pull_back({x()}, {}, {}); }),
      refused("push_forward", [] { (void)Differentiation().push_forward({}, {x()}, {}); }),
      refused("vmap", [] { (void)vmap(same, Axes{})(Tensors{x()}); }),
      refused("vmap", [] { (void)vmap(same, std::nullopt)(Tensors{x()}); }),
      refused("vmap", [] { (void)vmap(same, 5)(Tensors{x()}); }),
      refused("vmap", [] { (void)vmap(same)(Tensors{x(), zeros({3})}); }),
      refused("vmap", [] { (void)vmap(same, 0, 7)(Tensors{x()}); }),
      refused("vmap", [] { (void)Batching(0); }),
      refused("vmap", [] { (void)Batching(2).enter(zeros({3}), 0); }),
  };
}

void expect_places(const std::vector<Refused>& calls) {
  for (const Refused& one : calls) {
    const std::string message = message_of(one.call);
    EXPECT_TRUE(message.starts_with(one.name + ": ")) << message;
    EXPECT_TRUE(message.ends_with(", at places_test.cpp:" + std::to_string(one.line))) << message;
  }
}

TEST(Places, T7_ErrorsOfEvaluationNameTheCallersLine) { expect_places(evaluation()); }
TEST(Places, T7_ErrorsOfMakingAndReadingTensorsNameTheCallersLine) { expect_places(making_and_reading()); }
TEST(Places, T7_ErrorsOfTransformsNameTheCallersLine) { expect_places(transforms()); }

TEST(Places, T7_OpsInsideAFunctionKeepTheirOwnLine) {
  const std::uint32_t line = std::source_location::current().line() + 1;
  const auto wrong = [](const Tensor& v) { return sum(v + zeros({3})); };
  const std::string place = ", at places_test.cpp:" + std::to_string(line);
  EXPECT_TRUE(message_of([&] { (void)grad(wrong)(x()); }).ends_with(place));
  EXPECT_TRUE(message_of([&] {
                (void)vmap([&](const Tensors& v) { return Tensors{wrong(v[0])}; })(Tensors{zeros({4, 2})});
              }).ends_with(place));
}

TEST(Places, T7_WhatHasNoDerivativeNamesALineOfTheUsers) {
  const auto rounds = [](const Tensor& v) {
    return sum(custom_gradient([](const Tensors& in) { return in; },
                               [](const Tensors&, const Tensors&, const Tensors&) { return Tensors{}; }, {v})[0]);
  };
  const std::string message = message_of([&] { (void)grad(rounds)(x()); });
  EXPECT_NE(message.find("custom_gradient: the derivative gave 0 cotangents for 1 inputs"), std::string::npos);
  EXPECT_NE(message.find(", at places_test.cpp:"), std::string::npos) << message;
}

}  // namespace
}  // namespace lento
