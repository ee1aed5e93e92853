"""Writes calls of the functions of the array API standard by NumPy, and their results, one JSON object a line:

    {"name": "sum", "type": "int8", "in": [array, ...], "p": {"Axes": [0], "Keep": true}, "want": [array, ...]}

An array has a type, a shape and base64 of its little-endian elements; an operand also a view, which says
how the elements are read: transposed (T), every second of the last axis (step), all axes reversed (flip), the
first axis stretched from length 1 (stretch). A result may be off by ulp units of the last place, relative to
itself, and by tol; zero says whether the signs of zeros count. Arguments: a seed, the number of
calls of each function on each type, and names of functions (none: all).
"""

import base64
import json
import sys
import warnings

import numpy as np
import standard_arrays
import standard_beyond
import standard_elementwise
import standard_products
import standard_rows
from standard_draw import CALLS, Draw

warnings.simplefilter("ignore")
np.seterr(all="ignore")

for fill in (
    standard_elementwise.elementwise, standard_elementwise.complex_numbers, standard_arrays.creation, standard_arrays.types,
    standard_arrays.indexing, standard_arrays.manipulation, standard_arrays.statistics, standard_products.products,
    standard_products.linalg, standard_products.fourier, standard_beyond.numbers, standard_beyond.places, standard_beyond.pairs,
    standard_rows.rows,
):
    fill()



def encoded(x):
    return {"Type": str(x.dtype), "Shape": x.shape, "Data": base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()}


seed, cases = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
for name in sys.argv[3:] or CALLS:
    make, kinds = CALLS[name]
    for kind in kinds:
        for number in range(cases):
            operands, p, want = make(Draw(rng, kind, number))
            print(json.dumps({"Name": name, "Type": kind, "In": [encoded(o.lying) | {"View": o.view, "Stretch": o.x.shape[0] if o.view == "stretch" else 0} for o in operands], "P": p,
                              "Want": [encoded(w.x) | {"Ulp": w.ulp, "Tol": w.tol, "Zero": w.zero} for w in want]}))
