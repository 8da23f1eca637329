// Options for the length of a block.
#pragma once

#include <lento/eval.h>
#include <lento/export.h>

#include <source_location>

namespace lento {

/// Sets options, and puts the old ones back at the end of the block:
///
///     Options strict = options();
///     strict.sync = SyncMode::error;
///     const OptionsScope no_syncs(strict);
class LENTO_API OptionsScope {
 public:
  /// Throws as set_options does; then nothing has changed.
  explicit OptionsScope(const Options& changed, std::source_location site = std::source_location::current());
  ~OptionsScope();
  OptionsScope(const OptionsScope&) = delete;
  OptionsScope& operator=(const OptionsScope&) = delete;

 private:
  Options before_;
};

}  // namespace lento
