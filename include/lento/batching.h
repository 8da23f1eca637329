// What `vmap` is made of: a function of one example runs once, on a tensor that stands for all of them; what it records
// is then repeated with a batch axis, op by op.
#pragma once

#include <lento/export.h>
#include <lento/tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>

namespace lento {

/// What becomes of random numbers that the function draws, which are not computed from an example.
enum class Randomness : std::uint8_t {
  error,      // drawing some is a ValueError
  same,       // all examples get the same
  different,  // each example gets its own
};

/// Follows what the calling thread computes from single examples.
class LENTO_API Batching {
 public:
  /// `size` examples. Throws ValueError unless there is at least one.
  explicit Batching(std::int64_t size, Randomness randomness = Randomness::error,
                    std::source_location site = std::source_location::current());
  ~Batching();
  Batching(const Batching&) = delete;
  Batching& operator=(const Batching&) = delete;

  /// One example along `axis` of `x`, which stands for all of them. Reading it, or what is computed from it, is a
  /// ValueError until end().
  Tensor enter(const Tensor& x, std::int64_t axis, std::source_location site = std::source_location::current());
  /// Stops following.
  void end();
  /// Whether a tensor was computed from an example.
  bool depends(const Tensor& y) const;
  /// The results of all examples for the result of one, along a new `axis`; nullopt is for what does not depend on the
  /// examples (else a ValueError), and gives it as it is.
  Tensor leave(const Tensor& y, std::optional<std::int64_t> axis,
               std::source_location site = std::source_location::current());

 private:
  class Log;
  std::unique_ptr<Log> log_;
};

}  // namespace lento
