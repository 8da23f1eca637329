// Initial values of weights: functions that make a tensor of a shape, with PyTorch's names without the underscore.
// The dtype is float32 where none is given; random numbers come from the default generator unless another is given.
#pragma once

#include <lento/device.h>
#include <lento/dtype.h>
#include <lento/export.h>
#include <lento/ints.h>
#include <lento/random.h>
#include <lento/tensor.h>

#include <optional>
#include <source_location>
#include <string_view>

namespace lento::nn::init {

/// Uniform numbers from `a` to `b`.
LENTO_API Tensor uniform(const Shape& shape, double a = 0.0, double b = 1.0, std::optional<DType> dtype = {},
                         std::optional<Device> device = {}, Generator* generator = nullptr,
                         std::source_location site = std::source_location::current());
/// Normal numbers.
LENTO_API Tensor normal(const Shape& shape, double mean = 0.0, double std = 1.0, std::optional<DType> dtype = {},
                        std::optional<Device> device = {}, Generator* generator = nullptr,
                        std::source_location site = std::source_location::current());
/// Normal numbers that lie between `a` and `b`. Throws ValueError unless a < b and std > 0.
LENTO_API Tensor trunc_normal(const Shape& shape, double mean = 0.0, double std = 1.0, double a = -2.0, double b = 2.0,
                              std::optional<DType> dtype = {}, std::optional<Device> device = {},
                              Generator* generator = nullptr,
                              std::source_location site = std::source_location::current());
/// `value` everywhere.
LENTO_API Tensor constant(const Shape& shape, double value, std::optional<DType> dtype = {},
                          std::optional<Device> device = {},
                          std::source_location site = std::source_location::current());
LENTO_API Tensor ones(const Shape& shape, std::optional<DType> dtype = {}, std::optional<Device> device = {},
                      std::source_location site = std::source_location::current());
LENTO_API Tensor zeros(const Shape& shape, std::optional<DType> dtype = {}, std::optional<Device> device = {},
                       std::source_location site = std::source_location::current());

// A weight of shape (outputs, inputs, …) has a fan in of inputs times the extents behind them, and a fan out of outputs
// times those. What goes by them throws ShapeError for a shape of less than two axes.

/// Glorot and Bengio: uniform up to `gain * sqrt(6 / (fan_in + fan_out))` on either side.
LENTO_API Tensor xavier_uniform(const Shape& shape, double gain = 1.0, std::optional<DType> dtype = {},
                                std::optional<Device> device = {}, Generator* generator = nullptr,
                                std::source_location site = std::source_location::current());
/// The same with normal numbers, of standard deviation `gain * sqrt(2 / (fan_in + fan_out))`.
LENTO_API Tensor xavier_normal(const Shape& shape, double gain = 1.0, std::optional<DType> dtype = {},
                               std::optional<Device> device = {}, Generator* generator = nullptr,
                               std::source_location site = std::source_location::current());
/// He and others: uniform up to `calculate_gain(nonlinearity, a) * sqrt(3 / fan)` on either side; `mode` says which
/// fan, "fan_in" or "fan_out".
LENTO_API Tensor kaiming_uniform(const Shape& shape, double a = 0.0, std::string_view mode = "fan_in",
                                 std::string_view nonlinearity = "leaky_relu", std::optional<DType> dtype = {},
                                 std::optional<Device> device = {}, Generator* generator = nullptr,
                                 std::source_location site = std::source_location::current());
/// The same with normal numbers, of standard deviation `calculate_gain(nonlinearity, a) / sqrt(fan)`.
LENTO_API Tensor kaiming_normal(const Shape& shape, double a = 0.0, std::string_view mode = "fan_in",
                                std::string_view nonlinearity = "leaky_relu", std::optional<DType> dtype = {},
                                std::optional<Device> device = {}, Generator* generator = nullptr,
                                std::source_location site = std::source_location::current());
/// A matrix with orthogonal rows or columns, whichever are fewer, of length `gain`; all axes but the first are its
/// columns. Throws ShapeError for a shape of less than two axes.
LENTO_API Tensor orthogonal(const Shape& shape, double gain = 1.0, std::optional<DType> dtype = {},
                            std::optional<Device> device = {}, Generator* generator = nullptr,
                            std::source_location site = std::source_location::current());

/// By how much the values before this function ("relu", "tanh", "leaky_relu", "selu", "sigmoid", "linear") are scaled
/// so that those behind it keep their size. `param` is the slope of a leaky relu. Throws ValueError for others.
LENTO_API double calculate_gain(std::string_view nonlinearity, double param = 0.01,
                                std::source_location site = std::source_location::current());

}  // namespace lento::nn::init
