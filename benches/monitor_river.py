"""Gradual drift: the monitor's charts beside the detectors of PyPI river, at equal false-alarm rates.

Streams are AR(1) around .3 with standard deviation .1. After 300 samples the mean rises by three standard
deviations, at once, over 100 or over 500 samples. Every detector sees the first 200 samples as its warm-up.
False alarms are counted in 1,000 samples after them on streams that do not drift; river's detectors are
tuned (threshold, delta, control limit) until they raise as many as ours do, and then both are given
other streams that drift. An alarm before the drift leaves a stream out; a missed drift counts as late.

In the rows "any" each stream has a spread (.03 to .12) and a phi (0 to .8) of its own, as the regions of a lake
have, and drifts by three of its own deviations. One setting serves all of them. river's detectors, which take
their limits in the units of the stream, are given streams that were scaled by their warm-ups.

    python3.11 -m venv venv && venv/bin/pip install river==0.26.1
    cargo build -p fidelake-core --example charts
    venv/bin/python benches/monitor_river.py TARGET/debug/examples/charts
"""

import subprocess
import sys

import numpy as np
from river import drift

CHARTS = sys.argv[1]
QUICK = len(sys.argv) > 2
WARM, BEFORE, SAMPLES = 200, 300, 1000
NULL, DRIFTING = (400, 200) if QUICK else (2000, 500)
# Other than the stated rate: at .01 too few false alarms are raised to be counted.
RATE = 0.2


def streams(rng, n, phi, length, ramp=None):
    spread = 0.1
    if phi is None:
        phi, spread = rng.uniform(0, 0.8, size=n), np.exp(rng.uniform(np.log(0.03), np.log(0.12), size=(n, 1)))
    noise = rng.normal(size=(n, length))
    x = np.empty_like(noise)
    x[:, 0] = noise[:, 0]
    for t in range(1, length):
        x[:, t] = phi * x[:, t - 1] + np.sqrt(1 - phi * phi) * noise[:, t]
    if ramp is not None:
        since = np.arange(length) - BEFORE + 1
        x += 3 * np.clip(since / max(ramp, 1), 0, 1) * (since > 0)
    return np.clip(0.3 + spread * x, 0, 1)


def scaled(x):
    warm = x[:, :WARM]
    return 0.3 + 0.1 * (x - warm.mean(axis=1, keepdims=True)) / warm.std(axis=1, ddof=1, keepdims=True)


def ours(x):
    text = "\n".join(" ".join(f"{v:.5f}" for v in row) for row in x)
    out = subprocess.run([CHARTS, str(RATE)], input=text, capture_output=True, text=True, check=True)
    return np.array([int(line) for line in out.stdout.split()])


class Ewma:
    """The EWMA chart as proposed for river (pull request 2014): lambda .1, limits of L deviations, the mean and
    deviation learned from the warm-up."""

    def __init__(self, limit):
        self.limit, self.seen, self.z, self.drift_detected = limit, [], 0.0, False

    def update(self, x):
        if len(self.seen) < WARM:
            self.seen.append(x)
            if len(self.seen) == WARM:
                self.mean, self.sd = np.mean(self.seen), np.std(self.seen, ddof=1)
            return
        self.z += 0.1 * ((x - self.mean) / self.sd - self.z)
        self.drift_detected = self.z > self.limit * np.sqrt(0.1 / 1.9)


DETECTORS = {
    # name: (make a detector for a setting, the strictest and the loosest setting)
    "EWMA": (Ewma, 30.0, 1.5),
    "PageHinkley": (lambda s: drift.PageHinkley(min_instances=30, delta=0.005, threshold=s, alpha=1 - 1e-4, mode="up"), 40.0, 0.05),
    "PageHinkley, delta .05": (lambda s: drift.PageHinkley(min_instances=30, delta=0.05, threshold=s, alpha=1 - 1e-4, mode="up"), 40.0, 0.01),
    "ADWIN": (lambda s: drift.ADWIN(delta=s, clock=1), 1e-30, 0.9),
}


def first(make, setting, x):
    found = []
    for row in x:
        detector = make(setting)
        at = 0
        for t, value in enumerate(row):
            detector.update(value)
            if t >= WARM and detector.drift_detected:
                at = t + 1
                break
        found.append(at)
    return np.array(found)


def tuned(make, strict, loose, x, wanted):
    """The setting at which as many of the streams raise a false alarm; settings on a scale of logarithms."""
    for _ in range(9):
        middle = np.sqrt(strict * loose)
        if (first(make, middle, x) > 0).mean() > wanted:
            loose = middle
        else:
            strict = middle
    return strict


def delay(found):
    kept = found[(found == 0) | (found > BEFORE)]
    late = np.where(kept == 0, 10**6, kept - BEFORE)
    return np.median(late), np.percentile(late, 90), (found > 0).sum() - (kept > 0).sum()


print("| phi | detector | setting | false alarms | jump | over 100 | over 500 |\n| --- | --- | --- | --- | --- | --- | --- |")
for phi in (0.0, 0.5, None):
    rng = np.random.default_rng(1)
    null = streams(rng, NULL, phi, WARM + SAMPLES)
    drifting = {ramp: streams(rng, DRIFTING, phi, 1500, ramp) for ramp in (0, 100, 500)}
    mine = ours(null)
    wanted = (mine > 0).mean()
    row = [delay(ours(x)) for x in drifting.values()]
    name_of_phi = "any" if phi is None else phi
    print(f"| {name_of_phi} | fidelake | {RATE} | {wanted:.4f} | " + " | ".join(f"{m:.0f} ({p:.0f})" for m, p, _ in row) + " |", flush=True)
    if phi is None:
        null, drifting = scaled(null), {ramp: scaled(x) for ramp, x in drifting.items()}
    for name, (make, strict, loose) in DETECTORS.items():
        tune = null[: 300 if QUICK else 600]
        setting = tuned(make, strict, loose, tune, max(wanted, 1 / len(tune)))
        rate = (first(make, setting, null) > 0).mean()
        row = [delay(first(make, setting, x)) for x in drifting.values()]
        print(f"| {name_of_phi} | {name} | {setting:.4g} | {rate:.4f} | " + " | ".join(f"{m:.0f} ({p:.0f})" for m, p, _ in row) + " |", flush=True)
