// Thousands of small programs on two toy devices and the CPU device, with something that goes wrong at a random moment:
// what is read is right or raises what went wrong, nothing hangs, and all memory comes back.
#include "toy/toy.h"

#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>

namespace lento::test {
namespace {

/// A program that draws what it does next. Beside every tensor stands the value that it must have.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, std::function<void(const Error&)> check) : draw_(seed), check_(std::move(check)) {}

  void run(int actions) {
    for (int i = 0; i < actions; ++i) guarded([this] { act(); });
  }
  void read_all() {
    for (const Known& known : known_) guarded([&] { read(known); });
  }

 private:
  using Floats = std::vector<float>;
  struct Known {
    Tensor tensor;
    Floats value;
  };

  void guarded(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      check_(error);
    }
  }

  std::size_t below(std::size_t end) { return draw_() % end; }
  const Known& any() { return known_[below(known_.size())]; }
  Device place() {
    const char* const names[] = {"toy:0", "toy:1", "cpu"};
    return Device(names[below(3)]);
  }
  void keep(Tensor tensor, Floats value) {
    if (known_.size() == 6) known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(below(6)));
    known_.push_back({std::move(tensor), std::move(value)});
  }
  static void read(const Known& known) { EXPECT_EQ(known.tensor.to_vector<float>(), known.value); }

  template <class Op>
  void combine(const Op& op) {
    const Known& x = any();
    const Known& y = any();
    if (x.tensor.device() != y.tensor.device()) return;
    Floats value(x.value.size());
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = op(x.value[i], y.value[i]);
    keep(op(x.tensor, y.tensor), std::move(value));
  }

  void act() {
    if (known_.empty() || below(8) == 0) {
      Floats value;
      for (int i = 0; i < 4; ++i) value.push_back(static_cast<float>(below(100)));
      Tensor tensor = from_host(value.data(), DType::float32, {4}, place());
      return keep(std::move(tensor), std::move(value));
    }
    switch (below(9)) {
      case 0:
        return combine([](const auto& x, const auto& y) { return x + y; });
      case 1:
        return combine([](const auto& x, const auto& y) { return x - y; });
      case 2: {
        const Known& x = any();
        Floats value = x.value;
        std::ranges::sort(value);
        return keep(sort(x.tensor), std::move(value));
      }
      case 3: {
        const Known& x = any();
        const Floats value = {x.value[3], x.value[0], x.value[0], x.value[2]};
        const std::int64_t positions[] = {3, 0, -4, 2};
        return keep(take(x.tensor, from_host(positions, DType::int64, {4}, x.tensor.device()), 0), value);
      }
      case 4:
        return step(place());
      case 5:
        return eval(any().tensor);
      case 6: {
        const Known& x = any();
        return keep(to_device(x.tensor, place()), Floats(x.value));
      }
      case 7:
        return read(any());
      default: {
        const Known x = any();
        add_step_closure([x](const std::vector<Tensor>& args) { read({args[0], x.value}); }, {x.tensor}, false,
                         x.tensor.device());
        return step(x.tensor.device());
      }
    }
  }

  std::mt19937_64 draw_;
  std::function<void(const Error&)> check_;
  std::vector<Known> known_;
};

class ToyFaults : public Toy, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override { Toy::SetUp(); }
  void TearDown() override { Toy::TearDown(); }

  static constexpr int kParts = 4;
  static int program_count() {
    const char* const wanted = std::getenv("LENTO_TEST_PROGRAMS");
    return wanted == nullptr ? 2000 : std::atoi(wanted);
  }

  /// About as many of its kind as there are in a program.
  static unsigned events_of(toy::Fault fault) {
    switch (fault) {
      case toy::Fault::allocate:
        return 12;
      case toy::Fault::compile:
        return 2;
      case toy::Fault::fence:
        return 10;
      case toy::Fault::launch:
        return 3;
      case toy::Fault::submission:
        return 6;
      default:
        return 60;  // of a queue
    }
  }

  static std::size_t bytes_on_toys() { return memory(device(0)).live + memory(device(1)).live; }

  /// Runs programs with a fault at a random moment of each; `check` sees every error.
  void run_programs(const std::function<toy::Fault(int)>& fault_of, const std::function<void(const Error&)>& check) {
    for (int seed = GetParam(); seed < program_count(); seed += kParts) {
      SCOPED_TRACE(seed);
      toy::set_support(seed % 3 == 0 ? toy::Support::few : toy::Support::all);
      toy::set_direct_copies(seed % 7 != 0);
      toy::set_delays(seed % 8 == 0 ? static_cast<std::uint64_t>(seed) + 1 : 0);
      std::mt19937_64 draw(static_cast<std::uint64_t>(seed));
      const std::size_t before = bytes_on_toys();
      {
        RandomProgram program(draw(), check);
        cache::clear();  // or nearly all programs would find what they need
        const toy::Fault fault = fault_of(seed);
        toy::fail_at(fault, static_cast<int>(draw() % events_of(fault)));
        program.run(20);
        program.read_all();
      }
      Tried& tried = tried_[fault_of(seed)];
      ++tried.programs;
      if (!toy::failure_is_ahead()) ++tried.faults;
      toy::fail_at(toy::Fault::none);
      for (const int index : {0, 1}) forget_closures(device(index));
      forget_failures();
      ASSERT_EQ(bytes_on_toys(), before);
      for (const int index : {0, 1}) {
        if (device(index).is_lost()) toy::replace(index);
      }
      if (HasFailure()) return;
    }
    for (const auto& [fault, tried] : tried_) {
      // Where few programs are asked for, a kind of fault may come in none of them.
      if (tried.programs >= 20) {
        EXPECT_GT(tried.faults, tried.programs / 4) << "fault " << static_cast<int>(fault) << " of " << tried.programs;
      }
    }
  }

  struct Tried {
    int programs = 0;
    int faults = 0;  // that came before their program had ended
  };
  std::map<toy::Fault, Tried> tried_;

  /// Those of steps that were refused stay queued.
  static void forget_closures(Device where) {
    while (true) {
      try {
        return run_step_closures(where);
      } catch (const Error&) {
        continue;
      }
    }
  }
};

TEST_P(ToyFaults, D5_LosingADeviceAtAnyMoment) {
  run_programs([](int) { return toy::Fault::loss; },
               [](const Error& error) {
                 EXPECT_EQ(error.kind(), ErrorKind::device_lost) << error.what();
                 const std::string message = error.what();
                 const bool names_it = (device(0).is_lost() && message.find("toy:0 is lost") != std::string::npos) ||
                                       (device(1).is_lost() && message.find("toy:1 is lost") != std::string::npos);
                 EXPECT_TRUE(names_it) << message;
               });
}

TEST_P(ToyFaults, E6_E7_AFailureAtAnyMoment) {
  run_programs(
      [](int seed) {
        const toy::Fault faults[] = {toy::Fault::allocate, toy::Fault::compile, toy::Fault::launch, toy::Fault::fence,
                                     toy::Fault::submission};
        return faults[seed / kParts % std::size(faults)];
      },
      [](const Error& error) {
        EXPECT_NE(std::string(error.what()).find("a test forbids"), std::string::npos) << error.what();
      });
}

INSTANTIATE_TEST_SUITE_P(Part, ToyFaults, ::testing::Range(0, 4));

}  // namespace
}  // namespace lento::test
