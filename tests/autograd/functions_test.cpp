// grad, value_and_grad, vjp, jvp, linearize, jacobian, hessian, custom_gradient, checkpoint and vmap of any functions,
// over any mix of tensors, vectors, maps, structs and modules.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace lento {
namespace {

using Floats = std::vector<float>;

Floats read(const Tensor& x) { return x.to_vector<float>(); }

template <class F>
std::string error_of(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

struct Params {
  Tensor w;
  std::map<std::string, std::vector<Tensor>> more;
  int power = 1;
  LENTO_FIELDS(w, more)
};

struct Norm : nn::Module {
  Tensor weight = ones({2});
  nn::Buffer mean = zeros({2});
  Tensor count = zeros({}, DType::int64);

  Tensor operator()(const Tensor& x) {
    count += 1;
    mean = x + weight;
    return x * weight;
  }
  LENTO_FIELDS(weight, mean, count)
};

struct Scaled : nn::Module {
  Tensor weight = full({1}, 3.0F);
  Tensor operator()(const Tensor& x, const Tensor& mask, double scale) const { return weight * x * mask * scale; }
  LENTO_FIELDS(weight)
};

TEST(Grad, IsByTheFirstArgument) {
  const auto f = [](const Tensor& x, const Tensor& y) { return sum(x * x * y); };
  const Tensor x = tensor({1.0F, 2.0F});
  const Tensor y = tensor({3.0F, 4.0F});
  EXPECT_EQ(read(grad(f)(x, y)), (Floats{6, 16}));
  EXPECT_EQ(read(grad<1>(f)(x, y)), (Floats{1, 4}));
  const auto [dx, dy] = grad<0, 1>(f)(x, y);
  EXPECT_EQ(read(dx), (Floats{6, 16}));
  EXPECT_EQ(read(dy), (Floats{1, 4}));
  const auto [dy2, dx2] = grad<1, 0>(f)(x, y);
  EXPECT_EQ(read(dx2), (Floats{6, 16}));
  EXPECT_EQ(read(dy2), (Floats{1, 4}));
}

TEST(Grad, OfMoreThanSixArgumentsAndOfNumbersAmongThem) {
  const auto f = [](const Tensor& x, int a, double b, float c, bool d, int e, int g, const Tensor& y) {
    return sum(x * y * static_cast<double>(a + e + g) * b * c) * (d ? 1 : 0);
  };
  const Tensor x = tensor({1.0F});
  EXPECT_EQ(read(grad(f)(x, 1, 2.0, 0.5F, true, 1, 1, x)), (Floats{3}));
}

TEST(Grad, TakesAPartOfATensor) {
  Tensor x = tensor({1.0F, 2.0F});
  EXPECT_EQ(read(grad([](const Tensor& v) { return sum(v * v); })(x[{Slice{1}}])), (Floats{4}));
}

struct Line : nn::Module {
  Tensor slope = tensor({2.0F});
  Tensor loss(const Tensor& x) const { return (slope * x * x).sum(); }
  LENTO_FIELDS(slope)
};

TEST(Grad, OfAPointerToAMember) {
  const Line line;
  EXPECT_EQ(read(grad(&Line::loss)(line, tensor({3.0F})).slope), Floats{9});
  EXPECT_EQ(read(grad<1>(&Line::loss)(line, tensor({3.0F}))), Floats{12});
  EXPECT_EQ(read(vmap(&Line::loss, {std::nullopt, 0})(line, tensor({{1.0F}, {2.0F}}))), (Floats{2, 8}));
}

TEST(Grad, OfAFunctionThatCannotBeCopied) {
  const auto make = [] {
    return [two = std::make_unique<float>(2.0F)](const Tensor& x) { return (x * x * *two).sum(); };
  };
  const Tensor x = tensor({3.0F});
  EXPECT_EQ(read(grad(make())(x)), Floats{12});
  EXPECT_EQ(read(grad(grad(make()))(x[0])), Floats{4});
  EXPECT_EQ(read(value_and_grad(make())(x).value), Floats{18});
  EXPECT_EQ(read(jvp(make(), x, ones({1})).tangent), Floats{12});
  EXPECT_EQ(read(std::get<0>(vjp(make(), x).pull(ones({})))), Floats{12});
  EXPECT_EQ(read(jacobian(make())(x)), Floats{12});
  EXPECT_EQ(read(hessian(make())(x)), Floats{4});
  EXPECT_EQ(read(vmap(make())(x)), Floats{18});
}

TEST(Grad, Nests) {
  const auto cube = [](const Tensor& x) { return x * x * x; };
  EXPECT_EQ(grad(grad(cube))(scalar_tensor(2.0F)).item<float>(), 12);
}

TEST(ValueAndGrad, OfAStructOfMapsOfVectors) {
  Params params{ones({2}), {{"b", {ones({2}), tensor({1, 2})}}}, 3};
  const auto loss = [](const Params& p) { return sum(p.w * p.more.at("b")[0] * 2) * p.power; };
  const auto [value, grads] = value_and_grad(loss)(params);
  EXPECT_EQ(value.item<float>(), 12);
  EXPECT_EQ(read(grads.w), (Floats{6, 6}));
  EXPECT_EQ(read(grads.more.at("b")[0]), (Floats{6, 6}));
  EXPECT_FALSE(grads.more.at("b")[1].defined());  // integers have no derivative
  EXPECT_EQ(grads.power, 3);
}

TEST(ValueAndGrad, OfAModuleGivesAModuleAndKeepsItsBuffers) {
  Norm norm;
  const Tensor x = tensor({1.0F, 2.0F});
  const auto [value, grads] = value_and_grad([&](Norm& m) { return sum(m(x)); })(norm);
  static_assert(std::same_as<decltype(grads), const Norm> || std::same_as<std::remove_cvref_t<decltype(grads)>, Norm>);
  EXPECT_EQ(read(grads.weight), (Floats{1, 2}));
  EXPECT_EQ(norm.count.item<int>(), 1);
  EXPECT_EQ(read(norm.mean), (Floats{2, 3}));
  EXPECT_EQ(read(norm.weight), (Floats{1, 1}));
  EXPECT_EQ(tree::leaves(grads).size(), 1U);
}

TEST(ValueAndGrad, AFunctionThatFailsChangesNothing) {
  Norm norm;
  const auto fails = [&](Norm& m) {
    (void)m(ones({2}));
    return matmul(m.weight, ones({3, 1}));
  };
  EXPECT_TRUE(has(error_of([&] { (void)value_and_grad(fails)(norm); }), "matmul: inner dimensions differ"));
  EXPECT_EQ(norm.count.item<int>(), 0);
  EXPECT_EQ(read(grad([](const Tensor& v) { return sum(v); })(ones({2}))), (Floats{1, 1}));
}

TEST(ValueAndGrad, WithSomethingBesideTheScalar) {
  const auto f = [](const Tensor& x) { return std::pair(sum(x * x), std::string("aux")); };
  const auto [both, slope] = value_and_grad(f)(tensor({3.0F}));
  EXPECT_EQ(both.first.item<float>(), 9);
  EXPECT_EQ(both.second, "aux");
  EXPECT_EQ(read(slope), (Floats{6}));
  const auto [gradient, aux] = grad(f)(tensor({3.0F}));
  EXPECT_EQ(read(gradient), (Floats{6}));
  EXPECT_EQ(aux, "aux");
}

TEST(ValueAndGrad, WithSeveralThingsBesideTheScalar) {
  const auto f = [](const Tensor& x) { return std::tuple{sum(x * x), x + 1, 3}; };
  const auto [all, slope] = value_and_grad(f)(tensor({3.0F}));
  const auto& [loss, more, number] = all;
  EXPECT_EQ(loss.item<float>(), 9);
  EXPECT_EQ(read(more), (Floats{4}));
  EXPECT_EQ(number, 3);
  EXPECT_EQ(read(slope), (Floats{6}));
  const auto [gradient, beside] = grad(f)(tensor({3.0F}));
  EXPECT_EQ(read(gradient), (Floats{6}));
  EXPECT_EQ(read(std::get<0>(beside)), (Floats{4}));
  EXPECT_EQ(std::get<1>(beside), 3);
}

TEST(ValueAndGrad, AFunctionMayChangeItsArguments) {
  const Tensor x = tensor({2.0F});
  const auto f = [](Tensor v) {
    v *= v;
    return sum(v);
  };
  const auto g = [](Tensor& v) {
    v *= v;
    return sum(v);
  };
  EXPECT_EQ(read(grad(f)(x)), (Floats{4}));
  EXPECT_EQ(read(grad(g)(x)), (Floats{4}));
  EXPECT_EQ(read(x), (Floats{2}));
}

TEST(Vjp, OfTreesAndBack) {
  const auto f = [](const Params& p, const Tensor& x) { return std::tuple(p.w * x, std::vector{x + 1, tensor({1})}); };
  const Params params{tensor({1.0F, 2.0F}), {}};
  const auto [value, pull] = vjp(f, params, tensor({3.0F, 4.0F}));
  EXPECT_EQ(read(std::get<0>(value)), (Floats{3, 8}));
  const auto [dp, dx] = pull({tensor({1.0F, 10.0F}), {tensor({1.0F, 1.0F}), Tensor()}});
  EXPECT_EQ(read(dp.w), (Floats{3, 40}));
  EXPECT_EQ(read(dx), (Floats{2, 21}));
  const auto bad = [&, &pull = pull] { (void)pull({ones({3}), {Tensor(), Tensor()}}); };
  EXPECT_TRUE(has(error_of(bad), "vjp: cotangent 0 has shape (3,), its output (2,), at functions_test.cpp:"));
}

const auto sum_of_eight = [](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d, const Tensor& e,
                             const Tensor& f, const Tensor& g, const std::vector<Tensor>& h) {
  return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h[0] * 8;
};

TEST(Vjp, OfEightArguments) {
  const Tensor x = ones({1});
  const auto [value, pull] = vjp(sum_of_eight, x, x, x, x, x, x, x, std::vector{x});
  EXPECT_EQ(read(value), Floats{36});
  const auto [a, b, c, d, e, f, g, h] = pull(ones({1}));
  EXPECT_EQ(read(concat({a, b, c, d, e, f, g, h[0]})), (Floats{1, 2, 3, 4, 5, 6, 7, 8}));
  const auto bad = [&] { (void)vjp(sum_of_eight, x, x, x, x, x, x, Tensor(), std::vector{x}); };
  const std::string line = std::to_string(__LINE__ - 1);
  EXPECT_TRUE(has(error_of(bad), "vjp: argument 6 has an empty handle, at functions_test.cpp:" + line));
}

TEST(Linearize, OfEightArguments) {
  const Tensor x = ones({1});
  const auto [value, push] = linearize(sum_of_eight, x, x, x, x, x, x, x, std::vector{x});
  EXPECT_EQ(read(value), Floats{36});
  const Tensor none;
  EXPECT_EQ(read(push(x, none, none, none, none, none, none, std::vector{x})), Floats{9});
}

TEST(Jvp, OfOneArgumentAndOfSeveral) {
  const auto square = [](const Tensor& x) { return x * x; };
  const auto [value, tangent] = jvp(square, tensor({1.0F, 2.0F}), tensor({1.0F, 10.0F}));
  EXPECT_EQ(read(value), (Floats{1, 4}));
  EXPECT_EQ(read(tangent), (Floats{2, 40}));
  const auto product = [](const Tensor& x, const Tensor& y) { return x * y; };
  const auto both = jvp(product, std::tuple(tensor({2.0F}), tensor({3.0F})), std::tuple(tensor({1.0F}), Tensor()));
  EXPECT_EQ(read(both.tangent), (Floats{3}));
  EXPECT_TRUE(has(error_of([&] { (void)jvp(square, ones({2}), ones({3})); }),
                  "jvp: tangent 0 has shape (3,), its input (2,), at functions_test.cpp:"));
}

TEST(Linearize, CallsTheFunctionOnceForAllDirections) {
  int calls = 0;
  const auto f = [&](const Params& p, const Tensor& x) {
    ++calls;
    return std::pair(p.w * x, p.w);
  };
  const Params params{tensor({2.0F, 3.0F}), {}};
  const auto [value, push] = linearize(f, params, tensor({4.0F, 5.0F}));
  EXPECT_EQ(read(value.first), (Floats{8, 15}));
  const auto [change, same] = push(Params{tensor({1.0F, 0.0F}), {}}, tensor({0.0F, 1.0F}));
  EXPECT_EQ(read(change), (Floats{4, 3}));
  EXPECT_EQ(read(same), (Floats{1, 0}));
  EXPECT_EQ(read(push(Params{tensor({0.0F, 1.0F}), {}}, Tensor()).first), (Floats{0, 5}));
  EXPECT_EQ(calls, 1);
  const auto bad = [] { (void)linearize([](const Tensor& x) { return x; }, ones({2})).push(ones({3})); };
  EXPECT_TRUE(has(error_of(bad), "linearize: tangent 0 has shape (3,), its input (2,), at functions_test.cpp:"));
}

TEST(Jacobian, HasTheShapeOfTheResultThenThatOfTheArgument) {
  const Tensor a = tensor({{1.0F, 2.0F, 3.0F}, {4.0F, 5.0F, 6.0F}});
  const auto f = [&](const Tensor& x) { return matmul(a, x * x); };
  const Tensor j = jacobian(f)(tensor({1.0F, 2.0F, 3.0F}));
  EXPECT_EQ(j.shape(), (Shape{2, 3}));
  EXPECT_EQ(read(j), (Floats{2, 8, 18, 8, 20, 36}));
  const Params params{ones({3}), {{"none", {ones({2})}}}};
  const Params by_all = jacobian([&](const Params& p) { return matmul(a, p.w); })(params);
  EXPECT_EQ(read(by_all.w), read(a));
  EXPECT_EQ(by_all.more.at("none")[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(read(by_all.more.at("none")[0]), (Floats{0, 0, 0, 0}));
  EXPECT_EQ(jacobian([](const Tensor& x) { return x; })(zeros({0})).shape(), (Shape{0, 0}));
}

TEST(Jacobian, GivesWhatStandsBesideTheTensorToo) {
  const Tensor x = tensor({1.0F, 2.0F});
  const auto [rows, norm] = jacobian([](const Tensor& x) { return std::pair(x * x, sum(x)); })(x);
  EXPECT_EQ(read(rows), (Floats{2, 0, 0, 4}));
  EXPECT_EQ(norm.item<float>(), 3);
  const auto two = [](const Tensor& x, const Tensor& y) { return std::tuple(x * y, std::string("seen"), 7); };
  const auto [by_both, beside] = jacobian<0, 1>(two)(x, ones({2}));
  EXPECT_EQ(read(std::get<0>(by_both)), (Floats{1, 0, 0, 1}));
  EXPECT_EQ(read(std::get<1>(by_both)), (Floats{1, 0, 0, 2}));
  EXPECT_EQ(beside, std::tuple(std::string("seen"), 7));
}

TEST(Linearize, TakesOneArgumentThatIsAPair) {
  const Tensor a = tensor({1.0F, 2.0F});
  const auto [y, push] =
      linearize([](const std::pair<Tensor, Tensor>& p) { return p.first * p.second; }, std::pair(a, a));
  EXPECT_EQ(read(push(std::pair(a, ones({2})))), (Floats{2, 6}));
}

TEST(Buffers, ReachTheModuleThroughEveryTransform) {
  const auto train = [](nn::BatchNorm& norm) { return sum(norm(ones({4, 2}))); };
  nn::BatchNorm by_jvp(2);
  (void)jvp(train, by_jvp, nn::BatchNorm(2));
  nn::BatchNorm by_vjp(2);
  (void)vjp(train, by_vjp);
  EXPECT_EQ(read(by_jvp.running_mean), (Floats{0.1F, 0.1F}));
  EXPECT_EQ(read(by_jvp.running_mean), read(by_vjp.running_mean));
}

TEST(Functions, TakeArgumentsThatCannotBeAssigned) {
  const float scale = 2;
  const auto activation = [scale](const Tensor& x) { return x * scale; };
  const auto apply = [](const Tensor& x, const auto& f) { return f(x); };
  EXPECT_EQ(read(vmap(apply)(ones({2, 2}), activation)), (Floats{2, 2, 2, 2}));
  EXPECT_EQ(read(grad([&](const Tensor& x, const auto& f) { return sum(f(x)); })(ones({2}), activation)),
            (Floats{2, 2}));
  const Tensor w = tensor({3.0F, 4.0F});
  const auto kept = checkpoint([w](const Tensor& x) { return sum(w * x * x); });
  EXPECT_EQ(read(grad(kept)(ones({2}))), (Floats{6, 8}));
}

TEST(Checkpoint, OfAConstantModuleTakesThreeArguments) {
  const auto block = checkpoint(Scaled());
  EXPECT_EQ(read(block(ones({1}), ones({1}), 2.0)), Floats{6});
  EXPECT_EQ(block.class_name(), "Scaled");
}

TEST(VmapErrors, T2_AnEmptyResultNamesTheCaller) {
  const auto bad = [] { (void)vmap([](const Tensor&) { return Tensor(); })(ones({2})); };
  EXPECT_TRUE(has(error_of(bad), "vmap: result 0 is an empty tensor handle, at functions_test.cpp:"));
}

TEST(Hessian, IsTheJacobianOfTheGradient) {
  const auto f = [](const Tensor& x) { return sum(x * x * x); };
  EXPECT_EQ(read(hessian(f)(tensor({1.0F, 2.0F}))), (Floats{6, 0, 0, 12}));
  const auto g = [](const Tensor& y, const Tensor& x) { return sum(y * x * x); };
  EXPECT_EQ(read(hessian<1>(g)(tensor({2.0F, 3.0F}), tensor({1.0F, 2.0F}))), (Floats{4, 0, 0, 6}));
}

TEST(Hessian, OfATreeIsATreeOfTrees) {
  const auto f = [](const std::vector<Tensor>& x) { return sum(x[0] * x[0] * x[1]); };
  const std::vector<std::vector<Tensor>> blocks = hessian(f)(std::vector{tensor({1.0F, 2.0F}), tensor({3.0F, 4.0F})});
  EXPECT_EQ(read(blocks[0][0]), (Floats{6, 0, 0, 8}));
  EXPECT_EQ(read(blocks[0][1]), (Floats{2, 0, 0, 4}));
  EXPECT_EQ(read(blocks[1][0]), (Floats{2, 0, 0, 4}));
  EXPECT_EQ(read(blocks[1][1]), (Floats{0, 0, 0, 0}));
  const auto of_map = [](const std::map<std::string, Tensor>& x) { return sum(square(x.at("a")) * x.at("b")); };
  const auto by_key = hessian(of_map)(std::map<std::string, Tensor>{{"a", ones({1})}, {"b", tensor({3.0F})}});
  EXPECT_EQ(read(by_key.at("a").at("a")), Floats{6});
  EXPECT_EQ(read(by_key.at("b").at("a")), Floats{2});
}

TEST(Hessian, BySeveralArgumentsIsATupleOfTuples) {
  const auto f = [](const Tensor& x, double scale, const Tensor& y) { return sum(x) * sum(y * y) * scale; };
  const auto [by_x, by_y] = hessian<0, 2>(f)(ones({3}), 2.0, tensor({3.0F, 5.0F}));
  const auto [xx, xy] = by_x;
  const auto [yx, yy] = by_y;
  EXPECT_EQ(xx.shape(), (Shape{3, 3}));
  EXPECT_EQ(xy.shape(), (Shape{3, 2}));
  EXPECT_EQ(read(xy), (Floats{12, 20, 12, 20, 12, 20}));
  EXPECT_EQ(read(yx), (Floats{12, 12, 12, 20, 20, 20}));
  EXPECT_EQ(read(yy), (Floats{12, 0, 0, 12}));
}

TEST(Hessian, OfAStructIsAMapOfStructsByTheNamesOfItsTensors) {
  const Params params{tensor({2.0F}), {{"b", {tensor({3.0F}), tensor({1, 2})}}}};
  const auto f = [](const Params& p) { return sum(p.w * p.w * p.more.at("b")[0]); };
  const auto blocks = hessian(f)(params);
  EXPECT_EQ(read(blocks.at("w").w), Floats{6});
  EXPECT_EQ(read(blocks.at("w").more.at("b")[0]), Floats{4});
  EXPECT_EQ(read(blocks.at("more.b.0").w), Floats{4});
  EXPECT_FALSE(blocks.at("w").more.at("b")[1].defined());  // integers have no derivative
  EXPECT_FALSE(blocks.at("more.b.1").w.defined());
  const auto by_weight = hessian([](const Line& l) { return l.loss(ones({1})) * sum(l.slope); })(Line());
  EXPECT_EQ(read(by_weight.at("slope").slope), Floats{2});
}

TEST(Hessian, ErrorsNameItAndTheLineOfTheCall) {
  const auto second = hessian([](const std::vector<Tensor>& x) { return sum(x[0]); });
  const std::string line = std::to_string(__LINE__ + 1);
  const std::string error = error_of([&] { (void)second(std::vector{tensor({1, 2})}); });
  EXPECT_TRUE(has(error, "hessian: argument 0 must be floating, not int32, at functions_test.cpp:" + line)) << error;
  EXPECT_TRUE(has(error_of([&] { (void)hessian(std::function<Tensor(Tensor)>()); }), "hessian: the function is empty"));
  const auto whole = hessian([](const Tensor& x) { return x; });
  EXPECT_TRUE(has(error_of([&] { (void)whole(ones({2})); }), "hessian: the function must give a scalar"));
}

TEST(CustomGradient, OfTreesAndOfNumbersBesideThem) {
  const auto scaled = custom_gradient(
      [](const std::vector<Tensor>& xs, const Params& p, double scale) { return (xs[0] + xs[1] + p.w) * scale; },
      [](const std::vector<Tensor>& inputs, const auto&, const std::vector<Tensor>& cotangents) {
        return std::vector{cotangents[0] * inputs[1], Tensor(), cotangents[0] * 100};
      });
  const auto f = [&](const std::vector<Tensor>& xs, const Params& p) { return sum(scaled(xs, p, 10.0)); };
  const std::vector xs{tensor({2.0F}), tensor({5.0F})};
  const Params params{tensor({1.0F}), {}};
  EXPECT_EQ(read(scaled(xs, params, 10.0)), Floats{80});
  const auto [dxs, dp] = grad<0, 1>(f)(xs, params);
  EXPECT_EQ(read(dxs[0]), Floats{5});
  EXPECT_EQ(read(dxs[1]), Floats{0});
  EXPECT_EQ(read(dp.w), Floats{100});
}

TEST(CustomGradient, OfAFunctionThatGivesATensorOrSeveral) {
  const auto clipped = custom_gradient([](const Tensor& x) { return x; },
                                       [](const auto&, const auto&, const std::vector<Tensor>& cotangents) {
                                         return std::vector{clip(cotangents[0], -1, 1)};
                                       });
  EXPECT_EQ(read(grad([&](const Tensor& x) { return sum(clipped(x) * 10); })(ones({1}))), (Floats{1}));
  const auto two = custom_gradient([](const Tensor& x, const Tensor& y) { return std::pair(x + y, x - y); },
                                   [](const auto& in, const auto&, const std::vector<Tensor>& cotangents) {
                                     return std::vector{cotangents[0] * in[1], Tensor()};
                                   });
  const auto f = [&](const Tensor& x, const Tensor& y) {
    const auto [a, b] = two(x, y);
    return sum(a + stop_gradient(b));
  };
  const auto [dx, dy] = grad<0, 1>(f)(tensor({2.0F}), tensor({5.0F}));
  EXPECT_EQ(read(dx), (Floats{5}));
  EXPECT_EQ(read(dy), (Floats{0}));
}

TEST(Checkpoint, GivesTheSameAndDrawsTheSame) {
  const auto noisy = checkpoint([](const Params& p, const Tensor& x) { return nn::dropout(tanh(p.w * x), 0.5); });
  const Params params{ones({8}), {}};
  const auto [value, pull] = vjp(noisy, params, ones({8}));
  const auto [dp, dx] = pull(ones({8}));
  const Floats kept = read(value);
  const Floats slopes = read(dx);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i] == 0, slopes[i] == 0) << i;
}

TEST(Checkpoint, OfAModuleIsAModuleWithTheSameNames) {
  auto norm = checkpoint(Norm());
  EXPECT_TRUE(norm.parameters().contains("weight"));
  const auto [value, grads] =
      value_and_grad([](auto& m, const Tensor& x) { return sum(m(x)); })(norm, tensor({1.0F, 2.0F}));
  EXPECT_EQ(read(grads.module.weight), (Floats{1, 2}));
  EXPECT_EQ(norm.module.count.item<int>(), 1);
  EXPECT_EQ(norm.to_string(), "Norm()");
  norm.eval();
  EXPECT_FALSE(norm.module.training);
}

TEST(Vmap, OverArgumentsOfAllKinds) {
  const Tensor rows = tensor({{1.0F, 2.0F}, {3.0F, 4.0F}, {5.0F, 6.0F}});
  const auto dot = [](const Tensor& a, const Tensor& b, double scale) { return sum(a * b) * scale; };
  EXPECT_EQ(read(vmap(dot, {0, std::nullopt, std::nullopt})(rows, tensor({10.0F, 1.0F}), 1.0)), (Floats{12, 34, 56}));
  const auto pair = [](const Params& p) { return std::pair(p.w + 1, sum(p.w)); };
  const auto [more, sums] = vmap(pair, 0, {1, 0})(Params{rows, {}});
  EXPECT_EQ(more.shape(), (Shape{2, 3}));
  EXPECT_EQ(read(sums), (Floats{3, 7, 11}));
  EXPECT_EQ(read(vmap(grad([](const Tensor& x) { return sum(x * x); }))(rows)), (Floats{2, 4, 6, 8, 10, 12}));
}

TEST(Vmap, RefusesWhatExamplesCannotShare) {
  Norm norm;
  const auto call = [](Norm& m, const Tensor& x) { return m(x); };
  const std::string error = error_of([&] { (void)vmap(call, {std::nullopt, 0})(norm, ones({3, 2})); });
  EXPECT_TRUE(has(error, "vmap: the function changed a module's buffer of shape (2,)")) << error;
  EXPECT_EQ(norm.count.item<int>(), 0);
  const auto change = [](Tensor& w, const Tensor& x) {
    w += x;
    return x;
  };
  EXPECT_TRUE(has(error_of([&] { (void)vmap(change, {std::nullopt, 0})(ones({2}), ones({3, 2})); }),
                  "changed an argument of shape (2,)"));
  const auto grow = [](std::vector<Tensor>& xs) {
    xs.push_back(xs[0]);
    return xs[0];
  };
  EXPECT_TRUE(has(error_of([&] { (void)vmap(grow)(std::vector{ones({3, 2})}); }), "left 2 tensors in its arguments"));
  EXPECT_TRUE(has(error_of([&] { (void)vmap(change, {0})(ones({2}), ones({3, 2})); }),
                  "in_axes has 1 entries for 2 arguments, at functions_test.cpp:"));
}

TEST(Grad, ErrorsNameTheLineOfTheCall) {
  const auto whole = [](const Tensor& x) { return x; };
  const auto gradient = grad(whole);
  const std::string line = std::to_string(__LINE__ + 1);
  const std::string error = error_of([&] { (void)gradient(ones({2})); });
  EXPECT_TRUE(has(error, "grad: the function must give a scalar, not float32(2,), at functions_test.cpp:" + line))
      << error;
  EXPECT_TRUE(has(error_of([&] { (void)grad(whole)(tensor({1, 2})); }), "argument 0 must be floating, not int32"));
  EXPECT_TRUE(has(error_of([&] { (void)grad(whole)(Tensor()); }), "argument 0 has an empty handle"));
  EXPECT_TRUE(has(error_of([&] { (void)grad(std::function<Tensor(Tensor)>()); }), "grad: the function is empty"));
}

TEST(ValueAndGrad, ErrorsNameIt) {
  const auto whole = value_and_grad([](const Tensor& x) { return x; });
  EXPECT_TRUE(has(error_of([&] { (void)whole(ones({2})); }), "value_and_grad: the function must give a scalar"));
  EXPECT_TRUE(has(error_of([&] { (void)whole(tensor({1, 2})); }), "value_and_grad: argument 0 must be floating"));
  EXPECT_TRUE(has(error_of([&] { (void)value_and_grad(std::function<Tensor(Tensor)>()); }),
                  "value_and_grad: the function is empty"));
}

}  // namespace
}  // namespace lento
