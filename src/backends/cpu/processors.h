// How many processors this process may use, and what they have.
#pragma once

#include <filesystem>
#include <string_view>

namespace lento::cpu {

/// OMP_NUM_THREADS (its first entry) when that is a positive number, else the affinity mask limited by the control
/// group's quota; at least 1.
int usable_processors();

/// The number in OMP_NUM_THREADS, or 0 when it is not one: "4" and "4,2" give 4.
int parse_thread_count(std::string_view text);

/// The processor quota, rounded up, of a process whose /proc/self/cgroup reads `groups`, where control groups (version
/// 1 or 2) are mounted at `root`: the smallest of its group and all groups around that. 0 when there is none.
int processor_quota(const std::filesystem::path& root, std::string_view groups);

/// Whether a processor has vectors of 64 bytes.
bool has_wide_vectors();

}  // namespace lento::cpu
