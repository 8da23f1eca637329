// The Python frames that are running now: which code, which instruction.
#pragma once

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A frame on the calling thread's stack. Everything is borrowed and valid while the frame runs.
typedef struct {
  void* frame;         ///< for lento_outer_frame only
  PyCodeObject* code;  ///< what it runs
  int instruction;     ///< offset of the current instruction in bytes, as PyCode_Addr2Line takes it
} LentoFrame;

/// The innermost Python frame; 0 when no Python code is running. Needs the GIL.
int lento_innermost_frame(LentoFrame* out);

/// Moves on to the caller; 0 when there is none.
int lento_outer_frame(LentoFrame* frame);

#ifdef __cplusplus
}
#endif
