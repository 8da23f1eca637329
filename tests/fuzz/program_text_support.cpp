// Programs at random, as text, and from text.
#include "fuzz/operations.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <sstream>
#include <stdexcept>

namespace lento::fuzz {

namespace {

/// One number of an instruction: how it is marked in the text, how many values it has, where it is.
struct Place {
  Field field;
  char mark;
  int count;
  std::uint8_t Instruction::* member;
};
constexpr Place kPlaces[] = {
    {kTarget, 'r', kRegisters, &Instruction::target},
    {kUpdate, 'r', kRegisters, &Instruction::target},
    {kSecond, 'r', kRegisters, &Instruction::b},
    {kA, 'r', kRegisters, &Instruction::a},
    {kB, 'r', kRegisters, &Instruction::b},
    {kInput, 'i', kInputs, &Instruction::a},
    {kThread, 't', 256, &Instruction::a},
    {kSlot, 's', kSlots, &Instruction::b},
    {kPosition, 'p', 256, &Instruction::b},
};

constexpr std::string_view kSupport[] = {"all", "kernels", "few"};  // toy::Support

template <class T>
T number(std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    throw std::invalid_argument("'" + std::string(word) + "' is not a number that fits here");
  }
  return value;
}

std::string next_word(std::istream& words, const std::string& what) {
  std::string word;
  if (!(words >> word)) throw std::invalid_argument(what + " is missing");
  return word;
}

Instruction parse_instruction(const std::string& name, std::istream& words) {
  Instruction instruction;
  instruction.operation = operation_named(name);
  const unsigned fields = operations()[instruction.operation].fields;
  for (const Place& place : kPlaces) {
    if ((fields & place.field) == 0) continue;
    const std::string word = next_word(words, std::string("an operand ") + place.mark);
    if (word[0] != place.mark) throw std::invalid_argument("'" + word + "' should begin with " + place.mark);
    instruction.*place.member = number<std::uint8_t>(std::string_view(word).substr(1));
    if (instruction.*place.member >= place.count) throw std::invalid_argument("'" + word + "' is too large");
  }
  if ((fields & kConstant) != 0) instruction.constant = number<double>(next_word(words, "a number"));
  return instruction;
}

void print(std::ostream& out, const Instruction& instruction) {
  const Operation& operation = operations()[instruction.operation];
  out << "  " << operation.name;
  for (const Place& place : kPlaces) {
    if ((operation.fields & place.field) != 0) out << ' ' << place.mark << int{instruction.*place.member};
  }
  if ((operation.fields & kConstant) != 0) out << ' ' << instruction.constant;
  out << '\n';
}

void parse_line(Program& program, Instructions*& current, const std::string& line) {
  std::istringstream words(line);
  std::string word;
  if (!(words >> word)) return;
  if (word == "threads") {
    program.threads = number<int>(next_word(words, "a number"));
    if (program.threads < 1 || program.threads > 64) throw std::invalid_argument("there are 1 to 64 threads");
  } else if (word == "max_pending_nodes") {
    program.max_pending_nodes = number<std::uint32_t>(next_word(words, "a number"));
  } else if (word == "max_inflight_steps") {
    program.max_inflight_steps = number<std::uint32_t>(next_word(words, "a number"));
  } else if (word == "toy") {
    program.on_toy = true;
    const auto* const support = std::ranges::find(kSupport, next_word(words, "what it supports"));
    if (support == std::end(kSupport)) throw std::invalid_argument("a toy device supports all, kernels or few");
    program.support = static_cast<toy::Support>(support - kSupport);
    program.delays = number<std::uint64_t>(next_word(words, "a seed of delays"));
  } else if (word == "phase") {
    program.phases.emplace_back(static_cast<std::size_t>(program.threads));
    current = nullptr;
  } else if (word == "thread") {
    const auto thread = number<std::size_t>(next_word(words, "a number"));
    if (program.phases.empty() || thread >= program.phases.back().size()) {
      throw std::invalid_argument("there is no such thread here");
    }
    current = &program.phases.back()[thread];
  } else {
    if (current == nullptr) throw std::invalid_argument("an instruction belongs to a thread");
    current->push_back(parse_instruction(word, words));
  }
  if (words >> word) throw std::invalid_argument("'" + word + "' is too much");
}

/// Draws operations by weight.
std::uint8_t random_operation(std::mt19937_64& random) {
  static const std::vector<std::uint8_t> drawn_from = [] {
    std::vector<std::uint8_t> all;
    for (std::size_t i = 0; i < operations().size(); ++i) {
      all.insert(all.end(), static_cast<std::size_t>(operations()[i].weight), static_cast<std::uint8_t>(i));
    }
    return all;
  }();
  return drawn_from[random() % drawn_from.size()];
}

}  // namespace

Program random_program(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::uint64_t n) { return random() % n; };
  Program program;
  program.threads = std::array{1, 1, 1, 2, 2, 3, 4, 8}[pick(8)];
  if (pick(3) == 0) program.max_pending_nodes = static_cast<std::uint32_t>(2 + pick(20));
  if (pick(4) == 0) program.max_inflight_steps = static_cast<std::uint32_t>(1 + pick(2));
  const std::size_t phases = 1 + pick(3);
  const std::uint8_t loads[] = {operation_named("load"), operation_named("load_async")};
  const std::uint8_t fault = operation_named("fault");
  std::vector<std::uint8_t> home;  // how each thread loads, mostly: tensors of two devices do not mix
  for (int t = 0; t < program.threads; ++t) home.push_back(loads[pick(2)]);
  for (std::size_t p = 0; p < phases; ++p) {
    program.phases.emplace_back(static_cast<std::size_t>(program.threads));
    for (std::size_t t = 0; t < home.size(); ++t) {
      const std::size_t length = 4 + pick(program.threads > 2 ? 14 : 32);
      for (std::size_t k = 0; k < length; ++k) {
        Instruction instruction;
        instruction.operation = random_operation(random);
        const bool is_load = instruction.operation == loads[0] || instruction.operation == loads[1];
        if ((p == 0 && k < 2) || (is_load && pick(8) != 0)) instruction.operation = home[t];
        // A fault may strike when a long trace is cut, in the middle of an op that has drawn its random numbers.
        if (program.max_pending_nodes != 0 && instruction.operation == fault) instruction.operation = home[t];
        const unsigned fields = operations()[instruction.operation].fields;
        for (const Place& place : kPlaces) {
          if ((fields & place.field) == 0) continue;
          const int count = place.field == kThread ? program.threads : place.field == kPosition ? 4 : place.count;
          instruction.*place.member = static_cast<std::uint8_t>(pick(static_cast<std::uint64_t>(count)));
        }
        if ((fields & kConstant) != 0) instruction.constant = 0.125 * static_cast<double>(pick(16)) - 1;
        program.phases.back()[t].push_back(instruction);
      }
    }
  }
  return program;
}

Program random_toy_program(std::uint64_t seed) {
  Program program = random_program(seed);
  program.on_toy = true;
  program.support = static_cast<toy::Support>(seed % std::size(kSupport));
  program.delays = seed + 1;
  return program;
}

std::string to_text(const Program& program) {
  std::ostringstream out;
  out.precision(17);
  out << "threads " << program.threads << '\n';
  if (program.max_pending_nodes != 0) out << "max_pending_nodes " << program.max_pending_nodes << '\n';
  if (program.max_inflight_steps != 0) out << "max_inflight_steps " << program.max_inflight_steps << '\n';
  if (program.on_toy) {
    out << "toy " << kSupport[static_cast<std::size_t>(program.support)] << ' ' << program.delays << '\n';
  }
  for (const auto& phase : program.phases) {
    out << "phase\n";
    for (std::size_t t = 0; t < phase.size(); ++t) {
      if (phase[t].empty()) continue;
      out << "thread " << t << '\n';
      for (const Instruction& instruction : phase[t]) print(out, instruction);
    }
  }
  return out.str();
}

Program parse(std::string_view text) {
  Program program;
  Instructions* current = nullptr;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    try {
      parse_line(program, current, line);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument("line " + std::to_string(number) + ": " + error.what());
    }
  }
  return program;
}

std::string to_test(const Program& program, std::string_view name) {
  return "TEST(FoundPrograms, " + std::string(name) + ") {\n  EXPECT_EQ(difference(parse(R\"(\n" + to_text(program) +
         ")\")), \"\");\n}\n";
}

}  // namespace lento::fuzz
