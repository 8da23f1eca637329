// How the catalogue's words look in Python: shared by bindings, stubs and docs.
#pragma once

#include <string>

#include "model.h"

namespace lento::opgen {

/// "-1", "None", "'mean'"; `literal_only` gives None for what Python has no literal for.
std::string python_default(const Arg& arg, bool literal_only);
/// "(x, axis=-1, *, dtype=None)"
std::string python_signature(const Entry& entry, bool literal_only);
/// "int or sequence of ints, optional"
std::string python_type_words(const Arg& arg);
/// x.reshape(2, 3) as well as x.reshape((2, 3)): the list of a method that no positional argument follows.
bool variadic(const Entry& entry, std::size_t index);
/// Where Python finds it: "lento.linalg.qr".
std::string python_name(const Entry& entry, const std::string& name);

}  // namespace lento::opgen
