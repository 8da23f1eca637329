// Modules are values with named tensors (lento/nn/module.h), and trees (lento/tree.h).
#include <lento/autograd.h>
#include <lento/lento.h>
#include <lento/nn/module.h>

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lento {
namespace {

struct Scale : nn::Module {
  Tensor weight = ones({2});
  std::optional<Tensor> bias;
  Tensor steps = zeros({}, DType::int64);
  nn::Buffer mean = zeros({2});
  int calls = 0;

  Tensor operator()(const Tensor& x) {
    ++calls;
    steps += 1;
    mean = x;
    return x * weight;
  }
  std::string extra_repr() const override { return "2"; }
  LENTO_FIELDS(weight, bias, steps, mean)
};

struct Net : nn::Module {
  Scale first;
  std::vector<Scale> more{2};
  std::map<std::string, Tensor> extra{{"a", ones({3})}};
  LENTO_FIELDS(first, more, extra)
};

struct Params {
  Tensor w;
  std::pair<Tensor, int> b;
  LENTO_FIELDS(w, b)
};

std::vector<std::string> names(const TensorDict& dict) {
  std::vector<std::string> found;
  for (const auto& [name, tensor] : dict) found.push_back(name);
  return found;
}

template <class F>
std::string error_of(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TensorDict, KeepsTheOrderAndFindsByName) {
  TensorDict dict{{"b", ones({1})}, {"a", ones({2})}};
  dict["c"] = ones({3});
  dict["a"] = ones({4});
  EXPECT_EQ(names(dict), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(dict.at("a").shape(), Shape{4});
  EXPECT_TRUE(dict.erase("b"));
  EXPECT_FALSE(dict.erase("b"));
  EXPECT_EQ(dict.at("c").shape(), Shape{3});
  EXPECT_EQ(dict.find("b"), nullptr);
  const std::string error = error_of([&] { dict.at("b"); });
  EXPECT_NE(error.find("there is no tensor 'b'; there are 'a', 'c', at module_test.cpp:"), std::string::npos) << error;
}

TEST(Tree, IsWalkedFromLeftToRight) {
  const Params params{ones({1}), {ones({2}), 7}};
  ASSERT_EQ(tree::leaves(params).size(), 2U);
  const auto named = tree::named_leaves(std::tuple(params, std::vector{ones({3})}, std::array{ones({4})}));
  std::vector<std::string> found;
  for (const auto& [name, leaf] : named) found.push_back(name);
  EXPECT_EQ(found, (std::vector<std::string>{"0.w", "0.b.0", "1.0", "2.0"}));
  EXPECT_EQ(tree::named_leaves(ones({1}))[0].first, "");
  static_assert(tree::Tree<Params> && tree::Tree<std::optional<Params>> && tree::Tree<std::map<int, Tensor>>);
  static_assert(!tree::Tree<int> && !tree::Tree<std::string> && !tree::Tree<std::vector<double>>);
}

TEST(Tree, MapsAndRebuilds) {
  const Params params{ones({1}), {ones({2}), 7}};
  const Params twice = tree::map([](const Tensor& a, const Tensor& b) { return a + b; }, params, params);
  EXPECT_EQ(twice.b.first.to_vector<float>(), (std::vector<float>{2, 2}));
  EXPECT_EQ(twice.b.second, 7);
  const auto [leaves, rebuild] = tree::flatten(params);
  EXPECT_EQ(rebuild({leaves[1], leaves[0]}).w.shape(), Shape{2});
  EXPECT_NE(error_of([&] { tree::unflatten(params, {ones({1})}); }).find("there are 1 values for 2 leaves"),
            std::string::npos);
}

TEST(Tree, FindsTheLeavesOfAnotherTreeByName) {
  const TensorDict one{{"a", ones({1})}, {"b", ones({2})}};
  const TensorDict two{{"b", ones({3})}, {"a", ones({4})}};
  EXPECT_EQ(tree::leaves_like(one, two)[0].shape(), Shape{4});
  const std::map<std::string, Tensor> other{{"a", ones({5})}, {"c", ones({1})}};
  const std::string error = error_of([&] { tree::leaves_like(one, other); });
  EXPECT_NE(error.find("the leaves are ['a', 'c'] instead of ['a', 'b']"), std::string::npos) << error;
}

TEST(Module, NamesParametersAndBuffers) {
  Net net;
  net.first.bias = ones({2});
  EXPECT_EQ(names(net.parameters()),
            (std::vector<std::string>{"first.weight", "first.bias", "more.0.weight", "more.1.weight", "extra.a"}));
  EXPECT_EQ(names(net.buffers()), (std::vector<std::string>{"first.steps", "first.mean", "more.0.steps", "more.0.mean",
                                                            "more.1.steps", "more.1.mean"}));
  EXPECT_EQ(net.state_dict().size(), 11U);
  EXPECT_EQ(tree::leaves(net).size(), 5U);  // the parameters
  ASSERT_EQ(net.modules().size(), 4U);
  EXPECT_EQ(net.modules()[1], &net.first);
}

struct Outer : nn::Module {
  Net net;
  Scale last;
  LENTO_FIELDS(net, last)
};

TEST(Module, NamesTheModulesInside) {
  Outer outer;
  std::vector<std::string> found;
  for (const auto& [name, module] : outer.named_modules()) found.push_back(name);
  EXPECT_EQ(found, (std::vector<std::string>{"", "net", "net.first", "net.more.0", "net.more.1", "last"}));
  EXPECT_EQ(outer.children(), (std::vector<nn::Module*>{&outer.net, &outer.last}));
  const auto inner = outer.net.named_children();
  ASSERT_EQ(inner.size(), 3U);
  EXPECT_EQ(inner[1], (std::pair<std::string, nn::Module*>("more.0", &outer.net.more[0])));
}

TEST(Module, AppliesAFunctionToInnerOnesFirst) {
  Net net;
  std::vector<nn::Module*> seen;
  net.apply([&](nn::Module& module) {
       seen.push_back(&module);
       if (auto* scale = dynamic_cast<Scale*>(&module)) scale->weight.fill(3);
     })
      .eval();
  EXPECT_EQ(seen, (std::vector<nn::Module*>{&net.first, &net.more[0], &net.more[1], &net}));
  EXPECT_EQ(net.more[1].weight.to_vector<float>(), (std::vector<float>{3, 3}));
}

struct More : Scale {
  Tensor extra = ones({1});
  LENTO_FIELDS_OF(Scale, extra)
};

TEST(Module, ADerivedOneHasTheFieldsOfItsBase) {
  EXPECT_EQ(names(More().parameters()), (std::vector<std::string>{"weight", "extra"}));
}

TEST(Tree, WhatIsNoValueIsNoTree) {
  static_assert(!tree::Tree<std::span<Tensor>> && !tree::Tree<decltype(std::tie(std::declval<Tensor&>()))>);
  static_assert(!tree::Tree<std::filesystem::path> && !tree::Tree<std::vector<std::filesystem::path>>);
  static_assert(tree::detail::hides_tree<std::vector<std::unique_ptr<Scale>>>());
  static_assert(tree::detail::hides_tree<std::variant<int, Scale>>() && tree::detail::hides_tree<Tensor*>());
  static_assert(tree::detail::hides_tree<Tensor[2]>() && tree::detail::hides_tree<std::pair<Tensor*, int>>());
  static_assert(!tree::detail::hides_tree<int[2]>() && !tree::detail::hides_tree<std::pair<std::string, int>>());
  struct Unnamed {
    Tensor weight;
  };
  static_assert(tree::detail::kIsPlainStruct<Unnamed> && !tree::detail::kIsPlainStruct<std::string>);
  static_assert(!tree::detail::kIsPlainStruct<std::array<int, 2>> && !tree::detail::kIsPlainStruct<Scale>);
  static_assert(!tree::detail::hides_tree<std::vector<Scale>>() && !tree::detail::hides_tree<std::string_view>());
  // Two leaves of one name would be taken for each other.
  using Nested = std::map<std::string, std::map<std::string, Tensor>>;
  const Nested same{{"a", {{"b.c", ones({1})}}}, {"a.b", {{"c", ones({1})}}}};
  EXPECT_THROW((void)tree::map([](const Tensor& a, const Tensor& b) { return a + b; }, same, same), ValueError);
}

TEST(Tree, CharactersAreKeysAsTexts) {
  const std::map<char, Tensor> tree{{'w', ones({1})}};
  EXPECT_EQ(tree::named_leaves(tree).front().first, "w");
}

std::string name_of_a_local_module(const std::vector<int>& /*in the signature*/) {
  struct Local : nn::Module {
    LENTO_FIELDS()
  };
  return Local().class_name();
}
template <class T>
struct Generic : nn::Module {
  LENTO_FIELDS()
};

TEST(Module, IsCalledAsItsClassWithoutWhatIsAround) {
  EXPECT_EQ(name_of_a_local_module({}), "Local");
  EXPECT_EQ((Generic<std::map<int, std::vector<float>>>().class_name()), "Generic");
  EXPECT_EQ(Net().class_name(), "Net");
}

TEST(Tree, T2_MapNamesTheLineOfTheCallWhereNamesDiffer) {
  const std::map<std::string, Tensor> one{{"a", ones({1})}};
  const std::map<std::string, Tensor> two{{"b", ones({1})}};
  const auto first = [](const Tensor& a, const auto&...) { return a; };
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const ValueError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  for (const std::string& message : {
           message_of([&] { (void)tree::map(first, one, two); }),
           message_of([&] { (void)tree::map(first, one, one, two); }),
           message_of([&] { (void)tree::map(first, one, one, one, two); }),
       }) {
    EXPECT_EQ(message.find("map: another tree: the leaves are ['b'] instead of ['a'], at module_test.cpp:"), 0U)
        << message;
  }
  EXPECT_EQ(tree::map(first, one, one, one, one).at("a").item<float>(), 1);
}

TEST(Module, ACopyIsAValue) {
  Net net;
  const Net before = net;
  net.first.weight += 1;
  EXPECT_EQ(before.first.weight.to_vector<float>(), (std::vector<float>{1, 1}));
  Net loaded;
  loaded.load_state_dict(net.state_dict());
  EXPECT_EQ(loaded.first.weight.to_vector<float>(), (std::vector<float>{2, 2}));
}

TEST(Module, TrainEvalAndTo) {
  Net net;
  net.eval();
  EXPECT_FALSE(net.more[1].training);
  net.train();
  EXPECT_TRUE(net.more[1].training);
  net.to(DType::bfloat16);
  EXPECT_EQ(net.first.weight.dtype(), DType::bfloat16);
  EXPECT_EQ(net.first.mean.dtype(), DType::bfloat16);
  EXPECT_EQ(net.first.steps.dtype(), DType::int64);
  EXPECT_THROW(net.to(DType::int32), DTypeError);
}

TEST(Module, LoadingChecksEverythingBeforeAnythingIsChanged) {
  Net net;
  TensorDict state = net.state_dict();
  state["first.weight"] = zeros({3});
  state["extra.a"] = zeros({3});
  state.erase("more.0.weight");
  state["other"] = zeros({1});
  const std::string error = error_of([&] { net.load_state_dict(state); });
  EXPECT_NE(error.find("load_state_dict: missing: more.0.weight; not known here: other; first.weight is float32(2,), "
                       "but the given value float32(3,), at module_test.cpp:"),
            std::string::npos)
      << error;
  EXPECT_EQ(net.extra["a"].to_vector<float>(), (std::vector<float>{1, 1, 1}));
  state.erase("first.weight");
  const nn::LoadedState loaded = net.load_state_dict(state, false);
  EXPECT_EQ(loaded.missing, (std::vector<std::string>{"first.weight", "more.0.weight"}));
  EXPECT_EQ(loaded.unexpected, (std::vector<std::string>{"other"}));
  EXPECT_EQ(net.extra["a"].to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Module, LooksAsInPython) {
  std::ostringstream out;
  out << Net();
  EXPECT_EQ(out.str(), "Net(\n  (first): Scale(2)\n  (more.0): Scale(2)\n  (more.1): Scale(2)\n)");
}

}  // namespace
}  // namespace lento
