"""What `mypy --strict` knows of values that go to NumPy and come from it; test_typing.py checks and runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lento
import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: Any, kind: Any) -> Any:
        return value


def centred(x: lento.Tensor) -> npt.NDArray[np.float32]:
    assert_type(x.numpy(), npt.NDArray[Any])
    assert_type(x.to_numpy(), npt.NDArray[Any])
    assert_type(np.asarray(x), npt.NDArray[Any])
    return (x - x.mean()).numpy()


def main() -> None:
    x = lento.asarray(np.arange(4, dtype=np.float32))
    assert_type(x + np.ones(4), lento.Tensor)
    assert_type(lento.exp(np.ones(4)), lento.Tensor)
    assert_type(lento.sqrt(2) + lento.maximum(0, np.float32(1)), lento.Tensor)
    assert_type(lento.float32(2), lento.Tensor)
    assert_type(lento.array([1, 2]), lento.Tensor)
    assert_type(lento.mgrid[0:2, 0:3], lento.Tensor)
    assert_type(lento.einsum("i,i", np.ones(2), [1.0, 2.0]), lento.Tensor)
    print(centred(x).tolist())


if __name__ == "__main__":
    main()
