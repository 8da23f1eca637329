// How tensors are shown: the options of the process, and the text of a tensor that may have no value.
#include <lento/eval.h>
#include <lento/print.h>
#include <lento/tensor.h>

#include "base/fail.h"
#include "base/source.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace lento {

namespace {

// Each on its own: no lock that a fork could leave behind, and nothing that is destroyed while programs still print.
struct Current {
  std::atomic<int> precision = PrintOptions{}.precision;
  std::atomic<std::int64_t> threshold = PrintOptions{}.threshold;
  std::atomic<std::int64_t> edgeitems = PrintOptions{}.edgeitems;
  std::atomic<int> linewidth = PrintOptions{}.linewidth;
  std::atomic<bool> suppress = PrintOptions{}.suppress;
};
constinit Current current;

void check_option(std::string_view name, std::int64_t value, std::int64_t smallest) {
  if (value < smallest) fail<ValueError>("{} must be at least {}, not {}", name, smallest, value);
}

/// What stands for the elements where there are none. Looking at a tensor in a debugger or a log must not be what stops
/// the program.
template <class Show>
std::string text_of(const Tensor& x, const Show& show, const auto& without_value) {
  if (!x.defined()) return "<empty>";
  try {
    return show(x.data_pointer(), x.dtype(), x.shape(), get_printoptions());
  } catch (const Error& error) {
    if (!x.is_pending()) return without_value(fmt::format("<failed: {}>", error.what()));
    if (options().sync == SyncMode::error) return without_value("<pending>");
    return without_value(fmt::format("<pending: {}>", error.what()));
  } catch (const std::exception& error) {
    return without_value(fmt::format("<{}>", error.what()));
  }
}

}  // namespace

PrintOptions get_printoptions() {
  return {.precision = current.precision,
          .threshold = current.threshold,
          .edgeitems = current.edgeitems,
          .linewidth = current.linewidth,
          .suppress = current.suppress};
}

void set_printoptions(const PrintOptions& options, std::source_location site) {
  const CallScope scope("set_printoptions", site);
  check_option("precision", options.precision, 0);
  check_option("threshold", options.threshold, 0);
  check_option("edgeitems", options.edgeitems, 1);
  check_option("linewidth", options.linewidth, 1);
  current.precision = options.precision;
  current.threshold = options.threshold;
  current.edgeitems = options.edgeitems;
  current.linewidth = options.linewidth;
  current.suppress = options.suppress;
}

std::string array_str(const Tensor& x, std::source_location site) {
  const CallScope scope("str", site);
  return text_of(x, [](const auto&... parts) { return array_str(parts...); }, [](std::string state) { return state; });
}

std::string array_repr(const Tensor& x, std::source_location site) {
  const CallScope scope("repr", site);
  return text_of(
      x, [](const auto&... parts) { return array_repr(parts...); },
      [&](const std::string& state) {
        return fmt::format("tensor({}, shape={}, dtype={})", state, x.shape(), x.dtype());
      });
}

}  // namespace lento
