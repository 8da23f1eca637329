#include <lento/nn/batch_norm.h>

#include "base/fail.h"
#include "base/format.h"
#include "base/source.h"
#include "executor/warn.h"
#include "nn/batch_norm.calls.gen.h"
#include "nn/layer_parts.h"

#include <atomic>

namespace lento::nn {

// --- what both share ---

RunningNorm::RunningNorm(std::string_view caller, std::int64_t num_features, const BatchNormOptions& options,
                         const std::source_location& site)
    : num_features(num_features),
      eps(options.eps),
      momentum(options.momentum),
      track_running_stats(options.track_running_stats) {
  const CallScope scope(caller, site);
  check_at_least(0, "num_features", num_features);
  if (options.affine) weight = initial::ones({num_features}, options.dtype);
  if (options.affine) bias = initial::zeros({num_features}, options.dtype);
  if (!track_running_stats) return;
  running_mean = initial::zeros({num_features}, options.dtype);
  running_var = initial::ones({num_features}, options.dtype);
  num_batches_tracked = initial::zeros({}, DType::int64);
}

void RunningNorm::update(std::string_view caller, bool counts, Tensor mean, Tensor var,
                         const std::source_location& site) {
  const CallScope scope(caller, site);
  // Only now: an input that is refused is no batch.
  if (counts || !momentum) num_batches_tracked = add(num_batches_tracked, 1);
  if (!momentum) {
    // How many batches there were is a tensor, so that no plan depends on it.
    const Tensor share = divide(1, astype(num_batches_tracked, mean.dtype()));
    mean = add(running_mean, multiply(subtract(mean, running_mean), share));
    var = add(running_var, multiply(subtract(var, running_var), share));
  }
  running_mean = mean;
  running_var = var;
}

std::string RunningNorm::shown(bool usually_affine, bool usually_tracked) const {
  return Looks()
      .value(num_features)
      .named("eps", eps)
      .named("momentum", momentum)
      .changed("affine", weight.has_value(), usually_affine)
      .changed("track_running_stats", track_running_stats, usually_tracked)
      .text();
}

void RunningNorm::fields(tree::Visitor& visitor) {
  tree::detail::visit_members(visitor, "weight, bias", weight, bias);
  if (!track_running_stats) return;
  tree::detail::visit_members(visitor, "running_mean, running_var, num_batches_tracked", running_mean, running_var,
                              num_batches_tracked);
}

namespace {

std::optional<Tensor> if_tracked(const RunningNorm& norm, const Tensor& statistic) {
  return norm.track_running_stats ? std::optional(statistic) : std::nullopt;
}

}  // namespace

// --- batch norm ---

BatchNorm::BatchNorm(std::int64_t num_features, const BatchNormOptions& options, std::source_location site)
    : RunningNorm("BatchNorm()", num_features, options, site) {}

Tensor BatchNorm::operator()(const Tensor& x, std::source_location site) {
  if (!training || !track_running_stats) return std::as_const(*this)(x, site);
  const auto made = nn::batch_norm_train(x, running_mean, running_var, weight, bias, momentum.value_or(1.0), eps, site);
  update("BatchNorm", true, made.running_mean, made.running_var, site);
  return made.output;
}

Tensor BatchNorm::operator()(const Tensor& x, std::source_location site) const {
  static std::atomic<bool> told = false;
  if (training && track_running_stats && !told.exchange(true)) {
    warn(WarningKind::other,
         fmt::format("BatchNorm: a constant module in training mode does not update its running statistics; let the "
                     "function take the module as a reference that is not constant, or call eval() first, at {}",
                     lento::to_string(Source::from(site))));
  }
  return nn::batch_norm(x, if_tracked(*this, running_mean), if_tracked(*this, running_var), weight, bias,
                        training || !track_running_stats, 0.1, eps, site);
}

// --- instance norm ---

InstanceNorm::InstanceNorm(std::string_view caller, std::size_t axes, std::int64_t num_features,
                           const InstanceNormOptions& options, const std::source_location& site)
    : RunningNorm(caller, num_features,
                  {.eps = options.eps,
                   .momentum = options.momentum,
                   .affine = options.affine,
                   .track_running_stats = options.track_running_stats,
                   .dtype = options.dtype},
                  site),
      caller_(caller),
      axes_(axes) {}

Tensor InstanceNorm::batched(const Tensor& x) const {
  const std::size_t rank = x.shape().size();
  if (rank <= axes_ || rank > axes_ + 2 || x.shape()[rank - axes_ - 1] != num_features) {
    fail<ShapeError>("an input has {} channels before {} spatial axes, not shape {}", num_features, axes_, x.shape());
  }
  return rank == axes_ + 1 ? expand_dims(x, 0) : x;
}

Tensor InstanceNorm::operator()(const Tensor& x, std::source_location site) {
  if (!training || !track_running_stats) return std::as_const(*this)(x, site);
  const CallScope scope(caller_, site);
  const auto made =
      nn::instance_norm_train(batched(x), running_mean, running_var, weight, bias, momentum.value_or(1.0), eps, site);
  update(caller_, false, made.running_mean, made.running_var, site);
  return reshape(made.output, x.shape());
}

Tensor InstanceNorm::operator()(const Tensor& x, std::source_location site) const {
  const CallScope scope(caller_, site);
  const Tensor y = nn::instance_norm(batched(x), if_tracked(*this, running_mean), if_tracked(*this, running_var),
                                     weight, bias, training || !track_running_stats, 0.1, eps, site);
  return reshape(y, x.shape());
}

}  // namespace lento::nn
