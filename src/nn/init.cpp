#include <lento/nn/init.h>

#include "base/fail.h"
#include "base/source.h"
#include "nn/init.calls.gen.h"
#include "ops/composite_helpers.h"

#include <cmath>

namespace lento::nn::init {
namespace {

struct Fans {
  double in;
  double out;
};

Fans fans_of(const Shape& shape) {
  if (shape.size() < 2) fail<ShapeError>("a shape of less than two axes has no fan in and fan out: {}", shape);
  double behind = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) behind *= static_cast<double>(shape[i]);
  return {static_cast<double>(shape[1]) * behind, static_cast<double>(shape[0]) * behind};
}

double xavier_std(const Shape& shape, double gain) {
  const Fans fans = fans_of(shape);
  const double sum = fans.in + fans.out;
  return sum == 0 ? 0.0 : gain * std::sqrt(2 / sum);
}

double kaiming_std(const Shape& shape, double a, std::string_view mode, std::string_view nonlinearity) {
  if (mode != "fan_in" && mode != "fan_out") fail<ValueError>("mode is 'fan_in' or 'fan_out', not '{}'", mode);
  const Fans fans = fans_of(shape);
  const double fan = mode == "fan_in" ? fans.in : fans.out;
  return fan == 0 ? 0.0 : calculate_gain(nonlinearity, a) / std::sqrt(fan);
}

/// The bound of uniform numbers that have this standard deviation.
double bound_for(double std) { return std::sqrt(3.0) * std; }

}  // namespace

double calculate_gain(std::string_view nonlinearity, double param, std::source_location site) {
  const CallScope scope("calculate_gain", site);
  if (nonlinearity == "linear" || nonlinearity == "sigmoid" || nonlinearity == "conv1d" || nonlinearity == "conv2d") {
    return 1.0;
  }
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "leaky_relu") return std::sqrt(2.0 / (1 + param * param));
  if (nonlinearity == "selu") return 0.75;
  fail<ValueError>(
      "nonlinearity is one of 'linear', 'conv1d', 'conv2d', 'sigmoid', 'tanh', 'relu', 'leaky_relu', 'selu', not '{}'",
      nonlinearity);
}

Tensor uniform(const Shape& shape, double a, double b, std::optional<DType> dtype, std::optional<Device> device,
               Generator* generator, std::source_location site) {
  return random::uniform(shape, a, b, dtype, device, generator, site);
}

Tensor normal(const Shape& shape, double mean, double std, std::optional<DType> dtype, std::optional<Device> device,
              Generator* generator, std::source_location site) {
  return random::normal(shape, mean, std, dtype, device, generator, site);
}

Tensor trunc_normal(const Shape& shape, double mean, double std, double a, double b, std::optional<DType> dtype,
                    std::optional<Device> device, Generator* generator, std::source_location site) {
  const CallScope scope("trunc_normal", site);
  if (!(std > 0)) fail<ValueError>("std is {}, which is not greater than 0", Scalar(std));
  if (!(a < b)) fail<ValueError>("a is {}, which is not less than b, {}", Scalar(a), Scalar(b));
  return random::truncated_normal(shape, (a - mean) / std, (b - mean) / std, mean, std, dtype, device, generator);
}

Tensor constant(const Shape& shape, double value, std::optional<DType> dtype, std::optional<Device> device,
                std::source_location site) {
  const CallScope scope("constant", site);
  return full(shape, value, dtype.value_or(DType::float32), device);
}

Tensor ones(const Shape& shape, std::optional<DType> dtype, std::optional<Device> device, std::source_location site) {
  return lento::ones(shape, dtype, device, site);
}

Tensor zeros(const Shape& shape, std::optional<DType> dtype, std::optional<Device> device, std::source_location site) {
  return lento::zeros(shape, dtype, device, site);
}

Tensor xavier_uniform(const Shape& shape, double gain, std::optional<DType> dtype, std::optional<Device> device,
                      Generator* generator, std::source_location site) {
  const CallScope scope("xavier_uniform", site);
  const double bound = bound_for(xavier_std(shape, gain));
  return random::uniform(shape, -bound, bound, dtype, device, generator);
}

Tensor xavier_normal(const Shape& shape, double gain, std::optional<DType> dtype, std::optional<Device> device,
                     Generator* generator, std::source_location site) {
  const CallScope scope("xavier_normal", site);
  return random::normal(shape, 0.0, xavier_std(shape, gain), dtype, device, generator);
}

Tensor kaiming_uniform(const Shape& shape, double a, std::string_view mode, std::string_view nonlinearity,
                       std::optional<DType> dtype, std::optional<Device> device, Generator* generator,
                       std::source_location site) {
  const CallScope scope("kaiming_uniform", site);
  const double bound = bound_for(kaiming_std(shape, a, mode, nonlinearity));
  return random::uniform(shape, -bound, bound, dtype, device, generator);
}

Tensor kaiming_normal(const Shape& shape, double a, std::string_view mode, std::string_view nonlinearity,
                      std::optional<DType> dtype, std::optional<Device> device, Generator* generator,
                      std::source_location site) {
  const CallScope scope("kaiming_normal", site);
  return random::normal(shape, 0.0, kaiming_std(shape, a, mode, nonlinearity), dtype, device, generator);
}

Tensor orthogonal(const Shape& shape, double gain, std::optional<DType> dtype, std::optional<Device> device,
                  Generator* generator, std::source_location site) {
  const CallScope scope("orthogonal", site);
  if (shape.size() < 2) fail<ShapeError>("a shape of less than two axes is no matrix: {}", shape);
  const std::int64_t rows = shape[0];
  const std::int64_t columns = rows == 0 ? 0 : element_count(shape) / rows;
  const bool wide = rows < columns;
  const DType target = dtype.value_or(DType::float32);
  // Factorised in float32 at least.
  const DType wide_type = size_of(target) < 4 ? DType::float32 : target;
  const Tensor values =
      random::normal({wide ? columns : rows, wide ? rows : columns}, 0.0, 1.0, wide_type, device, generator);
  const auto [q, r] = linalg::qr(values);
  // With the signs of the diagonal every orthogonal matrix is as likely as any other.
  const Tensor signed_q = multiply(q, sign(linalg::diagonal(r)));
  const Tensor matrix = wide ? composite::swap_last(signed_q) : signed_q;
  return composite::converted(multiply(composite::reshaped(matrix, shape), gain), target);
}

}  // namespace lento::nn::init
