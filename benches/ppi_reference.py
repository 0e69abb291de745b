"""PPI++ of PyPI `ppi-python` on small made-up data: the figures in core/src/budget/ppi.rs.

    python3.11 -m venv venv && venv/bin/pip install ppi-python==0.2.3
    venv/bin/python benches/ppi_reference.py
"""

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

for n, rest, weight in [(40, 200, 0.8), (25, 60, 0.1), (12, 500, 1.0)]:
    i = np.arange(n)
    y = np.where(i % 3 == 0, 0.0, ((i * 37 % 101) / 101.0) ** 2)
    f = weight * y + 0.3 * ((i * 53 % 97) / 97.0)
    j = np.arange(rest)
    g = np.where(j % 3 == 0, 0.0, weight * ((j * 41 % 103) / 103.0) ** 2) + 0.3 * ((j * 29 % 89) / 89.0)
    mean = float(np.asarray(ppi_mean_pointestimate(y, f, g)).squeeze())
    low, high = (float(np.asarray(x).squeeze()) for x in ppi_mean_ci(y, f, g, alpha=0.05))
    print(f"({n}, {rest}, {weight}, {mean:.12f}, {low:.12f}, {high:.12f}),")
