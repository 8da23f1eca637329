// What a thread that cannot warn has to tell the user: a worker leaves a notice, and the call it works for warns of it.
#pragma once

#include <string>
#include <vector>

namespace lento {

void leave_notice(std::string text);
/// All that were left since the last call; costs next to nothing when there are none.
std::vector<std::string> take_notices();

}  // namespace lento
