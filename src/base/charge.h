// Charge: bytes on the account of a device while it is not known yet whether they can be allocated.
#pragma once

#include "base/memory.h"

#include <cstddef>
#include <utility>

namespace lento {

/// Unless it is kept, they are given back.
class Charge {
 public:
  /// Throws MemoryError when they go over the limit.
  Charge(MemoryAccount& account, std::size_t bytes) : account_(&account), bytes_(bytes) { account.charge(bytes); }
  ~Charge() {
    if (account_ != nullptr) account_->credit(bytes_);
  }
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  /// They could be allocated. From now on whoever frees them gives them back.
  void keep() { std::exchange(account_, nullptr)->raise_peak(); }

 private:
  MemoryAccount* account_;
  const std::size_t bytes_;
};

}  // namespace lento
