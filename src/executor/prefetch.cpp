#include <lento/prefetch.h>

#include "base/fail.h"
#include "base/source.h"

namespace lento::detail {

void check_prefetch_size(std::size_t size, const std::source_location& site) {
  constexpr std::size_t kMostItems = std::size_t{1} << 20;
  const CallScope scope("prefetch", site);
  if (size < 1 || size > kMostItems) {
    fail<ValueError>("size is a number of items from 1 to {}, not {}", kMostItems, static_cast<std::int64_t>(size));
  }
}

void refuse_prefetch_of_parent(const std::source_location& site) {
  const CallScope scope("prefetch", site);
  fail<BackendError>("its thread is in the process that this one was forked from; make one here");
}

}  // namespace lento::detail
