"""Writes synthetic run folders with zarr alone, so that reading a run is tested apart from recording one."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import zarr

SIXTEEN = [
    *(
        "hermes3-general",
        "hermes3-creative",
        "hermes3-roleplay",
        "chat",
        "smoltalk",
        "oasst",
        "gutenberg",
        "dictionary",
    ),
    *("synthetic-chat", "repo-docs", "repo-docstrings", "repo-commits", "irc", "unweapon", "unfirehose-chat", "stdlib"),
]
POLICIES = ["random", "ucb1"]
SECONDS = ["data", "model", "policy", "recording", "probes"]
Arrays = dict[str, np.ndarray]


@attrs.frozen
class Part:
    """A stage: where it ends, which sources are open, and bounds by source index."""

    name: str
    until: int
    open: Sequence[int]
    floors: Mapping[int, float] = attrs.field(factory=dict)
    caps: Mapping[int, float] = attrs.field(factory=dict)


def curriculum(count: int, steps: int) -> list[Part]:
    """Return the three stages of the polish scenario for `count` sources: a face, everything, a smaller polytope."""
    everything = list(range(count))
    shut = [k for k in everything if SIXTEEN[k : k + 1] not in (["repo-docs"], ["repo-docstrings"])]
    return [
        Part("warmup", steps // 10, everything[: max(1, (count * 7 + 15) // 16)]),
        Part("firehose", int(steps * 0.563), everything),
        Part("polish", steps, shut, {0: 0.7}, {7: 0.25} if count > 7 else {}),
    ]


def bounds(part: Part, count: int) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = np.zeros(count), np.zeros(count)
    upper[list(part.open)] = 1.0
    for k, floor in part.floors.items():
        lower[k] = floor
    for k, cap in part.caps.items():
        upper[k] = min(upper[k], cap)
    return lower, np.minimum(upper, 1 - lower.sum() + lower)


def uniform(lower: np.ndarray, upper: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    open_ = upper > lower
    while True:
        point = lower.copy()
        point[open_] += rng.dirichlet(np.ones(int(open_.sum()))) * (1 - lower.sum()) if open_.any() else 0.0
        if (point <= upper + 1e-12).all():
            return point


def phase_rows(parts: Sequence[Part], count: int, seed: int, batch: int, context: int) -> Arrays:
    """Walk: three phases in ten jump uniformly, the others step toward the vertex of the best score."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {}
    weights, at, used, best = np.full(count, 1 / count), 0, np.zeros(count), rng.uniform(0.5, 3, count)
    for stage, part in enumerate(parts):
        lower, upper = bounds(part, count)
        while at < part.until:
            steps = int(min(rng.integers(7, 43), part.until - at))
            score = np.where(upper > 0, best * np.exp(-at / parts[-1].until) + rng.normal(0, 0.3, count), np.nan)
            policy = int(rng.random() < 0.7)
            vertex = lower.copy()
            vertex[int(np.nanargmax(score))] += 1 - lower.sum()
            vertex = np.minimum(vertex, upper)
            vertex[0] += 1 - vertex.sum()
            inside = ((weights >= lower) & (weights <= upper)).all()
            start = weights if inside else uniform(lower, upper, rng)
            requested = 0.5 * start + 0.5 * vertex if policy else uniform(lower, upper, rng)
            weights = requested
            drawn = rng.multinomial(steps * batch, weights)
            used = used + drawn * context
            record = {
                "start": at, "steps": steps, "stage": stage, "policy": policy, "requested": requested,
                "weights": weights, "lower": lower, "upper": upper, "drawn": drawn, "trained": drawn * context,
                "reward": np.where(drawn > 0, rng.normal(0, 0.1, count), np.nan),
                "loss": np.where(drawn > 0, 3 - 1.5 * at / parts[-1].until, np.nan),
                "epochs": used / (40_000 * (1 + np.arange(count))),
                "seconds": np.array([0.02, 2.9, 0.004, 0.003, 0.08]) * steps / 20 * rng.uniform(0.8, 1.2, 5),
                "score": score if policy else np.full(count, np.nan),
                "vertex": vertex if policy else np.full(count, np.nan),
            }  # fmt: skip
            for name, value in record.items():
                rows.setdefault(name, []).append(value)
            at += steps
    return {name: np.array(values) for name, values in rows.items()}


def step_rows(steps: int, total: int, tokens: int, seed: int) -> Arrays:
    rng, at = np.random.default_rng(seed + 1), np.arange(1, steps + 1)
    warm = np.minimum(1, at / max(1, total // 100))
    return {
        "loss": (1.6 + 3.9 * np.exp(-at / total * 6) + rng.normal(0, 0.08, steps)).astype(np.float32),
        "lr": 3e-3 * warm * (0.55 + 0.45 * np.cos(np.pi * at / total)),
        "grad_norm": (0.4 + 2 * np.exp(-at / total * 20) + rng.gamma(2, 0.05, steps)).astype(np.float32),
        "tokens": np.full(steps, tokens, np.int64),
    }


def put(group: zarr.Group, rows: Mapping[str, Any], rows_kept: int | None = None) -> None:
    for name, values in rows.items():
        kept = values[:rows_kept]
        dtype: Any = str if np.asarray(values).dtype.kind in "UTO" else np.asarray(values).dtype
        array = group.create_array(name, shape=kept.shape, chunks=(512, *kept.shape[1:]), dtype=dtype)
        if len(kept):
            array[:] = kept


def write_run(
    folder: Path, *, sources: Sequence[str] = SIXTEEN, steps: int = 2000, until: int | None = None, seed: int = 0
) -> Path:
    """Write a run of the polish scenario, killed after `until` steps if that is given; return its folder."""
    count, batch, context = len(sources), 16, 128
    until = steps if until is None else until
    parts = curriculum(count, steps)
    store = empty_run(folder, sources, parts, batch=batch, context=context)
    rows = phase_rows(parts, count, seed, batch, context)
    kept = int(np.searchsorted(rows["start"] + rows["steps"], until, side="right"))
    notes = {name: rows.pop(name) for name in ("score", "vertex")}
    put(store.create_group("steps"), step_rows(until, steps, batch * context, seed))
    phases = store.create_group("phases")
    put(phases, {n: v.astype(np.int32) if n in ("stage", "policy") else v for n, v in rows.items()}, kept)
    put(phases.create_group("notes"), notes, kept)
    for name, names in (("stage", [p.name for p in parts]), ("policy", POLICIES), ("seconds", SECONDS)):
        phases[name].attrs["names"] = names
    put_looks(store, parts, count, until)
    return folder


def put_looks(store: zarr.Group, parts: Sequence[Part], count: int, until: int) -> None:
    """Write held-out losses, samples, events and one probe."""
    total = parts[-1].until
    at = np.array(sorted({0, *range(0, until + 1, max(1, total // 20)), *(p.until for p in parts if p.until <= until)}))
    level = 2.0 + np.arange(count) * 0.05
    put(store.create_group("eval"), {"step": at, "bits_per_byte": level + 5 * np.exp(-at[:, None] / total * 6)})
    texts = ["region region region", "<script>alert('x')</script> & then", "The lamp was lit,\nand she went in."]
    samples = {
        "step": np.array([0, until // 2, until]),
        "text": np.array(texts, object),
        "score": np.array([8.0, np.nan, 91.0]),
    }
    put(store.create_group("samples"), samples)
    events = {"step": np.array([0, until // 2]), "kind": np.array(["start", "cap"], object)}
    put(
        store.create_group("events"),
        events | {"text": np.array(["run <b>started</b>", "epoch cap dropped a floor"], object)},
    )
    put(
        store.create_group("probes/sharpness"),
        {"step": at, "value": np.exp(-at / total), "by_source": np.outer(at, level)},
    )


def empty_run(
    folder: Path, sources: Sequence[str], parts: Sequence[Part] = (), batch: int = 16, context: int = 128
) -> zarr.Group:
    """Write a run that was killed before its first step: attributes and a scenario, no arrays."""
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text('name = "v3_polish"\n\n[run]\nsteps = 2000\n# <not html>\n', encoding="utf-8")
    facts = {"digest": "3f9a7c21d0b4", "device": "cpu", "threads": 1, "plugins": [{"name": "p", "digest": "x"}]}
    facts |= {"versions": {"andrea": "0.1.0", "torch": "2.13.0", "python": "3.11.7"}}
    (folder / "run.json").write_text(json.dumps(facts), encoding="utf-8")
    store = zarr.open_group(folder / "run.zarr", mode="w", zarr_format=3)
    starts = [0, *(p.until for p in parts[:-1])]
    stages = [{"name": p.name, "start": start, "until": p.until} for p, start in zip(parts, starts, strict=False)]
    store.attrs.update(
        {
            "sources": list(sources), "name": "v3_polish", "digest": "3f9a7c21d0b4", "rows": batch, "context": context,
            "total_steps": parts[-1].until if parts else 0, "stages": stages,
            "order0": [4.2 + 0.05 * k for k in range(len(sources))],
            "epoch_tokens": [40_000 * (1 + k) for k in range(len(sources))],
        }
    )  # fmt: skip
    return store
