// What a careless caller may give the C++ API: empty handles and functions, null pointers, numbers of every type, ids
// of devices that do not exist. Each is right, or a clear error, or does not compile.
#include <lento/lento.h>
#include <lento/prefetch.h>
#include <lento/print.h>

#include "base/devices.h"
#include "device_under_test.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace lento {
namespace {

// --- numbers ---

template <class T>
concept MakesTensors = requires(T value) { tensor({value, value}); };
template <class T>
concept MakesRows = requires(T value) { tensor({{value}, {value}}); };
template <class T>
concept MakesVectors = requires(std::vector<T> values) { tensor(values); };
template <class T>
concept MakesScalars = requires(T value) { scalar_tensor(value); };
template <class T>
concept Adds = requires(Tensor x, T value) { x + value, value *x, x += value, x[{0}] = value; };
template <class T>
concept Fills = requires(T value) { full({2}, value); };
template <class T>
concept Reads = requires(const Tensor& x) { x.item<T>(); };
template <class T>
concept ReadsAll = requires(const Tensor& x) { x.to_vector<T>(), x.data<T>(); };
template <class T>
concept Indexes = requires(Tensor x, T value) { x[{value}]; };

template <class T>
constexpr bool kIsNumber = Adds<T> && Fills<T> && Reads<T>;
template <class T>
constexpr bool kIsElement = MakesTensors<T> && MakesRows<T> && MakesScalars<T> && ReadsAll<T>;
template <class T>
constexpr bool kIsNothing = !Adds<T> && !Fills<T> && !Reads<T> && !MakesTensors<T> && !MakesRows<T> &&
                            !MakesVectors<T> && !MakesScalars<T> && !ReadsAll<T> && !Indexes<T>;

// Numbers, but no elements: there is no such dtype.
static_assert(kIsNumber<long double> && !MakesTensors<long double> && !MakesVectors<long double> &&
              !MakesRows<long double> && !MakesScalars<long double> && !ReadsAll<long double>);
// Characters are text. Whether char has a sign differs between machines.
static_assert(kIsNothing<char> && kIsNothing<wchar_t> && kIsNothing<char8_t> && kIsNothing<char16_t> &&
              kIsNothing<char32_t>);
static_assert(kIsNothing<const char*> && kIsNothing<std::nullptr_t>);
#ifdef __SIZEOF_INT128__
static_assert(kIsNothing<__int128> && kIsNothing<unsigned __int128>);
#endif

/// Halves have no == of their own: that of tensors would take them.
template <class T>
auto comparable(T value) {
  if constexpr (std::same_as<T, float16> || std::same_as<T, bfloat16>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

template <class T>
class Numbers : public ::testing::Test {};
using NumberTypes = ::testing::Types<signed char, short, int, long, long long, unsigned char, unsigned short,
                                     unsigned int, unsigned long, unsigned long long, float, double, float16, bfloat16,
                                     std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Numbers, NumberTypes);

TYPED_TEST(Numbers, T3_OfEveryTypeMakeTensorsAndCompute) {
  using T = TypeParam;
  static_assert(kIsNumber<T> && kIsElement<T> && MakesVectors<T>);
  const T one = T(1.0F);
  const T two = T(2.0F);
  const Tensor x = tensor({one, two});
  EXPECT_EQ(x.dtype(), dtype_of<T>());
  EXPECT_EQ(size_of(x.dtype()), sizeof(T));
  ASSERT_EQ(x.template to_vector<T>().size(), 2U);
  EXPECT_EQ(comparable(x.template to_vector<T>()[1]), comparable(two));
  EXPECT_EQ(tensor({{one}, {two}}).shape(), (Shape{2, 1}));
  EXPECT_EQ(comparable(tensor(std::vector<T>{one}).template item<T>()), comparable(one));
  EXPECT_EQ(comparable(scalar_tensor(two).template item<T>()), comparable(two));
  EXPECT_EQ(comparable((x * two)[{1}].template item<T>()), comparable(T(4.0F)));
  EXPECT_EQ(comparable(full({1}, two, dtype_of<T>()).template item<T>()), comparable(two));
  const Tensor real = x.real();  // of a complex number no part is left out silently
  EXPECT_EQ(real[{1}].template item<long long>(), 2LL);
  EXPECT_EQ(real[{1}].template item<long double>(), 2.0L);
}

TEST(NumbersAtTheEnds, T3_LongLongsAreExact) {
  constexpr long long kLow = std::numeric_limits<long long>::min();
  constexpr unsigned long long kHigh = std::numeric_limits<unsigned long long>::max();
  EXPECT_EQ(tensor({kLow, 0LL}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{kLow, 0}));
  EXPECT_EQ(tensor({kHigh})[{0}].item<unsigned long long>(), kHigh);
  EXPECT_EQ((tensor({0LL}) + kLow).item<long long>(), kLow);
  EXPECT_EQ((tensor({0ULL}) + kHigh).item<unsigned long long>(), kHigh);
  EXPECT_EQ((tensor({false, true}).to_vector<bool>()), (std::vector<bool>{false, true}));
  EXPECT_EQ((tensor({1.0F}) + 0.5L).item<float>(), 1.5F);
}

// --- devices ---

TEST(NumbersAtTheEnds, AnEmptyShapeIsThatOfASingleNumber) {
  const std::vector<float> one = {3.0F};
  EXPECT_EQ(tensor(one, {}).shape(), Shape{});
  EXPECT_EQ(tensor(one).shape(), Shape{1});
}

TEST(Devices, T2_OnlyRegisteredIdsAreDevices) {
  const std::size_t count = devices().size();
  for (const Device device : devices()) EXPECT_EQ(Device::from_id(device.id()), device);
  for (const std::size_t id : {count, kMaxDevices - 1, kMaxDevices, kMaxDevices + 1, std::size_t{255}}) {
    try {
      (void)Device::from_id(static_cast<std::uint8_t>(id));
      ADD_FAILURE() << id;
    } catch (const DeviceError& error) {
      EXPECT_NE(std::string(error.what()).find("there is no device with id " + std::to_string(id)), std::string::npos)
          << error.what();
      EXPECT_NE(std::string(error.what()).find("reference:0"), std::string::npos) << error.what();
    }
  }
}

// --- pointers ---

TEST(Pointers, NullIsRefusedUnlessThereIsNothing) {
  if (on_another_device()) GTEST_SKIP() << "is about memory of the host";
  const std::shared_ptr<const void> owner;
  for (const DType dtype : {DType::bool_, DType::float32, DType::complex128}) {
    EXPECT_THROW((void)from_host(nullptr, dtype, {3}), ValueError);
    EXPECT_THROW((void)from_host(nullptr, dtype, {}), ValueError);
    EXPECT_THROW((void)from_memory(nullptr, dtype, {3}, owner), ValueError);
    EXPECT_EQ(from_host(nullptr, dtype, {0, 3}).shape(), (Shape{0, 3}));
    EXPECT_EQ(from_memory(nullptr, dtype, {0}, owner).size(), 0);
    EXPECT_EQ((from_host(nullptr, dtype, {0}) * 2).size(), 0);
    EXPECT_THROW((void)format_array(nullptr, dtype, {2}), ValueError);
    EXPECT_THROW((void)array_str(nullptr, dtype, {}), ValueError);
    EXPECT_THROW((void)array_repr(nullptr, dtype, {2}), ValueError);
    EXPECT_EQ(format_array(nullptr, dtype, {0}), "[]");
  }
  EXPECT_THROW((void)tensor(std::span<const float>(), Shape{1}), ShapeError);
  EXPECT_EQ(tensor(std::span<const float>(), Shape{0}).size(), 0);
  EXPECT_EQ(tensor(std::vector<float>{}).size(), 0);
  EXPECT_THROW((void)from_filler(nullptr, DType::float32, {2}), ValueError);
}

// --- empty handles and functions ---

/// Calls with an empty handle, each in every way it can come to be.
void refuses(const char* name, const std::function<void(Tensor&)>& call) {
  Tensor never;
  Tensor moved = tensor({1.0F});
  const Tensor taken = std::move(moved);
  for (Tensor* empty : {&never, &moved}) {
    try {
      call(*empty);
      ADD_FAILURE() << name << " takes an empty handle";
    } catch (const ValueError& error) {
      EXPECT_NE(std::string(error.what()).find("empty"), std::string::npos) << name << ": " << error.what();
    }
    EXPECT_FALSE(empty->defined());
  }
}

TEST(EmptyHandles, T2_AreRefusedByEveryKindOfCall) {
  const Tensor one = tensor({1.0F});
  refuses("dtype", [](Tensor& x) { (void)x.dtype(); });
  refuses("shape", [](Tensor& x) { (void)x.shape(); });
  refuses("device", [](Tensor& x) { (void)x.device(); });
  refuses("is_pending", [](Tensor& x) { (void)x.is_pending(); });
  refuses("id", [](Tensor& x) { (void)x.id(); });
  refuses("item", [](Tensor& x) { (void)x.item<float>(); });
  refuses("to_vector", [](Tensor& x) { (void)x.to_vector<float>(); });
  refuses("data", [](Tensor& x) { (void)x.data<float>(); });
  refuses("data_pointer", [](Tensor& x) { (void)x.data_pointer(); });
  refuses("to_string", [](Tensor& x) { (void)x.to_string(); });
  refuses("unary", [](Tensor& x) { (void)-x; });
  refuses("left", [&](Tensor& x) { (void)(x + one); });
  refuses("right", [&](Tensor& x) { (void)(one + x); });
  refuses("number", [](Tensor& x) { (void)(2 * x); });
  refuses("in place", [](Tensor& x) { x += 1; });
  refuses("into", [&](Tensor& x) {
    Tensor y = one;
    y += x;
  });
  refuses("assign", [&](Tensor& x) { x.assign(one); });
  refuses("assigned", [&](Tensor& x) {
    Tensor y = one;
    y.assign(x);
  });
  refuses("set", [](Tensor& x) { x.set({0}, 1); });
  refuses("setting", [&](Tensor& x) {
    Tensor y = one;
    y[{0}] = x;
  });
  refuses("subscript", [](Tensor& x) { (void)x[{0}]; });
  refuses("subscript =", [](Tensor& x) { x[{0}] = 1; });
  refuses("subscript of const", [](Tensor& x) { (void)std::as_const(x)[{0}]; });
  refuses("as an index", [&](Tensor& x) {
    Tensor y = one;
    (void)y[{x}];
  });
  refuses("slice", [](Tensor& x) { (void)x.slice(0, 0, 1); });
  refuses("method", [](Tensor& x) { (void)x.sum(); });
  refuses("copy", [](Tensor& x) { (void)copy(x); });
  refuses("composite", [](Tensor& x) { (void)softmax(x); });
  refuses("list", [&](Tensor& x) { (void)concat({one, x}); });
  refuses("where", [&](Tensor& x) { (void)where(one > 0, x, one); });
  refuses("optional operand", [&](Tensor& x) { (void)clip(one, x); });
  refuses("einsum", [&](Tensor& x) { (void)einsum("i,i->i", {one, x}); });
  refuses("eval", [](Tensor& x) { eval(x); });
  refuses("eval of two", [&](Tensor& x) { eval({one, x}); });
  refuses("dump", [](Tensor& x) { (void)dump({x}); });
  refuses("graph_key", [](Tensor& x) { (void)graph_key({x}); });
  refuses("export_data", [](Tensor& x) { (void)export_data(x); });
  refuses("to_device", [](Tensor& x) { (void)to_device(x, Device("reference")); });
  refuses("add_step_closure", [](Tensor& x) { add_step_closure([](const std::vector<Tensor>&) {}, {x}); });
  refuses("stop_gradient", [](Tensor& x) { (void)stop_gradient(x); });
  refuses("is_differentiated", [](Tensor& x) { (void)is_differentiated(x); });
  refuses("print", [](Tensor& x) { std::ostringstream() << x; });
}

TEST(EmptyHandles, T2_AreRefusedByDerivativesAndBatches) {
  const Tensor one = tensor({1.0F});
  const TensorFunction same = [](const std::vector<Tensor>& inputs) { return inputs; };
  const BackwardFunction back = [](const auto&, const auto&, const std::vector<Tensor>& c) { return c; };
  refuses("grad", [](Tensor& x) { (void)grad([](const Tensor& y) { return sum(y); })(x); });
  refuses("vjp", [&](Tensor& x) { (void)vjp(same, std::vector{x}); });
  refuses("jvp", [&](Tensor& x) { (void)jvp(same, std::vector{x}, std::vector{one}); });
  refuses("custom_gradient", [&](Tensor& x) { (void)custom_gradient(same, back, {one, x}); });
  refuses("checkpoint", [&](Tensor& x) { (void)checkpoint(same, {one, x}); });
  refuses("vmap", [&](Tensor& x) { (void)vmap(same)(std::vector{one, x}); });
  refuses("vmap over", [&](Tensor& x) { (void)vmap(same)(std::vector{x}); });
  // The same while a function is differentiated, which looks at every tensor in play.
  refuses("inside", [&](Tensor& x) {
    (void)grad([&](const Tensor& y) {
      (void)is_differentiated(x);
      return sum(y);
    })(one);
  });
  refuses("custom_gradient inside", [&](Tensor& x) {
    (void)grad([&](const Tensor& y) { return sum(custom_gradient(same, back, {y, x})[0]); })(one);
  });
  refuses("a result", [&](Tensor& x) { (void)grad([&](const Tensor&) { return x; })(one); });
  refuses("results", [&](Tensor& x) { (void)vmap([&](const Tensor&) { return std::vector{x}; })(one); });
}

TEST(EmptyFunctions, T2_AreRefusedByTheCall) {
  const Tensor one = tensor({1.0F});
  const TensorFunction same = [](const std::vector<Tensor>& inputs) { return inputs; };
  EXPECT_THROW(add_step_closure(nullptr), ValueError);
  const std::function<Tensor(const Tensor&)> none;
  EXPECT_THROW((void)vjp(none, one), ValueError);
  EXPECT_THROW((void)jvp(none, one, one), ValueError);
  EXPECT_THROW((void)jacobian(none), ValueError);
  EXPECT_THROW((void)hessian(none), ValueError);
  EXPECT_THROW((void)custom_gradient(none, BackwardFunction()), ValueError);
  EXPECT_THROW((void)checkpoint(none), ValueError);
  EXPECT_THROW((void)custom_gradient(nullptr, nullptr, {one}), ValueError);
  EXPECT_THROW((void)custom_gradient(same, nullptr, {one}), ValueError);
  EXPECT_THROW((void)checkpoint(nullptr, {one}), ValueError);
  EXPECT_THROW((void)vmap(none), ValueError);
  EXPECT_THROW((void)value_and_grad(none), ValueError);
}

TEST(EmptyFunctions, T2_AreNamedWithTheLineAlsoWhereTheyAreKept) {
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const ValueError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  nn::Linear layer(2, 3);
  optim::SGD optimizer(layer, {.lr = 0.1});
  const std::function<double(std::int64_t)> none;
  nn::Sequential steps{nn::Linear(2, 3), std::function<Tensor(const Tensor&)>()};
  for (const std::string& message : {
           message_of([&] { layer.apply(nullptr); }),
           message_of([&] { optim::lr_scheduler::LambdaLR(optimizer, none); }),
           message_of([&] { optim::lr_scheduler::MultiplicativeLR(optimizer, none); }),
           message_of([&] { (void)optim::join_schedules({optim::constant(1), none}, {3}); }),
           message_of([&] { (void)steps(ones({1, 2})); }),
           message_of([&] { (void)prefetch(std::function<std::optional<int>()>()); }),
       }) {
    EXPECT_NE(message.find(": the function is empty, at handle_test.cpp:"), std::string::npos) << message;
  }
  EXPECT_EQ(optimizer.learning_rate(), 0.1);
}

// --- moving ---

TEST(Moving, E9_ReleasesWhatTheTargetHad) {
  const std::size_t before = memory().live;
  Tensor target = tensor(std::vector<float>(1000, 1.0F));
  const std::size_t with_one = memory().live;
  ASSERT_GT(with_one, before);
  Tensor source = tensor(std::vector<float>(1000, 2.0F));
  wait();  // a copy under way to a device needs what it copies to
  ASSERT_GT(memory().live, with_one);
  target = std::move(source);
  EXPECT_EQ(memory().live, with_one);
  EXPECT_FALSE(source.defined());
  EXPECT_EQ(target.to_vector<float>()[0], 2.0F);

  Tensor& same = target;
  target = std::move(same);
  EXPECT_EQ(target.to_vector<float>()[0], 2.0F);
  target = Tensor();
  EXPECT_EQ(memory().live, before);
}

TEST(Moving, AListLeavesNothingBehind) {
  Ints many(20, 7);
  Ints few{1};
  few = std::move(many);
  EXPECT_TRUE(many.empty());
  EXPECT_EQ(few, Ints(20, 7));
  many = Ints{3, 4};
  EXPECT_EQ(many, (Ints{3, 4}));
}

}  // namespace
}  // namespace lento
