# Functions of several arrays of all ranks, beside the same in CasADi: every array is its transpose there.
import ctypes
import sys

import casadi as ca
import numpy as np

library = sys.argv[1]
external = ca.external("two_words", library)
assert external.name_in() == ["a", "b", "c"] and external.name_out() == ["out_0", "out_1", "out_2"], external
a, b, c = ca.MX.sym("a", 3, 2), ca.MX.sym("b"), ca.MX.sym("c", 3)
results = [ca.sin(a) * b + ca.repmat(c, 1, 2), ca.sumsqr(a) * b, c[1:] * c[:2]]
own = ca.Function("own", [a, b, c], results)


def agree(ours, theirs, arguments):
    assert ours.n_out() == theirs.n_out()
    for name, found, expected in zip(ours.name_out(), ours.call(arguments), theirs.call(arguments)):
        found, expected = np.array(found), np.array(expected)
        assert found.shape == expected.shape, f"{name}: {found.shape}, not {expected.shape}"
        assert np.allclose(found, expected, 1e-12, 1e-12), f"{name}: {found}, not {expected}"


generator = np.random.default_rng(2)
point = [generator.normal(size=shape) for shape in [(3, 2), (), 3]]
agree(external, own, point)
agree(external.jacobian(), own.jacobian(), point + [0, 0, 0])
seeds = [generator.normal(size=shape) for shape in [(3, 2), (), 2]]
reverse = external.reverse(1)
agree(reverse, own.reverse(1), point + [0, 0, 0] + seeds)
agree(reverse.jacobian(), own.reverse(1).jacobian(), point + [0, 0, 0] + seeds + [0, 0, 0])
forward = external.forward(1)
assert all(function.class_name() == "External" for function in [reverse, reverse.jacobian(), forward])
agree(forward, own.forward(1), point + [0, 0, 0] + [generator.normal(size=shape) for shape in [(3, 2), (), 3]])
# Several directions at a time, and third derivatives, by the second.
agree(external.forward(2), own.forward(2), point + [0, 0, 0] + [np.ones((3, 4)), np.ones((1, 2)), np.ones((3, 2))])

# Entries are where derivatives may be other than zero: of the second array, the third, nothing by the first.
jacobian = external.jacobian()
counts = [jacobian.nnz_out(at) for at in range(9)]
assert counts == [6, 6, 6, 6, 1, 0, 0, 0, 4], counts

# By pointers: none in arg is for zeros, one in res for what is not wanted.
plain = ctypes.CDLL(library)



def called(name, given, taken):
    """The arrays that are written for these positions of arguments and results; no pointer is passed for others."""
    function = getattr(plain, name)
    sizes = [ctypes.c_longlong() for _ in range(4)]
    assert getattr(plain, f"{name}_work")(*map(ctypes.byref, sizes)) == 0
    arguments, results, iw, w = (size.value for size in sizes)
    pointers = (ctypes.c_void_p * arguments)(*[given[at].ctypes.data if at in given else None for at in range(arguments)])
    places = (ctypes.c_void_p * results)(*[taken[at].ctypes.data if at in taken else None for at in range(results)])
    memory = plain[f"{name}_checkout"]()
    assert function(pointers, places, (ctypes.c_longlong * (iw + 1))(), (ctypes.c_double * (w + 1))(), memory) == 0
    plain[f"{name}_release"](memory)


matrix, entries, whole = np.arange(6.0), np.full(6, 7.0), np.full(6, 7.0)
called("jac_two_words", {0: matrix}, {1: entries})
assert np.allclose(entries, np.sin(matrix)), entries
called("two_words", {0: matrix}, {})
called("two_words", {0: matrix}, {0: whole})
assert list(whole) == [0.0] * 6, whole
