#include "base/source.h"

#include "base/called.h"
#include "base/fork.h"

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

namespace lento {

namespace {

std::atomic<SourceResolver> resolver{nullptr};

constexpr std::size_t kMostScopes = 16384;

/// The scopes used last. A program that makes up names for ever (`scope(f"step{i}")`) forgets those it used longest
/// ago; what was recorded under a forgotten scope has none any more. An id comes back after a million other scopes.
class ScopeTable {
 public:
  ScopeId intern(ScopeId parent, std::string_view name) {
    const auto found = ids_.find(std::pair(parent, name));
    if (found != ids_.end()) {
      use(found->second->id);
      return found->second->id;
    }
    use(parent);  // an open scope is as young as the youngest one inside it
    if (scopes_.size() >= kMostScopes) forget_oldest();
    const std::string prefix = this->name(parent);
    do last_id_ = last_id_ % (kScopeLimit - 1) + 1;
    while (by_id_.contains(last_id_));
    scopes_.push_front(
        {last_id_, parent, std::string(name), prefix.empty() ? std::string(name) : prefix + "/" + std::string(name)});
    const auto made = scopes_.begin();
    by_id_.emplace(made->id, made);
    ids_.emplace(std::pair(parent, std::string_view(made->name)), made);
    return made->id;
  }

  std::string name(ScopeId scope) const {
    const auto found = by_id_.find(scope);
    return found == by_id_.end() ? "" : found->second->path;
  }

 private:
  struct Scope {
    ScopeId id;
    ScopeId parent;
    std::string name;
    std::string path;  // with the names of the scopes around it
  };
  using Place = std::list<Scope>::iterator;

  void use(ScopeId scope) {
    for (auto found = by_id_.find(scope); found != by_id_.end(); found = by_id_.find(found->second->parent))
      scopes_.splice(scopes_.begin(), scopes_, found->second);
  }

  void forget_oldest() {
    const Scope& oldest = scopes_.back();
    ids_.erase(std::pair(oldest.parent, std::string_view(oldest.name)));
    by_id_.erase(oldest.id);
    scopes_.pop_back();
  }

  std::list<Scope> scopes_;  // the one used last comes first
  std::unordered_map<ScopeId, Place> by_id_;
  std::map<std::pair<ScopeId, std::string_view>, Place> ids_;  // the text is the one in scopes_
  ScopeId last_id_ = 0;
};

struct Interned {
  ForkMutex mutex{ForkOrder::interner};
  std::set<std::string, std::less<>> files;
  ScopeTable scopes;
};

Interned& interned() { return ProcessLifetime<Interned>::get(); }

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
  return tables.scopes.intern(parent, name);
}

std::string scope_name(ScopeId scope) {
  scope %= kScopeLimit;  // without the function that was called
  Interned& tables = interned();
  const std::lock_guard lock(tables.mutex);
  return tables.scopes.name(scope);
}

constinit thread_local CallContext current_call;

CallContext& call_context() { return current_call; }

}  // namespace lento
