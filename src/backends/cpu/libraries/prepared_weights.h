// Weights in the order that a convolution computes in, kept from run to run while the weight stays what it is.
//
// A weight is known by where it lies. What is kept for an address is forgotten when that memory is written or freed:
// by the arena, and by runs that write a result into an input. Only inputs of programs are known here, since all that a
// program computes is written anew in every run; and of them only those in memory of our own that was not handed to
// another library, since nobody tells us when others write.
//
// The first run only notes the weight; the second keeps it. A weight that every step changes, as in training, is never
// kept. What is kept counts as cached memory, and goes when a limit asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lento::cpu {

class Arena;

class PreparedWeight {
 public:
  PreparedWeight(Arena& arena, std::size_t bytes);
  ~PreparedWeight();
  PreparedWeight(const PreparedWeight&) = delete;
  PreparedWeight& operator=(const PreparedWeight&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool ready() const { return ready_; }
  void set_ready() { ready_ = true; }

 private:
  Arena* arena_;
  std::size_t bytes_;
  void* data_;
  bool ready_ = false;
};

/// A number for a prepared convolution that no other one has had.
std::uint64_t new_weight_user();

/// The weight at this address as the convolution `user` wants it: ready, or room of this size that the caller fills and
/// then hands to keep_prepared_weight. Null when it is not worth keeping, or not allowed.
std::shared_ptr<PreparedWeight> find_prepared_weight(const void* weight, std::uint64_t user, std::size_t bytes);
void keep_prepared_weight(const void* weight, std::uint64_t user, const std::shared_ptr<PreparedWeight>& prepared);

/// What lies at this address is about to change, or to go.
void forget_prepared_weights(const void* weight) noexcept;
/// The convolution is about to go.
void forget_weight_user(std::uint64_t user) noexcept;
/// All of them.
void drop_prepared_weights() noexcept;

}  // namespace lento::cpu
