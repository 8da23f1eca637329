"""Calls the op of new_op.yaml as a function and as a method, from Python."""

import lento
import numpy as np

x = lento.asarray(np.array([-1.0, 0.0, 3.0], dtype=np.float32))
expected = np.array([0.5, 0.0, 2.25], dtype=np.float32)
np.testing.assert_array_equal(lento.soft_square(x).numpy(), expected)
np.testing.assert_array_equal(x.soft_square().numpy(), expected)
assert "growing like its absolute value" in lento.soft_square.__doc__
assert lento.soft_square(lento.asarray([1, 2])).dtype == lento.float32
