// From YAML files to the model.
#pragma once

#include <filesystem>

#include "diagnostics.h"
#include "model.h"

namespace lento::opgen {

/// Reads every *.yaml file of a folder in name order. What is wrong goes to `diagnostics`; entries that could be read
/// are in the result all the same, so that later checks can report more.
Catalogue load_catalogue(const std::filesystem::path& folder, Diagnostics& diagnostics);

/// Adds the names of the functions that a C++ header declares: those that `compute` expressions may call.
void load_math_names(const std::filesystem::path& header, Catalogue& catalogue);

/// Parses "int[]? = null" and the like into `arg`. False, with the error reported, when it is malformed.
bool parse_arg_type(const Text& text, Arg& arg, Diagnostics& diagnostics);

/// Parses "float(x1, x2) in floating|complex".
bool parse_dtype_rule(const Text& text, DtypeRule& rule, Diagnostics& diagnostics);

/// "" when `value` is a right default for the type, else what was expected.
std::string wrong_default(const ArgType& type, const std::string& value);

/// The elements of "[1, 2]", or of "3" as one element.
std::vector<std::string> list_elements(const std::string& value);

}  // namespace lento::opgen
