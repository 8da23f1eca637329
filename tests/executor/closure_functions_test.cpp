// Which functions a step closure may be: of all tensors as a vector, of each as an argument, or of none.
#include <lento/lento.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace lento {
namespace {

TEST(ClosureFunctions, MayTakeNothing) {
  bool ran = false;
  bool ran_later = false;
  add_step_closure([&] { ran = true; });
  add_step_closure([&] { ran_later = true; }, {}, true);
  step();
  wait_closures();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(ran_later);
}

TEST(ClosureFunctions, MayTakeAsManyTensorsAsAreGiven) {
  std::vector<float> seen;
  const Tensor x = tensor({1.0F}) + 1;
  Tensor y = tensor({2.0F, 3.0F});
  add_step_closure([&](const Tensor& a) { seen.push_back(a.item<float>()); }, x);
  add_step_closure([&](const Tensor& a) { seen.push_back(a.item<float>()); }, y[1]);
  add_step_closure([&](const Tensor& a, Tensor b) { seen.push_back((a + b.sum()).item<float>()); }, x, y);
  float product = 0;
  add_step_closure([&](const Tensor& a, const Tensor& b) { product = (a * b[0]).item<float>(); }, {x, y}, true);
  add_step_closure([&](const std::vector<Tensor>& all) { seen.push_back(static_cast<float>(all.size())); }, x, y);
  step();
  wait_closures();
  EXPECT_EQ(seen, (std::vector<float>{2, 3, 7, 2}));
  EXPECT_EQ(product, 4);
}

TEST(ClosureFunctions, ThatTakeAnotherNumberOfTensorsAreRefused) {
  const auto one = [](const Tensor&) {};
  EXPECT_THROW(add_step_closure(one), ValueError);
  try {
    add_step_closure(one, ones(1), ones(1));
    ADD_FAILURE() << "no error";
  } catch (const ValueError& error) {
    EXPECT_TRUE(
        std::string(error.what())
            .starts_with("add_step_closure: the function cannot be called with 2 tensors, at closure_functions"))
        << error.what();
  }
  EXPECT_THROW(add_step_closure([] {}, {ones(1)}), ValueError);
  EXPECT_THROW(add_step_closure(std::function<void(const Tensor&)>(), ones(1)), ValueError);
  step();
}

}  // namespace
}  // namespace lento
