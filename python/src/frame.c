// In C, because CPython's internal headers are not C++. The public functions cost about 8 ns for what is three loads
// here; where the internals are not known (another version) they are used all the same.
#include <patchlevel.h>

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000 && __has_include(<internal/pycore_frame.h>)
#define LENTO_FRAME_INTERNALS 1
#define Py_BUILD_CORE 1  // before Python.h, which defines things differently with it
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_pystate.h>
#endif

#include "frame.h"

#ifdef LENTO_FRAME_INTERNALS

static int fill(LentoFrame* out, _PyInterpreterFrame* frame) {
  while (frame != NULL && _PyFrame_IsIncomplete(frame)) frame = frame->previous;
  if (frame == NULL) return 0;
  out->frame = frame;
  out->code = frame->f_code;
  out->instruction = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
  return 1;
}

int lento_innermost_frame(LentoFrame* out) { return fill(out, _PyThreadState_GET()->cframe->current_frame); }

int lento_outer_frame(LentoFrame* frame) { return fill(frame, ((_PyInterpreterFrame*)frame->frame)->previous); }

#else

// The frame is on the stack, so that it and its code live on without these references.
static int fill(LentoFrame* out, PyFrameObject* frame) {
  if (frame == NULL) return 0;
  out->frame = frame;
  out->code = PyFrame_GetCode(frame);
  Py_DECREF(out->code);
#if PY_VERSION_HEX >= 0x030b0000
  out->instruction = PyFrame_GetLasti(frame);
#else
  out->instruction = frame->f_lasti * (int)sizeof(_Py_CODEUNIT);
#endif
  Py_DECREF(frame);
  return 1;
}

int lento_innermost_frame(LentoFrame* out) { return fill(out, PyThreadState_GetFrame(PyThreadState_Get())); }

int lento_outer_frame(LentoFrame* frame) { return fill(frame, PyFrame_GetBack((PyFrameObject*)frame->frame)); }

#endif
