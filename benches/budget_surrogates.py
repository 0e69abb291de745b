"""Which surrogate earns its place: a ridge regression, a Bayesian one, or a Gaussian process?

Zero-inflated gaps of one API, three features of which two say something, one of them not in a
straight line. Share of the variance left on calls that were not used for the fit (1: it says
nothing), and seconds, by number of labels.

    python3.11 -m venv venv && venv/bin/pip install scikit-learn==1.9.1
    venv/bin/python benches/budget_surrogates.py
"""

import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import BayesianRidge, RidgeCV

warnings.filterwarnings("ignore")


def pool(rng, calls):
    x = rng.normal(size=(calls, 3))
    chance = 1 / (1 + np.exp(-(x[:, 0] - 0.5 + 0.5 * np.maximum(x[:, 1], 0))))
    return x, np.where(rng.random(calls) < chance, rng.beta(1.2, 1.8, calls), 0.0)


def models():
    kernel = ConstantKernel(0.05) * RBF([1.0, 1.0, 1.0]) + WhiteKernel(0.05)
    return {
        "ridge": RidgeCV(np.logspace(-2, 3, 12)),
        "bayesian ridge": BayesianRidge(),
        "gaussian process": GaussianProcessRegressor(kernel, normalize_y=True),
    }


print("labels  model              left   seconds")
for labels in (30, 100):
    left, seconds = {}, {}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, y = pool(rng, labels)
        other, truth = pool(rng, 1000)
        for name, model in models().items():
            began = time.perf_counter()
            miss = truth - model.fit(x, y).predict(other)
            seconds.setdefault(name, []).append(time.perf_counter() - began)
            left.setdefault(name, []).append(miss.var() / truth.var())
    for name in left:
        print(f"{labels:6}  {name:18} {np.mean(left[name]):.3f}  {np.mean(seconds[name]):.3f}", flush=True)
