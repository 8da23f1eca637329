// Options and scopes (include/lento/eval.h, options_scope.h).
#include <lento/eval.h>
#include <lento/options_scope.h>

#include "backend/disk_cache.h"
#include "base/fail.h"
#include "executor/compile_settings.h"
#include "executor/fallbacks.h"
#include "executor/syncs.h"
#include "executor/work.h"
#include "tensor/record.h"

namespace lento {

Options options() {
  return {.max_pending_nodes = max_pending_nodes(),
          .max_inflight_steps = max_inflight_steps(),
          .sync = sync_mode(),
          .sync_wait = warns_of_waits(),
          .fallback = fallback_mode(),
          .disk_cache = disk_cache().enabled(),
          .fusion = compile_options()->fusion,
          .tier = compile_options()->tier,
          .force_fallback = fallback_text(*compile_options())};
}

void set_options(const Options& options, std::source_location site) {
  const CallScope scope("set_options", site);
  if (options.max_pending_nodes < 2) {
    fail<ValueError>("max_pending_nodes is {}; it must be at least 2", options.max_pending_nodes);
  }
  if (options.max_inflight_steps < 1) {
    fail<ValueError>("max_inflight_steps is {}; it must be at least 1", options.max_inflight_steps);
  }
  // What may throw comes first: all is set or nothing.
  const CompileOptions* const chosen = find_compile_options(options);
  disk_cache().set_enabled(options.disk_cache.value_or(disk_cache().enabled_at_start()));
  set_max_pending_nodes(options.max_pending_nodes);
  set_max_inflight_steps(options.max_inflight_steps);
  set_sync_mode(options.sync, options.sync_wait);
  set_fallback_mode(options.fallback);
  set_compile_options(chosen);
}

OptionsScope::OptionsScope(const Options& changed, std::source_location site) : before_(options()) {
  set_options(changed, site);
}
OptionsScope::~OptionsScope() { set_options(before_); }

Scope::Scope(std::string_view name) : outer_(call_context().scope) {
  call_context().scope = intern_scope(outer_, name);
}
Scope::~Scope() { call_context().scope = outer_; }

}  // namespace lento
