#include <lento/nn/module.h>
#include <lento/optim/averages.h>

#include "base/fail.h"
#include "base/source.h"
#include "optim/averages.calls.gen.h"
#include "optim/checks.h"
#include "optim/update_parts.h"

#include <string>
#include <utility>

namespace lento::optim::detail {

namespace {

bool has_mean(const Tensor& x) { return x.defined() && is_inexact(x.dtype()); }

}  // namespace

std::vector<Tensor> moved(std::string_view caller, const std::vector<Tensor>& now, const std::vector<Tensor>& old,
                          double step_size, const std::source_location& site) {
  const CallScope scope(lasting(caller), site);
  check_alike(caller, now, old, site);
  std::vector<Tensor> made = old;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (has_mean(old[i])) {
      move_mean(made[i], now[i], step_size);
    } else {
      made[i] = now[i];
    }
  }
  return made;
}

void check_alike(std::string_view caller, const std::vector<Tensor>& now, const std::vector<Tensor>& old,
                 const std::source_location& site) {
  const CallScope scope(lasting(caller), site);
  if (now.size() != old.size()) fail<ValueError>("there are {} tensors, not {} as before", now.size(), old.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!has_mean(old[i])) continue;
    if (!now[i].defined()) fail<ValueError>("leaf {} is no tensor, and was one before", i);
    if (now[i].shape() != old[i].shape()) fail<ValueError>("shapes differ: {} and {}", now[i].shape(), old[i].shape());
  }
}

void check_decay(double decay, const std::source_location& site) {
  const CallScope scope("EMA", site);
  check_fraction("decay", decay);
}

void check_every(std::int64_t every, const std::source_location& site) {
  const CallScope scope("MultiSteps", site);
  check_positive("every", every);
}

void Averaged::add(const Trained& trained) {
  for (const auto& [name, tensor, leaf] : trained.places) places.emplace_back(name, tensor);
}

void Averaged::buffer(Tensor& x) {
  if (x.defined()) places.emplace_back(path_, &x);
}

TensorDict saved_average(const Averaged& average, std::int64_t n_averaged) {
  TensorDict made{{"n_averaged", from_host(&n_averaged, DType::int64, {})}};
  for (const auto& [name, tensor] : average.places) made.insert_or_assign("model." + name, *tensor);
  return made;
}

std::int64_t load_average(const Averaged& average, const TensorDict& state, const std::source_location& site) {
  const CallScope scope("EMA.load_state_dict", site);
  if (const Tensor* count = state.find("n_averaged")) check_saved_count("n_averaged", count->item<double>(site));
  const std::int64_t none = 0;
  Tensor count = from_host(&none, DType::int64, {});
  std::vector<std::pair<std::string, Tensor*>> here{{"n_averaged", &count}};
  for (const auto& [name, tensor] : average.places) here.emplace_back("model." + name, tensor);
  nn::detail::load_into(here, state, true);
  return count.item<std::int64_t>(site);
}

}  // namespace lento::optim::detail
