"""Measures CasADi's own C of the problem beside the exported file: sizes, seconds to compile, microseconds a call.

usage: measure.py FOLDER STAGES [expand]

With `expand` the model is one expression for all stages, else a function of a stage that is mapped.
"""

import sys
import time
from pathlib import Path

import casadi as ca
import numpy as np
from solve import STATE, compiled, own_problem, solver, times


def main():
    folder, stages = Path(sys.argv[1]), int(sys.argv[2])
    own = own_problem(stages)
    begin = time.perf_counter()
    if "expand" in sys.argv:
        own = own.expand()
    nlp = solver(own)
    generator = ca.CodeGenerator("own.c")
    names = ["nlp_f", "nlp_g", "nlp_grad_f", "nlp_jac_g", "nlp_hess_l"]
    for name in names:
        generator.add(nlp.get_function(name))
    generator.generate(f"{folder}/")
    seconds, text = time.perf_counter() - begin, (folder / "own.c").read_text()
    print(f"{stages} stages: {text.count(chr(10))} lines, {len(text)} bytes, {seconds:.2f} s", flush=True)
    library, seconds = compiled(folder / "own.c")
    print(f"compiled in {seconds:.1f} s")
    numbers = np.random.default_rng(1)
    point, start = numbers.normal(size=own.numel_in(0)), numbers.normal(size=STATE)
    weights = [1.5, numbers.normal(size=own.numel_out(1))]
    print("microseconds:", times(lambda name: ca.external(name, str(library)), point, start, weights, 20))


main()
