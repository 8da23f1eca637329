#include "settings.h"

#include "base/format.h"
#include "ir/nearest_word.h"
#include "ir/op.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

namespace lento::opt {

namespace {

constexpr std::string_view kHelp = R"(usage: lento-opt [option]... [file]

Shows what the compiler of the device cpu:0 makes of a graph in Lento's text form (docs/ir.md), stage by stage. Reads
standard input when there is no file, or when it is "-".

stages, in order; "simplify" names the two passes rules and dead-code:
  parse      the graph as it was read
  rules      which rule rewrote which node, what was merged, and the graph after that
  dead-code  the graph without what no output needs; later stages have its names
  schedule   the steps in order, and what each reads and writes
  kernels    the loop nests that the steps run
  memory     where each value lies
  code       LLVM code and assembly of each kernel

what is shown:
  --stop-after=STAGE    the last stage (default: memory)
  --only=STAGE,...      these and no others
  --code=KIND           llvm (before LLVM's passes), assembly or both; stops after code unless --stop-after says
  --tier=0|1            the quick code or the careful one (default: 1)
  --isa=avx2|avx512|neon
                        the instruction set (default: the best of this processor)

what is left out or changed:
  --no-simplify         neither rules nor dead-code
  --no-fusion           that, and every op is a step of its own, as with LENTO_FUSION=off
  --force-fallback=OP,...
                        these ops are left to the reference backend
  --tile=ELEMENTS       how many elements a tile of a chain has

without a graph:
  --math-c=FUNCTION,...
                        functions of the vector math as C: exp_f32, exp (that and exp_f64), or all

  --help                this text

Exit status: 0 when all is well, 1 when the graph is wrong or cannot be read, 2 for wrong usage.
)";

/// The one of these words, as its number.
template <std::size_t N>
std::size_t one_of(std::string_view option, std::string_view word, const std::array<std::string_view, N>& words) {
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  // One digit is no typing error of another.
  const std::string meant = word.size() > 1 ? did_you_mean(word, {words.begin(), words.end()}) : std::string();
  throw UsageError(fmt::format("{} takes {}, not '{}'{}", option, fmt::join(words, ", "), word, meant));
}

/// The stages of a word: "simplify" names two.
std::pair<Stage, Stage> stages_of(std::string_view option, std::string_view word) {
  constexpr std::array<std::string_view, 8> kWords = {"parse",    "rules",   "dead-code", "simplify",
                                                      "schedule", "kernels", "memory",    "code"};
  constexpr std::array<std::pair<Stage, Stage>, 8> kMeant = {{{Stage::parse, Stage::parse},
                                                              {Stage::rules, Stage::rules},
                                                              {Stage::dead_code, Stage::dead_code},
                                                              {Stage::rules, Stage::dead_code},
                                                              {Stage::schedule, Stage::schedule},
                                                              {Stage::kernels, Stage::kernels},
                                                              {Stage::memory, Stage::memory},
                                                              {Stage::code, Stage::code}}};
  return kMeant[one_of(option, word, kWords)];
}

std::int64_t positive_number(std::string_view option, std::string_view word) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || stop != word.data() + word.size() || value < 1) {
    throw UsageError(fmt::format("{} takes a number above 0, not '{}'", option, word));
  }
  return value;
}

class Reader {
 public:
  void option(const std::string& argument) {
    const std::size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, equals);
    const auto known = std::ranges::find(kOptions, std::string_view(name), &Option::name);
    if (known == std::end(kOptions)) {
      std::vector<std::string_view> names;
      for (const Option& option : kOptions) names.push_back(option.name);
      throw UsageError(fmt::format("unknown option '{}'{}", name, did_you_mean(name, names)));
    }
    const bool has_value = equals < argument.size();
    if (has_value && !known->takes_value) throw UsageError(fmt::format("{} takes no value", name));
    if (!has_value && known->takes_value) throw UsageError(fmt::format("{0} needs a value: {0}=…", name));
    known->set(*this, name, has_value ? argument.substr(equals + 1) : std::string());
  }

  void file(const std::string& name) {
    if (has_file_) throw UsageError(fmt::format("one file at a time: '{}' and '{}'", settings_.file, name));
    has_file_ = true;
    settings_.file = name;
  }

  /// What follows from all options together.
  Settings finish() {
    if (!only_.none()) {
      settings_.shown = only_;
      // What is asked for is reached.
      std::size_t last = only_.size() - 1;
      while (!only_[last]) --last;
      if (stop_ && static_cast<Stage>(last) > *stop_) {
        throw UsageError(fmt::format("--only={} comes after --stop-after={}", kStageNames[last],
                                     kStageNames[static_cast<std::size_t>(*stop_)]));
      }
      settings_.last = static_cast<Stage>(last);
      return settings_;
    }
    if (wants_code_) settings_.last = Stage::code;
    if (stop_) settings_.last = *stop_;
    return settings_;
  }

 private:
  struct Option {
    std::string_view name;
    bool takes_value;
    void (*set)(Reader& to, std::string_view name, std::string_view value);
  };
  static const Option kOptions[12];

  void only(std::string_view name, std::string_view list) {
    while (true) {
      const std::size_t comma = std::min(list.find(','), list.size());
      const auto [first, last] = stages_of(name, list.substr(0, comma));
      only_.set(static_cast<std::size_t>(first)).set(static_cast<std::size_t>(last));
      if (comma == list.size()) return;
      list.remove_prefix(comma + 1);
    }
  }

  void math_c(std::string_view option, std::string_view list) {
    const std::vector<codegen::CFunction> known = codegen::c_functions();
    // "lento_exp_f32" without its prefix.
    const auto short_name = [](const codegen::CFunction& function) { return function.name().substr(6); };
    while (true) {
      const std::size_t comma = std::min(list.find(','), list.size());
      const std::string_view word = list.substr(0, comma);
      const std::size_t before = settings_.math_c.size();
      std::ranges::copy_if(known, std::back_inserter(settings_.math_c), [&](const codegen::CFunction& function) {
        return word == "all" || word == info(function.op).name || word == short_name(function);
      });
      if (settings_.math_c.size() == before) {
        std::vector<std::string_view> names = {"all"};
        for (const codegen::CFunction& function : known) names.push_back(info(function.op).name);
        throw UsageError(fmt::format("{} knows no function '{}'{}", option, word, did_you_mean(word, names)));
      }
      if (comma == list.size()) return;
      list.remove_prefix(comma + 1);
    }
  }

  Settings settings_;
  std::optional<Stage> stop_;
  std::bitset<kStageNames.size()> only_;
  bool wants_code_ = false;
  bool has_file_ = false;
};

using Word = std::string_view;

const Reader::Option Reader::kOptions[12] = {
    {"--help", false, [](Reader& to, Word, Word) { to.settings_.help = true; }},
    {"--stop-after", true, [](Reader& to, Word name, Word value) { to.stop_ = stages_of(name, value).second; }},
    {"--only", true, [](Reader& to, Word name, Word value) { to.only(name, value); }},
    {"--code", true,
     [](Reader& to, Word name, Word value) {
       constexpr std::array<Word, 3> kKinds = {"llvm", "assembly", "both"};
       const std::size_t kind = one_of(name, value, kKinds);
       to.settings_.llvm = kind != 1;
       to.settings_.assembly = kind != 0;
       to.wants_code_ = true;
     }},
    {"--tier", true,
     [](Reader& to, Word name, Word value) {
       constexpr std::array<Word, 2> kTiers = {"0", "1"};
       to.settings_.tier = static_cast<cpu::Tier>(one_of(name, value, kTiers));
     }},
    {"--isa", true,
     [](Reader& to, Word name, Word value) {
       constexpr std::array<Word, 3> kSets = {"avx2", "avx512", "neon"};
       constexpr std::array<cpu::Isa, 3> kIsas = {cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::neon};
       to.settings_.isa = kIsas[one_of(name, value, kSets)];
     }},
    {"--no-simplify", false, [](Reader& to, Word, Word) { to.settings_.simplify = false; }},
    {"--no-fusion", false, [](Reader& to, Word, Word) { to.settings_.fusion = false; }},
    {"--force-fallback", true, [](Reader& to, Word, Word value) { to.settings_.force_fallback = value; }},
    {"--tile", true,
     [](Reader& to, Word name, Word value) { to.settings_.tile_elements = positive_number(name, value); }},
    {"--math-c", true, [](Reader& to, Word name, Word value) { to.math_c(name, value); }},
    {"-h", false, [](Reader& to, Word, Word) { to.settings_.help = true; }},
};

}  // namespace

Settings read_settings(std::span<const std::string> arguments) {
  Reader reader;
  for (const std::string& argument : arguments) {
    if (argument.starts_with('-') && argument != "-") {
      reader.option(argument);
    } else {
      reader.file(argument);
    }
  }
  return reader.finish();
}

std::string_view help_text() { return kHelp; }

}  // namespace lento::opt
