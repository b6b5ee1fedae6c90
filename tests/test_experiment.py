"""Whole runs with a tiny model: invariants in the record, exact resume after SIGKILL, faults that leave a good run."""

import os
import signal
from itertools import pairwise

import numpy as np
import pytest
from cut_runs import assert_same_record, killed_run, record

from andrea_core.assembly import new_run, resumed_run
from andrea_core.errors import PluginError, RunError
from andrea_core.experiment import Interrupted
from andrea_core.progress import Progress
from andrea_core.runs.store import open_run
from andrea_core.scenario import load


class Notes(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def start(scenario, out, **options):
    return new_run(load(scenario, **options), out, Progress(), device="cpu", threads=1)


def finish(experiment, step=None):
    try:
        return experiment.run(step)
    finally:
        experiment.folder.release()


def train(scenario, out, **options):
    finish(start(scenario, out, **options))
    return open_run(out)


class TestRecord:
    """What a run writes down keeps the invariants, bit for bit."""

    @pytest.fixture
    def run(self, tiny, tmp_path):
        return train(tiny, tmp_path / "run")

    def test_weights_are_on_the_region_and_what_is_excluded_gets_nothing(self, run):
        weights, lower, upper = (run.phases[name] for name in ("weights", "lower", "upper"))
        stages = np.array(run.phases.decoded("stage"))

        assert ((weights >= lower) & (weights <= upper)).all()
        assert all(sum(map(float, row)) == pytest.approx(1, abs=1e-15) for row in weights)
        for stage, source in (("warmup", "clocks"), ("polish", "clocks")):
            for name in ("weights", "drawn", "trained"):
                assert (run.phases[name][stages == stage, run.sources.index(source)] == 0).all()
        polish = weights[stages == "polish"]
        assert (polish[:, run.sources.index("birds")] >= 0.6).all()
        assert (polish[:, run.sources.index("ships")] <= 0.35).all()

    def test_phases_tile_the_steps_and_only_a_stages_last_may_be_cut(self, run):
        starts, steps = run.phases["start"], run.phases["steps"]
        ends = starts + steps

        assert starts[0] == 0
        assert ends[-1] == 40 == len(run.steps["loss"])
        assert (starts[1:] == ends[:-1]).all()
        assert (steps <= 9).all()
        assert all(length >= 3 or end in (12, 26, 40) for length, end in zip(steps, ends, strict=True))
        assert {12, 26} <= set(ends.tolist())

    def test_the_ledger_adds_up_and_no_source_is_a_row_from_its_due(self, run):
        drawn, trained, owed = (run.phases[name] for name in ("drawn", "trained", "owed"))
        rows = run.phases["steps"] * 4

        assert (drawn.sum(1) == rows).all()
        assert (trained == drawn * 32).all()
        assert trained.sum() == run.steps["tokens"].sum() == 40 * 4 * 32
        assert np.abs(owed).max() < 1
        due = np.cumsum(run.phases["weights"] * rows[:, None], 0) - np.cumsum(drawn, 0)
        first = np.array(run.phases.decoded("stage")) == "warmup"
        assert due[first] == pytest.approx(owed[first], abs=1e-9)

    def test_ucb_phases_go_toward_the_vertex_they_record(self, run):
        acted = np.array(run.phases.decoded("policy")) == "ucb1"
        stages = run.phases["stage"]
        pairs = [i for i in range(1, len(acted)) if acted[i] and stages[i] == stages[i - 1]]

        assert pairs
        for i in pairs:
            before, after = run.phases["weights"][i - 1], run.phases["weights"][i]
            assert after == pytest.approx((before + run.notes["vertex"][i]) / 2, abs=1e-9)

    def test_held_out_text_is_measured_at_start_borders_and_end(self, run):
        assert run.evals["step"].tolist() == [0, 12, 26, 40]
        assert (run.evals["bits_per_byte"][0] > 7).all()
        assert run.evals["bits_per_byte"][-1].mean() < run.evals["bits_per_byte"][0].mean()

    def test_steps_hold_losses_rates_and_norms(self, run):
        assert run.steps["loss"].dtype == np.float32
        assert run.steps["lr"][:4] == pytest.approx([0.0025, 0.005, 0.0075, 0.01])
        assert (run.steps["grad_norm"] > 0).all()


class TestResume:
    """A resumed run is bit for bit the uninterrupted one."""

    @pytest.fixture
    def straight(self, tiny, tmp_path):
        train(tiny, tmp_path / "straight")
        return record(tmp_path / "straight")

    def test_killed_twice_in_a_row_at_every_phase_border(self, tiny, tmp_path, straight):
        for number, border in enumerate(straight["phases/start"][1:]):
            out = tmp_path / f"killed-{number}"
            killed_run(lambda out=out: (start(tiny, out), None), border)
            killed_run(lambda out=out: resumed_run(out, Progress()), border)
            experiment, step = resumed_run(out, Progress())
            assert step <= border
            finish(experiment, step)

            assert_same_record(straight, record(out))

    @pytest.mark.parametrize("steps", [(1,), (6, 7, 8), (13, 14, 14, 39)])
    def test_killed_inside_phases_and_beside_checkpoints(self, tiny, tmp_path, straight, steps):
        out = tmp_path / "killed"
        killed_run(lambda: (start(tiny, out), None), steps[0])
        for step in steps[1:]:
            killed_run(lambda: resumed_run(out, Progress()), step)
        finish(*resumed_run(out, Progress()))

        assert_same_record(straight, record(out))

    def test_ctrl_c_writes_a_checkpoint_and_resumes_exactly(self, tiny, tmp_path, straight):
        out = tmp_path / "stopped"
        experiment = start(tiny, out)
        inner = experiment.trainer.step

        def step_then_signal(inputs, targets):
            inner(inputs, targets)
            if experiment.trainer.steps_done == 17:
                os.kill(os.getpid(), signal.SIGINT)

        experiment.trainer.step = step_then_signal
        with pytest.raises(Interrupted) as stopped:
            finish(experiment)
        assert stopped.value.step == 17
        resumed, step = resumed_run(out, Progress())
        assert step == 17
        finish(resumed, step)

        assert_same_record(straight, record(out))

    def test_a_damaged_checkpoint_is_passed_over_and_said(self, tiny, tmp_path, straight):
        out = tmp_path / "damaged"
        killed_run(lambda: (start(tiny, out), None), 22, written=True)
        (out / "checkpoints/step_0000021/model.safetensors").write_bytes(b"short")
        notes = Notes()
        experiment, step = resumed_run(out, notes)
        assert step == 14
        assert any("step_0000021" in note for note in notes.notes)
        finish(experiment, step)

        assert_same_record(straight, record(out))

    def test_without_any_valid_checkpoint_the_remedy_is_named(self, tiny, tmp_path):
        out = tmp_path / "empty"
        killed_run(lambda: (start(tiny, out), None), 3)
        (out / "checkpoints/step_0000000/manifest.json").unlink()
        with pytest.raises(RunError, match="no valid checkpoint; start over with `andrea run"):
            resumed_run(out, Progress())
        finish(start(tiny, out))  # the folder's lock was let go, and `run --out` may start over

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda out: edit(out / "scenario.toml", "lr = 0.01", "lr = 0.02"), "scenario.toml"),
            (lambda out: edit(out.parent / "text" / "birds-03.txt", "birds", "bards"), "'birds'"),
        ],
    )
    def test_what_has_changed_is_refused(self, tiny, tmp_path, change, words):
        out = tmp_path / "changed"
        killed_run(lambda: (start(tiny, out), None), 9)
        change(out)
        with pytest.raises(RunError, match=words):
            resumed_run(out, Progress())

    def test_the_order_of_text_does_not_depend_on_other_randomness(self, tiny, tmp_path, straight):
        np.random.seed(7)
        np.random.random(5)
        train(tiny, tmp_path / "again")

        assert_same_record(straight, record(tmp_path / "again"))


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


BAD = '''
import attrs
import numpy as np
from andrea_core import hookimpl

@attrs.frozen
class Bad:
    """Well behaved until phase 3."""
    how: str = "nan"
    needs = frozenset()
    def start(self, sources): return None
    def propose(self, state, moment, rng):
        weights = moment.region.centre
        if moment.phase == 3:
            if self.how == "raise": raise ValueError("boom")
            weights = weights.copy()
            place, value = {"nan": (0, np.nan), "negative": (0, -0.5), "excluded": (1, 0.2)}[self.how]
            weights[place] = value
        return weights
    def update(self, state, outcome): return None

@hookimpl
def andrea_policies(): return {"bad": Bad}
'''


class TestFaults:
    """A fault stops the run with one message, and the last checkpoint is good."""

    @pytest.mark.parametrize(
        ("how", "words"),
        [
            ("nan", "nan for source 'birds', which is not finite"),
            ("negative", "-0.5 for source 'birds', which is negative"),
            ("excluded", "0.2 to source 'clocks', which is excluded"),
            ("raise", "raised ValueError: boom"),
        ],
    )
    def test_a_bad_policy_is_named_with_phase_source_and_amount(self, tiny, tmp_path, how, words):
        plugin = tmp_path / "bad.py"
        plugin.write_text(BAD)
        settings = [
            "policy.use=bad",
            f"policy.how='{how}'",
            "curriculum.stages[0].until=35",
            "curriculum.stages[1].until=36",
        ]
        experiment = start(tiny, tmp_path / "run", plugins=[str(plugin)], settings=settings)
        with pytest.raises(PluginError, match=rf"policy 'bad'.*{words}.*phase 3 of stage 'warmup'"):
            finish(experiment)

        step, damage = experiment.folder.checkpoints.newest_valid()
        assert damage == []
        assert step > 0

    def test_a_loss_that_is_no_number_stops_the_run_before_a_bad_checkpoint(self, tiny, tmp_path):
        experiment = start(tiny, tmp_path / "run", settings=["optimizer.lr=1e30", "optimizer.clip=0"])
        with pytest.raises(
            RunError, match=r"the loss is (nan|inf) at step \d+ .*rows of that step: .*checkpoint of step"
        ):
            finish(experiment)

        for step in experiment.folder.checkpoints.steps():
            tensors = experiment.folder.checkpoints.load(step).model.values()
            assert all(bool(tensor.isfinite().all()) for tensor in tensors)

    def test_a_folder_in_use_is_refused(self, tiny, tmp_path):
        experiment = start(tiny, tmp_path / "run")
        try:
            with pytest.raises(RunError, match="in use"):
                resumed_run(tmp_path / "run", Progress())
        finally:
            experiment.folder.release()

    def test_out_refuses_a_run_that_can_be_resumed_another_scenario_and_foreign_files(self, tiny, tmp_path):
        train(tiny, tmp_path / "run")
        with pytest.raises(RunError, match="andrea resume"):
            start(tiny, tmp_path / "run")
        with pytest.raises(RunError, match="another scenario"):
            start(tiny, tmp_path / "run", seed=99)
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis.txt").write_text("precious")
        with pytest.raises(RunError, match="holds no run"):
            start(tiny, tmp_path / "mine")
        assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"

    def test_a_failing_observer_is_dropped_and_the_run_goes_on(self, tiny, tmp_path):
        plugin = tmp_path / "loud.py"
        plugin.write_text(
            "import attrs\nfrom andrea_core import hookimpl\n@attrs.frozen\nclass Loud:\n"
            "    def open(self, folder, sources): return None\n"
            "    def phase(self, handle, record): raise OSError('no network')\n"
            "    def close(self, handle): pass\n"
            "@hookimpl\ndef andrea_observers(): return {'loud': Loud}\n"
        )
        scenario = tiny.with_name("observed.toml")
        scenario.write_text('extends = "tiny.toml"\n[[observers]]\nuse = "loud"\n[[observers]]\nuse = "jsonl"\n')
        run = train(scenario, tmp_path / "run", plugins=[str(plugin)])

        assert len(run.steps["loss"]) == 40
        assert sum("no network" in text for text in run.events["text"]) == 1
        assert len((tmp_path / "run" / "phases.jsonl").read_text().splitlines()) == run.phases.rows

    def test_a_full_disk_is_one_clear_error(self, tiny, tmp_path, monkeypatch):
        experiment = start(tiny, tmp_path / "run")

        def full(*_args, **_kwargs):
            raise OSError(28, "No space left on device")

        def fill(self, *args):
            monkeypatch.setattr("andrea_core.runs.checkpoint.save_arrays", full)

        experiment.progress.phase_done = fill.__get__(experiment.progress)
        with pytest.raises(RunError, match=r"disk is full.*andrea resume"):
            finish(experiment)
        assert experiment.folder.checkpoints.newest_valid()[0] is not None


def test_probes_leave_training_bit_identical(tiny, tmp_path):
    with_probes = train(tiny, tmp_path / "with")
    bare = tiny.with_name("bare.toml")
    bare.write_text('extends = "tiny.toml"\nprobes = []\n')
    without = train(bare, tmp_path / "without")

    assert with_probes.steps["loss"].tobytes() == without.steps["loss"].tobytes()
    assert with_probes.phases["weights"].tobytes() == without.phases["weights"].tobytes()


def test_consecutive_random_phases_differ_and_the_global_generator_is_untouched(tiny, tmp_path):
    before = np.random.get_state()[1].tolist()
    run = train(tiny, tmp_path / "run", settings=["policy.use=random"])

    assert np.random.get_state()[1].tolist() == before
    assert all((a != b).any() for a, b in pairwise(run.phases["weights"]))
