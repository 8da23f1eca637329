// tests/op_samples.json: what the tests need to know of each op; and the list that other programs ask for.
#include <map>

#include <fmt/format.h>

#include "emit.h"

namespace lento::opgen {

namespace {

std::string result_word(const DtypeRule& rule) {
  static const std::map<ResultRule, std::string> kWords = {
      {ResultRule::same, "same"},    {ResultRule::promote, "promote"}, {ResultRule::floating, "float"},
      {ResultRule::boolean, "bool"}, {ResultRule::real, "real"},       {ResultRule::complex, "complex"}};
  return rule.result == ResultRule::fixed ? rule.fixed : kWords.at(rule.result);
}

Json aliases(const Entry& entry) {
  Json result = Json::array();
  for (const Text& alias : entry.aliases) result.add(Json::string(alias.value));
  return result;
}

Json dtype_rule(const DtypeRule& rule) {
  std::vector<std::string> dtypes;
  for (std::size_t d = 0; d < kDtypes.size(); ++d) {
    if (rule.dtypes >> d & 1) dtypes.push_back(kDtypes[d]);
  }
  Json result = Json::object();
  result.set("text", Json::string(rule.text)).set("result", Json::string(result_word(rule)));
  result.set("args", Json::strings(rule.args))
      .set("classes", Json::strings(rule.classes))
      .set("dtypes", Json::strings(dtypes));
  return result;
}

Json arguments(const Entry& entry) {
  Json result = Json::array();
  for (const Arg& arg : entry.args) {
    Json each = Json::object();
    each.set("name", Json::string(arg.name)).set("type", Json::string(arg.type_text));
    if (arg.value) each.set("default", Json::string(*arg.value));
    if (arg.keyword_only) each.set("keyword_only", Json::boolean(true));
    result.add(std::move(each));
  }
  return result;
}

Json op(const Entry& entry) {
  Json result = Json::object();
  result.set("name", Json::string(entry.name))
      .set("space", Json::string(entry.space))
      .set("family", Json::string(entry.family));
  result.set("primitive", Json::boolean(entry.primitive())).set("hidden", Json::boolean(entry.hidden));
  result.set("origin", Json::string(entry.origin)).set("args", arguments(entry));
  if (entry.has_dtype) result.set("dtype", dtype_rule(entry.dtype));
  if (!entry.results.empty()) result.set("results", Json::strings(entry.results));
  if (entry.returns == Returns::list) result.set("returns_list", Json::boolean(true));
  if (!entry.also.empty()) result.set("also", Json::strings(entry.also));
  if (!entry.aliases.empty()) result.set("aliases", aliases(entry));
  if (!entry.method.empty()) result.set("method", Json::string(entry.method));
  if (entry.waits) result.set("waits", Json::boolean(true));
  if (!entry.numpy.empty()) result.set("numpy", Json::string(entry.numpy));
  if (!entry.torch.empty()) result.set("torch", Json::string(entry.torch));
  if (entry.tolerance) result.set("tolerance", Json::literal(fmt::format("{}", *entry.tolerance)));
  if (!entry.vjp.empty()) {
    Json vjp = Json::object();
    for (const auto& [key, expression] : entry.vjp) {
      for (const std::string& name : vjp_arguments(key)) vjp.set(name, Json::string(expression.value));
    }
    result.set("vjp", std::move(vjp));
  }
  if (!entry.samples.is_null()) result.set("samples", entry.samples);
  return result;
}

}  // namespace

std::string emit_samples(const Catalogue& catalogue) {
  Json ops = Json::array();
  for (const Entry& entry : catalogue.entries) ops.add(op(entry));
  return Json::object().set("ops", std::move(ops)).dump() + "\n";
}

std::string emit_list(const Catalogue& catalogue) {
  Json ops = Json::array();
  for (const Entry& entry : catalogue.entries) {
    Json each = Json::object();
    each.set("name", Json::string(entry.name))
        .set("namespace", Json::string(entry.space.empty() ? "lento" : entry.space));
    each.set("family", Json::string(entry.family))
        .set("kind", Json::string(entry.primitive() ? "primitive" : "composite"));
    each.set("also", Json::strings(entry.also))
        .set("aliases", aliases(entry))
        .set("method", Json::string(entry.method));
    each.set("origin", Json::string(entry.origin));
    ops.add(std::move(each));
  }
  return ops.dump();
}

}  // namespace lento::opgen
