#include "base/source.h"

#include "base/called.h"
#include "base/fork.h"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace lento {

namespace {

std::atomic<SourceResolver> resolver{nullptr};

struct Interned {
  ForkMutex mutex{ForkOrder::interner};
  std::set<std::string, std::less<>> files;
  std::map<std::pair<ScopeId, std::string>, ScopeId> scope_ids;
  std::deque<std::string> scope_names{""};  // by ScopeId; a deque keeps references valid
};

Interned& interned() { return Lasting<Interned>::get(); }

}  // namespace

void set_source_resolver(SourceResolver r) { resolver.store(r, std::memory_order_release); }

Source Source::from_text(std::string_view file, std::uint32_t line) {
  Interned& tables = interned();
  const std::lock_guard lock(tables.mutex);
  auto it = tables.files.find(file);
  if (it == tables.files.end()) it = tables.files.emplace(file).first;
  return {it->c_str(), line & ~kForeign, 0};
}

std::string to_string(const Source& source) {
  if (!source.known()) return "";
  if ((source.position & Source::kForeign) != 0) {
    const SourceResolver resolve = resolver.load(std::memory_order_acquire);
    return resolve == nullptr ? "" : resolve(source.unit, source.position & ~Source::kForeign);
  }
  std::string_view file = static_cast<const char*>(source.unit);
  if (const auto slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(source.position);
}

ScopeId intern_scope(ScopeId parent, std::string_view name) {
  Interned& tables = interned();
  const std::lock_guard lock(tables.mutex);
  // More names than there are ids: what is inside has the name of what is around it.
  if (tables.scope_names.size() == kScopeLimit && !tables.scope_ids.contains({parent, std::string(name)}))
    return parent;
  const auto [it, added] =
      tables.scope_ids.try_emplace({parent, std::string(name)}, static_cast<ScopeId>(tables.scope_names.size()));
  if (added) {
    const std::string& prefix = tables.scope_names[parent];
    tables.scope_names.push_back(prefix.empty() ? std::string(name) : prefix + "/" + std::string(name));
  }
  return it->second;
}

std::string scope_name(ScopeId scope) {
  scope %= kScopeLimit;  // without the function that was called
  Interned& tables = interned();
  const std::lock_guard lock(tables.mutex);
  return scope < tables.scope_names.size() ? tables.scope_names[scope] : "";
}

constinit thread_local CallContext current_call;

CallContext& call_context() { return current_call; }

}  // namespace lento
