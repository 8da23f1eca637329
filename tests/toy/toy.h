// What the tests of the toy device share.
#pragma once

#include <lento/lento.h>

#include "backends/toy/toy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace lento::test {

class Toy : public ::testing::Test {
 protected:
  void SetUp() override { toy::register_toy(); }
  void TearDown() override {
    toy::hold(false);
    toy::set_delays(0);
    toy::fail_at(toy::Fault::none);
    forget_failures();
    toy::set_support(toy::Support::all);
    for (const int index : {0, 1}) {
      if (device(index).is_lost()) toy::replace(index);
    }
    cache::clear();
  }

  /// Waits for everything, until no failure that the test provoked is left to be told.
  static void forget_failures() {
    while (true) {
      try {
        return wait();
      } catch (const Error&) {
        continue;
      }
    }
  }

  static Device device(int index = 0) { return Device(index == 0 ? "toy:0" : "toy:1"); }
  static Tensor on(Device where, const std::vector<float>& values) {
    return from_host(values.data(), DType::float32, Shape{static_cast<std::int64_t>(values.size())}, where);
  }
  static Tensor on_toy(const std::vector<float>& values) { return on(device(), values); }
  static Tensor positions(const std::vector<std::int64_t>& values, Device where) {
    return from_host(values.data(), DType::int64, Shape{static_cast<std::int64_t>(values.size())}, where);
  }
  using Floats = std::vector<float>;
};

}  // namespace lento::test
