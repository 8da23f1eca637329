// What the tests of optimizers share.
#pragma once

#include <lento/error.h>
#include <lento/tensor_dict.h>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace lento {

inline std::vector<std::string> names(const TensorDict& dict) {
  std::vector<std::string> found;
  for (const auto& [name, tensor] : dict) found.emplace_back(name);
  return found;
}

/// The error that `function` throws begins like this, and has `place` where one is given.
template <class F>
void expect_error(F&& function, std::string_view beginning, std::string_view place = "") {
  try {
    function();
    ADD_FAILURE() << "no error: " << beginning;
  } catch (const Error& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with(beginning)) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(place), std::string_view::npos) << error.what();
  }
}

}  // namespace lento
