// Where user code made a call: a C++ source line or a position in a foreign language's code, plus the open scopes.
// Kept to 16 bytes because every record of a tape has one; turned into text only when somebody looks.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace lento {

/// Index of an interned chain of lento.scope() names; 0 means none.
using ScopeId = std::uint32_t;

struct Source {
  static constexpr std::uint32_t kForeign = 0x80000000U;

  const void* unit = nullptr;  // C++: the static file name; foreign: what the resolver understands (a code object)
  std::uint32_t position = 0;  // C++: the line; foreign: kForeign | position
  ScopeId scope = 0;           // the scopes open when the record was made

  static Source from(const std::source_location& site) {
    return site.line() == 0 ? Source{} : Source{site.file_name(), site.line(), 0};
  }
  static Source foreign(const void* unit, std::uint32_t position) { return {unit, position | kForeign, 0}; }
  /// A Source that names a file and line which are only known as text; both are interned.
  static Source from_text(std::string_view file, std::uint32_t line);

  bool known() const { return unit != nullptr; }
  friend bool operator==(const Source&, const Source&) = default;
};
static_assert(sizeof(Source) == 16);

/// Turns a foreign source into "train.py:41". Registered once by a front end; must be callable from any thread.
using SourceResolver = std::string (*)(const void* unit, std::uint32_t position);
void set_source_resolver(SourceResolver resolver);

/// "train.py:41", or "" when the source is unknown. C++ files are shown by their last path component.
std::string to_string(const Source& source);

/// Interned scope names: "model/layer1"; "" when 16,384 others were opened since. An open scope stays known.
ScopeId intern_scope(ScopeId parent, std::string_view name);
std::string scope_name(ScopeId scope);

/// What the calling thread is doing on behalf of the user: the outermost op and the line that called it.
struct CallContext {
  std::string_view op;  // outermost op while depth > 0
  Source source;        // its line; its scope field is not used
  int depth = 0;        // nesting of CallScope
  // Describes the outermost call's operands for messages; set by the tensor layer.
  std::string (*describe)(const void* operands) = nullptr;
  const void* operands = nullptr;
  ScopeId scope = 0;  // the innermost open lento.scope of this thread
};
CallContext& call_context();
/// The same, without a call: one instruction to reach it from inside the library.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local CallContext current_call;

/// Entered by every public function. The outermost one decides the op name and line that records and errors carry, so
/// a composite's inner ops show the user's line, not Lento's.
class CallScope {
 public:
  CallScope(std::string_view op, const std::source_location& site) : CallScope(op, Source::from(site)) {}
  CallScope(std::string_view op, const Source& source) : context_(call_context()) {
    if (context_.depth++ == 0) {
      context_.op = op;
      // A front end may have set the line beforehand (SourceScope); then it stays.
      if (!context_.source.known()) {
        context_.source = source;
        owns_source_ = true;
      }
    }
  }
  ~CallScope() {
    if (--context_.depth == 0) {
      context_.op = {};
      if (owns_source_) context_.source = {};
    }
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  CallContext& context_;
  bool owns_source_ = false;
};

/// While it lives, what the thread does is no part of the call it is inside of: the user's own code, whose calls have
/// ops and lines of their own, or a run, whose failures have the lines of its ops.
class OutsideOfCall {
 public:
  OutsideOfCall() : context_(call_context()), saved_(context_) {
    context_ = {};
    context_.scope = saved_.scope;
  }
  ~OutsideOfCall() { context_ = saved_; }
  OutsideOfCall(const OutsideOfCall&) = delete;
  OutsideOfCall& operator=(const OutsideOfCall&) = delete;

 private:
  CallContext& context_;
  CallContext saved_;
};

/// Sets the line for all calls made while it lives; used by front ends that know better than std::source_location.
class SourceScope {
 public:
  explicit SourceScope(const Source& source) : context_(call_context()), saved_(context_.source) {
    if (context_.depth == 0) context_.source = source;
  }
  ~SourceScope() { context_.source = saved_; }
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

 private:
  CallContext& context_;
  Source saved_;
};

}  // namespace lento
