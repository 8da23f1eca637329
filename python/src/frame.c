// In C, because CPython's internal headers are not C++. The public functions cost about 8 ns for what is three loads
// here; where the internals are not known (another version) they are used all the same.
#include <patchlevel.h>

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030e0000 && __has_include(<internal/pycore_frame.h>)
#define LENTO_FRAME_INTERNALS 1
#define Py_BUILD_CORE 1  // before Python.h, which defines things differently with it
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX < 0x030c0000
#include <internal/pycore_pystate.h>
#endif
#endif

#include "frame.h"

#include <frameobject.h>  // PyFrame_GetBack, before 3.11

#ifdef LENTO_FRAME_INTERNALS

#if PY_VERSION_HEX >= 0x030d0000
static _PyInterpreterFrame* innermost(void) { return PyThreadState_GetUnchecked()->current_frame; }
static PyCodeObject* code_of(_PyInterpreterFrame* frame) { return (PyCodeObject*)frame->f_executable; }
#elif PY_VERSION_HEX >= 0x030c0000
static _PyInterpreterFrame* innermost(void) { return _PyThreadState_UncheckedGet()->cframe->current_frame; }
static PyCodeObject* code_of(_PyInterpreterFrame* frame) { return frame->f_code; }
#else
static _PyInterpreterFrame* innermost(void) { return _PyThreadState_GET()->cframe->current_frame; }
static PyCodeObject* code_of(_PyInterpreterFrame* frame) { return frame->f_code; }
#endif

// A frame that is still being set up (a finaliser may run then) has its code, which is all that matters here.
static int fill(LentoFrame* out, _PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030c0000
  // Where C calls Python there is a frame that runs no code.
  while (frame != NULL && frame->owner == FRAME_OWNED_BY_CSTACK) frame = frame->previous;
#endif
  if (frame == NULL) return 0;
  out->frame = frame;
  out->code = code_of(frame);
  out->instruction = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
  return 1;
}

int lento_innermost_frame(LentoFrame* out) { return fill(out, innermost()); }

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
