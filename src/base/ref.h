// Ref<T>: an intrusive counted pointer; T has `std::atomic<std::uint32_t> refs` and a static destroy(T*). A type whose
// objects can be found without having a Ref (see Value) says so with `static constexpr bool kCanBeFound = true`.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace lento {

template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes over one count that the caller owns.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  /// Adds a count.
  static Ref share(T* object) {
    if (object != nullptr) object->refs.fetch_add(1, std::memory_order_relaxed);
    return adopt(object);
  }
  Ref(const Ref& other) : Ref(share(other.object_)) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { reset(); }

  void reset() {
    T* object = std::exchange(object_, nullptr);
    if (object == nullptr) return;
    // The sole owner needs no atomic subtraction: nobody else can add a count.
    const bool sole = !requires { T::kCanBeFound; } && object->refs.load(std::memory_order_acquire) == 1;
    if (sole || object->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) T::destroy(object);
  }
  /// Gives the count up to the caller.
  T* release() { return std::exchange(object_, nullptr); }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref&, const Ref&) = default;

 private:
  T* object_ = nullptr;
};

}  // namespace lento
