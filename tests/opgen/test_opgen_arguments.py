"""Rules of arguments: their types, names and defaults."""

from __future__ import annotations

import pytest
from workplace import Case, Workplace, check_case

CASES: dict[str, Case] = {
    "unknown argument type": (
        "- {op: f, doc: D., args: [x: Tensr], family: composite}\n",
        [(1, 30, "unknown type 'Tensr' of argument 'x'; did you mean 'Tensor'?")],
    ),
    "separate arguments that are no tensors": (
        '- {op: f, doc: D., args: [axes: "int..."], family: composite}\n',
        [(1, 34, "type 'int...' of argument 'axes': '...' is for Tensor alone, and an offset is one int")],
    ),
    "several offsets": (
        '- {op: f, doc: D., args: [x: Tensor, k: "offset[]"], family: composite}\n',
        [(1, 42, "type 'offset[]' of argument 'k': '...' is for Tensor alone, and an offset is one int")],
    ),
    "malformed type": (
        "- op: f\n  doc: D.\n  args:\n    - x: Tensor\n    - axis: int[\n  family: composite\n",
        [
            (
                5,
                13,
                "malformed type 'int[' of argument 'axis'; a type is a name with an optional '{a,b}', '[]' "
                "or '...', and '?', such as "
                "'int[]? = null'",
            )
        ],
    ),
    "malformed argument": (
        "- {op: f, doc: D., args: [x], family: composite}\n",
        [(1, 27, "malformed argument 'x'; write 'name: type' or 'name: type = default'")],
    ),
    "args not a list": (
        "- {op: f, doc: D., args: x, family: composite}\n",
        [(1, 26, "'args' takes a list such as [x: Tensor, axis: int = -1]")],
    ),
    "argument name": (
        "- {op: f, doc: D., args: [xValue: Tensor], family: composite}\n",
        [(1, 27, "argument name 'xValue' is not in snake_case")],
    ),
    "reserved argument": (
        "- {op: f, doc: D., args: [site: Tensor], family: composite}\n",
        [(1, 27, "argument 'site' of op 'f': the name is reserved; try 'site_'")],
    ),
    "duplicate argument": (
        "- {op: f, doc: D., args: [x: Tensor, x: int], family: composite}\n",
        [(1, 38, "duplicate argument 'x' of op 'f'")],
    ),
    "default of the wrong kind: int": (
        "- {op: f, doc: D., args: [x: Tensor, axis: int = 1.5], family: composite}\n",
        [(1, 44, "default '1.5' of argument 'axis: int' has the wrong kind; expected an integer")],
    ),
    "default of the wrong kind: bool": (
        "- {op: f, doc: D., args: [x: Tensor, keepdims: bool = no], family: composite}\n",
        [(1, 48, "default 'no' of argument 'keepdims: bool' has the wrong kind; expected true or false")],
    ),
    "default of the wrong kind: dtype": (
        "- {op: f, doc: D., args: [x: Tensor, to: dtype = flot32], family: composite}\n",
        [
            (
                1,
                42,
                "default 'flot32' of argument 'to: dtype' has the wrong kind; expected a dtype; did you "
                "mean 'float32'?",
            )
        ],
    ),
    "default of the wrong kind: choice": (
        '- {op: f, doc: D., args: [x: Tensor, mode: "str{mean,sum} = maen"], family: composite}\n',
        [
            (
                1,
                45,
                "default 'maen' of argument 'mode: str{mean,sum}' has the wrong kind; expected one of "
                "mean, sum; did you "
                "mean 'mean'?",
            )
        ],
    ),
    "default of the wrong kind: null": (
        "- {op: f, doc: D., args: [x: Tensor, axis: int = null], family: composite}\n",
        [
            (
                1,
                44,
                "default 'null' of argument 'axis: int' has the wrong kind; expected a value: only "
                "optional types ('?') "
                "have null",
            )
        ],
    ),
    "default of the wrong kind: list": (
        '- {op: f, doc: D., args: [x: Tensor, axes: "int[] = [0, a]"], family: composite}\n',
        [(1, 45, "default '[0, a]' of argument 'axes: int[]' has the wrong kind; expected a list of an integer")],
    ),
    "argument without default behind one with": (
        "- {op: f, doc: D., args: [x: Tensor, a: int = 1, b: int], family: composite}\n",
        [(1, 50, "argument 'b' of op 'f' has no default but follows one that has")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_argument_is_reported_with_its_place_and_nothing_is_written(workplace: Workplace, name: str) -> None:
    check_case(workplace, CASES[name])
