// Calls for which this device has something better than the reference backend's loops, planned when a program is made.
// `make_prepared_call` knows which family an op belongs to. They run on the team of threads.
#pragma once

#include "backend/driver.h"
#include "compiler/schedule.h"

#include <memory>

namespace lento::cpu {

/// Null when the call is left to the reference backend.
std::unique_ptr<const PreparedCall> make_prepared_call(const Graph& graph, const Step& step);

// Families that have folders or files of their own (matmul.h, conv.h, attention.h, fft.h, linalg.h).
std::unique_ptr<const PreparedCall> make_matmul_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_convolution_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_attention_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_fft_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_linalg_call(const Graph& graph, const Step& step);
// Families of native/, each in the file of its name.
std::unique_ptr<const PreparedCall> make_gather_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_scatter_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_concatenate_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_pad_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_update_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_scan_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_sort_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_top_k_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_search_call(const Graph& graph, const Step& step);
std::unique_ptr<const PreparedCall> make_recurrence_call(const Graph& graph, const Step& step);

}  // namespace lento::cpu
