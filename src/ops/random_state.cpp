#include <lento/random_state.h>

#include "base/fail.h"
#include "base/source.h"

#include <cstdint>
#include <span>
#include <string>

namespace lento::random {

TensorDict state_dict() {
  const Generator::State state = default_generator().state();
  const std::uint64_t numbers[] = {state.seed, state.counter};
  return {{"state", tensor(std::span<const std::uint64_t>(numbers), Shape{2})}};
}

void load_state_dict(const TensorDict& state, std::source_location site) {
  const CallScope scope("load_state_dict", site);
  const Tensor* const found = state.find("state");
  if (found == nullptr) {
    std::string names;
    for (const auto& [name, value] : state) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
    fail<ValueError>("a generator's state has the name 'state', not [{}]", names);
  }
  if (!is_integer(found->dtype()) || found->shape() != Shape{2}) {
    fail<ValueError>("a generator's state is two integers, not {}{}", found->dtype(), found->shape());
  }
  // Other integers come from files that were written by hand.
  const auto* const first = static_cast<const std::byte*>(found->data_pointer(site));
  const auto number = [&](std::size_t i) {
    return Scalar::read(found->dtype(), first + i * size_of(found->dtype())).to<std::uint64_t>();
  };
  default_generator().set_state({number(0), number(1)});
}

}  // namespace lento::random
