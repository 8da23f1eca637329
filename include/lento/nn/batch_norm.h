// Batch norm and instance norm, with their running statistics.
#pragma once

#include <lento/nn/module.h>

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

namespace lento::nn {

/// What is not the default in a BatchNorm.
struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;
  bool affine = true;
  bool track_running_stats = true;
  std::optional<DType> dtype = std::nullopt;
};

/// What is not the default in an InstanceNorm.
struct InstanceNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;
  bool affine = false;
  bool track_running_stats = false;
  std::optional<DType> dtype = std::nullopt;
};

/// What batch norm and instance norm share: weight and bias if `affine`, and running statistics, if any. They move
/// towards those of each batch by `momentum`; without one they are the average over all batches.
class LENTO_API RunningNorm : public Module {
 public:
  std::int64_t num_features;
  double eps;
  std::optional<double> momentum;
  bool track_running_stats;
  std::optional<Tensor> weight;
  std::optional<Tensor> bias;
  Buffer running_mean;  ///< undefined where none are tracked, as the next two
  Buffer running_var;
  Buffer num_batches_tracked;

  void fields(tree::Visitor& visitor) override;

 protected:
  /// `caller` is a literal: "BatchNorm()".
  RunningNorm(std::string_view caller, std::int64_t num_features, const BatchNormOptions& options,
              const std::source_location& site);

  /// Takes the statistics after a batch over. Batches are counted if `counts`, or where the average needs it.
  void update(std::string_view caller, bool counts, Tensor mean, Tensor var, const std::source_location& site);
  std::string shown(bool usually_affine, bool usually_tracked) const;
};

/// Normalises each channel (axis 1) over the batch and keeps running statistics, which `eval()` makes it use. Without
/// `track_running_stats` there are none, and those of the batch are always used.
class LENTO_API BatchNorm : public RunningNorm {
 public:
  using Options = BatchNormOptions;

  explicit BatchNorm(std::int64_t num_features, const BatchNormOptions& options = {},
                     std::source_location site = std::source_location::current());

  Tensor operator()(const Tensor& x, std::source_location site = std::source_location::current());
  /// A constant one keeps its running statistics.
  Tensor operator()(const Tensor& x, std::source_location site = std::source_location::current()) const;
  std::string extra_repr() const override { return shown(true, true); }
};

/// BatchNorm by PyTorch's name.
class LENTO_API BatchNorm1d : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;
};

/// BatchNorm by PyTorch's name.
class LENTO_API BatchNorm2d : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;
};

/// BatchNorm by PyTorch's name.
class LENTO_API BatchNorm3d : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;
};

/// Normalises each channel of each sample of (batch, channels, *space), or of one sample without the batch axis. With
/// `track_running_stats` it keeps running statistics, which `eval()` makes it use. With a `momentum` it does not count
/// its batches, as in PyTorch.
class LENTO_API InstanceNorm : public RunningNorm {
 public:
  using Options = InstanceNormOptions;

  Tensor operator()(const Tensor& x, std::source_location site = std::source_location::current());
  /// A constant one keeps its running statistics.
  Tensor operator()(const Tensor& x, std::source_location site = std::source_location::current()) const;
  std::string extra_repr() const override { return shown(false, false); }

 protected:
  /// `caller` is a literal: "InstanceNorm2d()".
  InstanceNorm(std::string_view caller, std::size_t axes, std::int64_t num_features, const InstanceNormOptions& options,
               const std::source_location& site);

 private:
  /// `x` with a batch axis. Throws ShapeError unless it has the channels and spatial axes that are needed.
  Tensor batched(const Tensor& x) const;

  std::string_view caller_;
  std::size_t axes_;
};

/// InstanceNorm of (batch, channels, length).
class LENTO_API InstanceNorm1d : public InstanceNorm {
 public:
  explicit InstanceNorm1d(std::int64_t channels, const InstanceNormOptions& options = {},
                          std::source_location site = std::source_location::current())
      : InstanceNorm("InstanceNorm1d()", 1, channels, options, site) {}
};

/// InstanceNorm of (batch, channels, height, width).
class LENTO_API InstanceNorm2d : public InstanceNorm {
 public:
  explicit InstanceNorm2d(std::int64_t channels, const InstanceNormOptions& options = {},
                          std::source_location site = std::source_location::current())
      : InstanceNorm("InstanceNorm2d()", 2, channels, options, site) {}
};

/// InstanceNorm of (batch, channels, depth, height, width).
class LENTO_API InstanceNorm3d : public InstanceNorm {
 public:
  explicit InstanceNorm3d(std::int64_t channels, const InstanceNormOptions& options = {},
                          std::source_location site = std::source_location::current())
      : InstanceNorm("InstanceNorm3d()", 3, channels, options, site) {}
};

}  // namespace lento::nn
