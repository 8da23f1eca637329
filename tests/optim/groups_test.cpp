// Groups of parameters, schedulers and averages in C++ (lento/optim/): what they do, save and refuse. That they compute
// what Python does is for test_optim_cpp.py.
#include <lento/lento.h>

#include "optim/expect_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lento {
namespace {

using optim::Group;
namespace lr_scheduler = optim::lr_scheduler;

struct Net : nn::Module {
  struct Layer : nn::Module {
    Tensor weight = ones({2}, DType::float64);
    Tensor bias = ones({1}, DType::float64);
    LENTO_FIELDS(weight, bias)
  };
  Layer body, head;
  nn::Buffer calls = zeros({}, DType::int64);
  LENTO_FIELDS(body, head, calls)
};

Net gradients() { return Net(); }

/// The error begins like this and names a line of this file.
template <class F>
void expect_error(F&& function, std::string_view beginning) {
  lento::expect_error(std::forward<F>(function), beginning, ", at groups_test.cpp:");
}

TEST(Groups, AreMeantByNameByNamesOrByAFunction) {
  const auto is_bias = [](std::string_view name, const Tensor&) { return name.ends_with("bias"); };
  const std::vector<std::pair<optim::Which, std::vector<double>>> cases{
      {"head", {0.5, 0.5, 0.75, 0.75}},
      {{"body.weight", "head"}, {0.75, 0.5, 0.75, 0.75}},
      {is_bias, {0.5, 0.75, 0.5, 0.75}},
  };
  for (const auto& [which, expected] : cases) {
    Net net;
    optim::SGD optimizer(net, {.lr = 0.5, .groups = {{.params = which, .lr = 0.25}}});
    optimizer.step(net, gradients());
    std::vector<double> values;
    for (const auto& [name, tensor] : net.parameters()) values.push_back(tensor.to_vector<double>()[0]);
    EXPECT_EQ(values, expected);
  }
}

TEST(Groups, TakeWhatTheyDoNotHaveFromTheOptimizer) {
  Net net;
  optim::SGD optimizer(net, {.lr = 0.5, .groups = {{.params = "head", .weight_decay = 1.0}}});
  optimizer.lr = 0.25;
  optimizer.step(net, gradients());
  EXPECT_EQ(net.head.bias.item<double>(), 0.5);
  optimizer.groups[0].lr = optim::linear(1.0, 0.0, 2);
  optimizer.step(net, gradients());
  EXPECT_EQ(net.head.bias.item<double>(), 0.5 - 0.5 * 1.5);
  EXPECT_EQ(net.body.bias.item<double>(), 0.5);
}

TEST(Groups, AreSavedAndRestored) {
  const Net net;
  const auto make = [&](double rate) {
    return optim::AdamW(net, {.lr = 0.5,
                              .groups = {{.params = "head", .lr = rate, .betas = std::pair(0.5, 0.6)},
                                         {.params = "body.bias", .weight_decay = rate}}});
  };
  const optim::AdamW saved = make(0.125);
  const TensorDict state = saved.state_dict();
  const std::vector<std::string> first{"step_count", "lr", "groups.0.lr", "groups.0.betas", "groups.1.weight_decay"};
  auto all = names(state);
  all.resize(5);
  EXPECT_EQ(all, first);
  optim::AdamW other = make(0.75);
  other.load_state_dict(state);
  EXPECT_EQ(other.groups[0].lr->at(0), 0.125);
  EXPECT_EQ(other.groups[1].weight_decay, 0.125);
  optim::AdamW scheduled = make(0.75);
  scheduled.groups[0].lr = optim::constant(0.3);
  scheduled.load_state_dict(state);
  EXPECT_EQ(scheduled.groups[0].lr->at(0), 0.3);
  TensorDict bad = state;
  bad["groups.0.betas"] = tensor({0.5, 1.5});
  bad["step_count"] = full({}, 7, DType::int64);
  expect_error([&] { other.load_state_dict(bad); },
               "AdamW.load_state_dict: groups.0.betas are two numbers from 0 to less than 1, not (0.5, 1.5)");
  bad = state;
  bad.erase("groups.1.weight_decay");
  expect_error([&] { other.load_state_dict(bad); }, "AdamW.load_state_dict: missing: groups.1.weight_decay");
  optim::AdamW none(net, {.lr = 0.5});
  expect_error([&] { none.load_state_dict(state); }, "AdamW.load_state_dict: not known here: groups.0.lr");
  EXPECT_EQ(other.step_count, 0);
}

TEST(Groups, TakeSettingsFromAStateThatTheyGotLater) {
  const Net net;
  const auto make = [&] {
    return optim::AdamW(net, {.lr = 0.5, .groups = {{.params = "head"}, {.params = "body.bias"}}});
  };
  optim::AdamW saved = make();
  saved.groups[0].lr = 0.125;
  saved.groups[0].betas = std::pair(0.5, 0.25);
  saved.groups[1].weight_decay = 0.75;
  optim::AdamW other = make();
  other.load_state_dict(saved.state_dict());
  EXPECT_EQ(other.groups[0].lr->at(0), 0.125);
  EXPECT_EQ(other.groups[0].betas, std::pair(0.5, 0.25));
  EXPECT_EQ(other.groups[1].weight_decay, 0.75);
  EXPECT_FALSE(other.groups[1].lr || other.groups[1].eps);
}

TEST(Groups, ThatBecomeWrongAreRefusedByTheStep) {
  Net net;
  const Net before = net;
  const auto broken = [&](const auto& change) {
    return [&, change] {
      optim::SGD optimizer(net, {.lr = 0.5, .groups = {{.params = "head"}}});
      change(optimizer);
      optimizer.step(net, gradients());
    };
  };
  expect_error(broken([](auto& sgd) { sgd.groups[0].momentum = 0.5; }), "SGD.step: groups.0 has momentum, which is no");
  expect_error(broken([](auto& sgd) { sgd.groups[0].weight_decay = -3.0; }), "SGD.step: groups.0.weight_decay is -3.0");
  expect_error(broken([](auto& sgd) { sgd.groups[0].lr = optim::Schedule(); }), "SGD.step: groups.0.lr is an empty");
  expect_error(broken([](auto& sgd) { sgd.lr = optim::Schedule(); }), "SGD.step: lr is an empty function");
  expect_error(broken([](auto& sgd) { sgd.lr = std::nan(""); }), "SGD.step: lr is nan");
  EXPECT_EQ(net.head.bias.item<double>(), before.head.bias.item<double>());
  const std::function<bool(std::string_view, const Tensor&)> none;
  expect_error([&] { optim::SGD(net, {.lr = 0.5, .groups = {{.params = none}}}); }, "SGD: groups.0.params is an empty");
  optim::SGD empty(net, {.lr = 0.5});
  empty.lr = optim::Schedule();
  EXPECT_THROW((void)empty.learning_rate(), ValueError);
}

TEST(Groups, ThatDoNotFitAreRefused) {
  const Net net;
  const auto make = [&](std::vector<Group> groups, double momentum = 0.0) {
    return [&net, momentum, groups = std::move(groups)] {
      optim::SGD(net, {.lr = 0.5, .momentum = momentum, .groups = groups});
    };
  };
  const auto nobody = [](std::string_view, const Tensor&) { return false; };
  expect_error(make({{.params = "hea"}}), "SGD: groups.0: no parameter is named 'hea'");
  expect_error(make({{.params = nobody}}), "SGD: groups.0 has no parameters");
  expect_error(make({{.params = "head"}, {.params = "head.bias"}}), "SGD: head.bias is in groups.0 and groups.1");
  expect_error(make({{.params = "head", .lr = -1.0}}), "SGD: groups.0.lr is -1.0, which is less than 0");
  expect_error(make({{.params = "head", .eps = 1.0}}), "SGD: groups.0 has eps, which is no setting that a group");
  expect_error(make({{.params = "head", .momentum = 0.5}}), "SGD: groups.0 has momentum, which is no setting");
  EXPECT_NO_THROW(make({{.params = "head", .momentum = 0.5}}, 0.9)());
}

TEST(Groups, CompileNothingWhenTheyChange) {
  Net net;
  optim::AdamW optimizer(net, {.groups = {{.params = "head", .lr = 0.1, .weight_decay = 0.5}}});
  const auto run = [&] {
    optimizer.step(net, gradients());
    step();
    wait();
  };
  for (int i = 0; i < 4; ++i) run();
  const auto before = metrics::counter("plan.miss");
  for (const double number : {0.3, 0.2, 0.7}) {
    optimizer.groups[0].lr = number;
    optimizer.groups[0].weight_decay = number;
    run();
  }
  EXPECT_EQ(metrics::counter("plan.miss"), before);
}

TEST(Schedulers, ChangeTheRateAndAreSaved) {
  const Net net;
  optim::SGD optimizer(net, {.lr = 1.0, .groups = {{.params = "head", .lr = 0.5}}});
  lr_scheduler::StepLR scheduler(optimizer, 2, 0.5);
  for (int i = 0; i < 3; ++i) scheduler.step();
  EXPECT_EQ(scheduler.get_last_lr(), (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(names(scheduler.state_dict()), (std::vector<std::string>{"last_epoch", "first_lr", "groups.0.first_lr"}));
  optim::SGD other(net, {.lr = 1.0, .groups = {{.params = "head", .lr = 0.5}}});
  lr_scheduler::StepLR again(other, 2, 0.5);
  other.load_state_dict(optimizer.state_dict());
  again.load_state_dict(scheduler.state_dict());
  again.step();
  EXPECT_EQ(again.get_last_lr(), (std::vector<double>{0.125, 0.25}));
  expect_error([&] { again.load_state_dict({}); }, "StepLR.load_state_dict: missing: last_epoch");
}

TEST(Schedulers, ResumeInEitherOrder) {
  const Tensor w = ones({1});
  optim::SGD optimizer(w, {.lr = 1.0});
  lr_scheduler::LinearLR scheduler(optimizer, 0.25, 1.0, 4);
  for (int i = 0; i < 2; ++i) scheduler.step();
  for (const bool made_first : {true, false}) {
    optim::SGD other(w, {.lr = 1.0});
    std::optional<lr_scheduler::LinearLR> again;
    if (made_first) again.emplace(other, 0.25, 1.0, 4);
    other.load_state_dict(optimizer.state_dict());
    if (!made_first) again.emplace(other, 0.25, 1.0, 4);
    again->load_state_dict(scheduler.state_dict());
    EXPECT_EQ(other.learning_rate(), 0.625);
    again->step();
    EXPECT_EQ(other.learning_rate(), 0.8125);
  }
}

TEST(Schedulers, OfAPlateauResumeInEitherOrder) {
  const Tensor w = ones({1});
  optim::SGD optimizer(w, {.lr = 1.0});
  lr_scheduler::ReduceLROnPlateau scheduler(optimizer, {.factor = 0.5, .patience = 0});
  for (int i = 0; i < 3; ++i) scheduler.step(1.0);
  EXPECT_EQ(optimizer.learning_rate(), 0.25);
  optim::SGD other(w, {.lr = 1.0});
  other.load_state_dict(optimizer.state_dict());
  lr_scheduler::ReduceLROnPlateau again(other, {.factor = 0.5, .patience = 0});
  again.load_state_dict(scheduler.state_dict());
  EXPECT_EQ(other.learning_rate(), 0.25);
  again.step(1.0);
  EXPECT_EQ(other.learning_rate(), 0.125);
}

TEST(Schedulers, LeaveARateAloneThatAGroupGotLater) {
  const Net net;
  optim::SGD optimizer(net, {.lr = 1.0, .groups = {{.params = "head", .weight_decay = 0.5}}});
  lr_scheduler::ExponentialLR scheduler(optimizer, 0.5);
  optimizer.groups[0].lr = 1e-3;
  scheduler.step();
  EXPECT_EQ(scheduler.get_last_lr(), (std::vector<double>{1e-3, 0.5}));
  // A scheduler that found the rate goes on as the first one did.
  optim::SGD other(net, {.lr = 1.0, .groups = {{.params = "head", .lr = 1.0, .weight_decay = 0.5}}});
  other.load_state_dict(optimizer.state_dict());
  lr_scheduler::ExponentialLR again(other, 0.5);
  other.load_state_dict(optimizer.state_dict());
  again.load_state_dict(scheduler.state_dict());
  again.step();
  EXPECT_EQ(again.get_last_lr(), (std::vector<double>{1e-3, 0.25}));
}

TEST(Schedulers, RefuseOtherGroupsThanThereWere) {
  Net net;
  optim::SGD optimizer(net, {.lr = 1.0, .groups = {{.params = "head", .lr = 0.5}}});
  lr_scheduler::StepLR scheduler(optimizer, 2);
  optimizer.groups.push_back({.params = "body"});
  expect_error([&] { scheduler.step(); }, "StepLR: there are 2 groups, and there were 1 when the scheduler was made");
  optimizer.groups.clear();
  expect_error([&] { scheduler.load_state_dict({}); },
               "StepLR.load_state_dict: there are 0 groups, and there were 1 when the scheduler was made");
  expect_error([&] { optimizer.step(net, gradients()); },
               "SGD.step: there are 0 groups, and there were 1 when the optimizer was made");
}

TEST(Schedules, BeginWithTheirFirstValue) {
  EXPECT_EQ(optim::cosine_onecycle_schedule(10, 1.0, 0.3, 4.0)(-3), 0.25);
  EXPECT_EQ(optim::linear_onecycle_schedule(10, 1.0, 0.3, 0.8, 4.0)(-3), 0.25);
}

TEST(Schedules, OfNoStepsAreThoseOfOptax) {
  EXPECT_EQ(optim::linear_schedule(0.5, 1.0, 0)(3), 0.5);
  EXPECT_EQ(optim::polynomial_schedule(0.5, 1.0, 2.0, 0)(3), 0.5);
  EXPECT_EQ(optim::warmup_constant_schedule(0.5, 1.0, 0)(3), 0.5);
  EXPECT_EQ(optim::warmup_cosine_decay_schedule(0.5, 1.0, 0, 4)(0), 1.0);
  EXPECT_EQ(optim::warmup_exponential_decay_schedule(0.5, 1.0, 0, 2, 0.25)(1), 0.5);
  expect_error([] { optim::linear_schedule(0.5, 1.0, -1); }, "linear_schedule: transition_steps is -1");
}

TEST(Schedulers, RefuseWhatDoesNotFit) {
  const Tensor w = ones({1});
  optim::SGD optimizer(w, {.lr = 1.0});
  expect_error([&] { lr_scheduler::StepLR(optimizer, 0); }, "StepLR: step_size is 0, which is less than 1");
  expect_error([&] { lr_scheduler::OneCycleLR(optimizer, 0.1, 5); },
               "OneCycleLR: cycle_momentum needs an optimizer with a momentum");
  expect_error([&] { lr_scheduler::CyclicLR(optimizer, 0.1, 0.2, {.mode = "x"}); },
               "CyclicLR: mode is one of 'triangular', 'triangular2', 'exp_range', not 'x'");
  expect_error([&] { lr_scheduler::SequentialLR(optimizer, {}, {2}); },
               "SequentialLR: there are 0 schedulers and 1 milestones; it needs one milestone fewer than schedulers");
  const lr_scheduler::ConstantLR part(optimizer);
  expect_error([&] { lr_scheduler::SequentialLR(optimizer, {part, part, part}, {3, 2}); },
               "SequentialLR: milestones have to rise, and are [3, 2]");
  expect_error([&] { lr_scheduler::ChainedScheduler({}, optimizer); }, "ChainedScheduler: there are no schedulers");
  optim::SGD scheduled(w, {.lr = optim::constant(1.0)});
  expect_error([&] { lr_scheduler::StepLR(scheduled, 2); },
               "StepLR: the optimizer's lr is a function of the step already");
  lr_scheduler::OneCycleLR cycle(optimizer, 0.1, 2, {.cycle_momentum = false});
  cycle.step();
  cycle.step();
  expect_error([&] { cycle.step(); }, "OneCycleLR: the cycle has 2 steps, and this is step 3");
  expect_error([&] { cycle.step(70); }, "OneCycleLR: the cycle has 2 steps, and this is step 70");
  expect_error([&] { optim::join_schedules({optim::constant(1.0)}, {2}); },
               "join_schedules: there are 1 schedules and 1 boundaries");
  expect_error([&] { optim::cosine_decay_schedule(1.0, 0); }, "cosine_decay_schedule: decay_steps is 0");
  expect_error([&] { lr_scheduler::OneCycleLR(optimizer, 0.1, 2, {.pct_start = 0, .cycle_momentum = false}); },
               "OneCycleLR: pct_start is 0.0, which is not more than 0 and at most 1");
  expect_error([&] { lr_scheduler::OneCycleLR(optimizer, 0.1, 2, {.cycle_momentum = false, .div_factor = 0}); },
               "OneCycleLR: div_factor is 0.0, which is not more than 0");
}

TEST(Schedulers, RefusePartsThatTheyWouldNotFollow) {
  const Tensor w = ones({1});
  optim::Adam optimizer(w);
  const lr_scheduler::LRScheduler cycle = lr_scheduler::OneCycleLR(optimizer, 0.1, 5);
  const lr_scheduler::LRScheduler plateau = lr_scheduler::ReduceLROnPlateau(optimizer);
  expect_error(
      [&] { lr_scheduler::ChainedScheduler({cycle}, optimizer); },
      "ChainedScheduler: a OneCycleLR that changes the momentum cannot be a part; give cycle_momentum = false");
  expect_error([&] { lr_scheduler::SequentialLR(optimizer, {plateau}, {}); },
               "SequentialLR: a ReduceLROnPlateau cannot be a part of it: it needs a number at each step");
}

TEST(Schedulers, RefuseEpochsThatAreNoneAndChangeNothing) {
  const Tensor w = ones({1});
  optim::SGD optimizer(w, {.lr = 1.0});
  lr_scheduler::ReduceLROnPlateau plateau(optimizer, {.patience = 0});
  for (const auto& [name, value] : {std::pair("last_epoch", -1.0), std::pair("times", 1e300)}) {
    TensorDict state = plateau.state_dict();
    state.insert_or_assign(name, tensor(value));
    expect_error([&] { plateau.load_state_dict(state); }, std::string("ReduceLROnPlateau.load_state_dict: ") + name);
    EXPECT_EQ(plateau.last_epoch, 0);
  }
  lr_scheduler::OneCycleLR cycle(optimizer, 0.1, 2, {.pct_start = 0.5, .cycle_momentum = false});
  EXPECT_EQ(optimizer.lr.at(0), 0.1);  // the phase up has no length
  TensorDict state = cycle.state_dict();
  state.insert_or_assign("last_epoch", tensor(9.0));
  expect_error([&] { cycle.load_state_dict(state); }, "OneCycleLR: the cycle has 2 steps, and this is step 9");
  EXPECT_EQ(cycle.last_epoch, 0);
  expect_error([&] { cycle.step(std::numeric_limits<double>::quiet_NaN()); },
               "OneCycleLR: the epoch is nan, which is not from 0 to 2**53");
}

TEST(Averages, OfParametersFadeAndAreSaved) {
  Net net;
  optim::EMA average(net, 0.75);
  average.update(net);
  net.body.weight = net.body.weight * 5;
  net.calls = net.calls + 1;
  average.update(net);
  EXPECT_EQ(average.model.body.weight.to_vector<double>()[0], 2.0);
  EXPECT_EQ(average.model.calls.item<std::int64_t>(), 1);
  optim::EMA again(Net(), 0.75);
  EXPECT_EQ(names(average.state_dict()).back(), "model.calls");
  again.load_state_dict(average.state_dict());
  EXPECT_EQ(again.model.calls.item<std::int64_t>(), 1);
  EXPECT_EQ(again.n_averaged, 2);
  EXPECT_EQ(again.model.body.weight.to_vector<double>()[0], 2.0);
  expect_error([&] { optim::EMA(net, 1.5); }, "EMA: decay is 1.5, which is not from 0 to 1");
  expect_error([&] { again.load_state_dict({}); }, "EMA.load_state_dict: missing: n_averaged");
}

TEST(Averages, OfGradientsMakeOneStep) {
  Tensor w = zeros({1});
  optim::SGD optimizer(w, {.lr = 1.0});
  optim::MultiSteps steps(optimizer, 2);
  EXPECT_FALSE(steps.step(w, full({1}, 1.0)));
  EXPECT_EQ(w.item<float>(), 0);
  EXPECT_TRUE(steps.step(w, full({1}, 3.0)));
  EXPECT_EQ(w.item<float>(), -2);
  EXPECT_EQ(optimizer.step_count, 1);
  Tensor changed = full({1}, 1.0);
  EXPECT_FALSE(steps.step(w, changed));
  changed = changed * 0;
  EXPECT_TRUE(steps.step(w, full({1}, 3.0)));
  EXPECT_EQ(w.item<float>(), -4);
  steps.step(w, changed);
  expect_error([&] { steps.step(w, Tensor()); }, "MultiSteps.step: leaf 0 is no tensor, and was one before");
  expect_error([&] { optim::MultiSteps(optimizer, 0); }, "MultiSteps: every is 0, which is less than 1");
}

TEST(Averages, OfGradientsGoByName) {
  Net net;
  const Net before = net;
  optim::SGD optimizer(net, {.lr = 1.0});
  optim::MultiSteps steps(optimizer, 2);
  const TensorDict given = net.parameters();
  TensorDict turned;
  for (const std::string& name : [&] {
         std::vector<std::string> all = names(given);
         std::reverse(all.begin(), all.end());
         return all;
       }()) {
    turned.insert_or_assign(name, given.at(name));
  }
  EXPECT_FALSE(steps.step(net, given));
  expect_error([&] { steps.step(net, TensorDict{{"other", ones({1})}}); },
               "MultiSteps.step: what is given as gradients: the leaves are ['other'] instead of ");
  EXPECT_TRUE(steps.step(net, turned));
  for (const auto& [name, value] : net.parameters()) {
    const Tensor expected = before.parameters().at(name) - given.at(name);
    EXPECT_TRUE(allclose(value, expected).item<bool>()) << name;
  }
}

TEST(Averages, RefuseWhatIsOfAnotherForm) {
  const Tensor w = zeros({2});
  optim::EMA average(w, 0.5);
  expect_error([&] { average.update(zeros({3})); }, "EMA.update: shapes differ: (3,) and (2,)");
  for (const double count : {-5.0, 0.5}) {
    TensorDict state = average.state_dict();
    state["n_averaged"] = full({}, count, DType::float64);
    EXPECT_THROW(average.load_state_dict(state), ValueError);
  }
  EXPECT_EQ(average.n_averaged, 0);
}

TEST(Clipping, TakesOtherNorms) {
  const std::vector<Tensor> parts{tensor({3.0, -1.0}), tensor({4.0})};
  EXPECT_EQ(optim::global_norm(parts, 1.0).item<double>(), 8);
  EXPECT_EQ(optim::global_norm(parts, std::numeric_limits<double>::infinity()).item<double>(), 4);
  EXPECT_NEAR(optim::clip_grad_norm(parts, 2.0, 1.0).first[1].item<double>(), 1.0, 1e-6);
  expect_error([&] { optim::global_norm(parts, 0.0); }, "global_norm: norm_type is 0.0, which is not greater than 0");
  expect_error([&] { optim::clip_grad_norm(parts, -1.0); }, "clip_grad_norm: max_norm is -1.0, which is less than 0");
  expect_error([&] { optim::clip_grad_value(parts, -1.0); }, "clip_grad_value: limit is -1.0, which is less than 0");
  expect_error([&] { optim::clip_grad_value(parts, std::numeric_limits<double>::quiet_NaN()); },
               "clip_grad_value: limit is nan, which is less than 0 or no number");
}

}  // namespace
}  // namespace lento
