"""Plugins that break their contract: each is named in one error, and none changes what the core keeps."""

import re

import numpy as np
import pytest

from andrea_core import open_run
from andrea_core.assembly import new_run, resumed_run
from andrea_core.errors import AndreaError, PluginError
from andrea_core.progress import Progress
from andrea_core.scenario import load

HEAD = """
import attrs
import numpy as np
from andrea_core import Measurement, Proposal, Region, Stage, hookimpl
"""

POLICY = (
    HEAD
    + '''
@attrs.frozen
class Mine:
    """A policy with one fault."""
    needs = frozenset()
    def start(self, sources): {start}
    def propose(self, state, moment, rng): {propose}
    def update(self, state, outcome): {update}

@hookimpl
def andrea_policies(): return {{"mine": Mine}}
'''
)


def policy(start="return None", propose="return moment.region.centre", update="return state"):
    return POLICY.format(start=start, propose=propose, update=update), ["policy.use=mine"]


def component(kind, body, use):
    registered = f'@hookimpl\ndef andrea_{kind}(): return {{"mine": Mine}}\n'
    return f'{HEAD}\n@attrs.frozen\nclass Mine:\n    """One fault."""\n{body}\n\n{registered}', use


def run(tiny, tmp_path, code, settings, out="run"):
    plugin = tmp_path / "mine.py"
    plugin.write_text(code)
    made = load(tiny, plugins=[str(plugin)], settings=[*settings, "run.steps=40"])
    experiment = new_run(made, tmp_path / out, Progress(), device="cpu", threads=1)
    try:
        experiment.run()
    finally:
        experiment.folder.release()
    return open_run(tmp_path / out)


WRITES = {
    "the weights that a policy is shown": policy(propose="moment.weights[:] = 1; return moment.region.centre"),
    "the ledger": policy(propose="moment.ledger.drawn[:] = 0; return moment.region.centre"),
    "the sizes of the sources": policy(start="sources.tokens[:] = 1"),
    "the weights of an outcome": policy(update="outcome.weights[:] = 0"),
    "the rewards of an outcome": policy(update="outcome.reward[:] = 1e9"),
    "the sources of an observation": policy(update="outcome.observation.source[:] = 1"),
    "the tokens of an observation": policy(update="outcome.observation.tokens[:] = 0"),
    "a region's bounds": policy(propose="moment.region.upper[:] = 1; return moment.region.centre"),
}


@pytest.mark.parametrize("case", WRITES)
def test_what_a_plugin_is_shown_cannot_be_written_to(tiny, tmp_path, case):
    with pytest.raises(PluginError, match=r"policy 'mine'.*read-only"):
        run(tiny, tmp_path, *WRITES[case])


CONSTRAINT = "    around_weights = False\n    def restrict(self, region, context): {body}"
PHASES = "    def length(self, context, rng): {body}"
REWARD = (
    "    needs = frozenset()\n    def start(self, sources): return None\n"
    "    def score(self, state, observation, rng): {body}"
)
PROBE = (
    "    needs = frozenset()\n    def start(self, sources): return 0\n    def measure(self, state, view, rng): {body}"
)
CURRICULUM = (
    "    def start(self, sources): return None\n    def stage(self, state, step): {body}\n"
    "    def update(self, state, outcome, findings): return None"
)


def constraint(body):
    return component("constraints", CONSTRAINT.format(body=body), ['constraints=[{use="mine"}]'])


def phases(body):
    return component("phases", PHASES.format(body=body), ["phases.use=mine"])


def reward(body):
    return component("rewards", REWARD.format(body=body), ["reward.use=mine"])


def probe(body):
    return component("probes", PROBE.format(body=body), ['probes=[{use="mine", at_start=true, at_end=true}]'])


def curriculum(body):
    return component("curricula", CURRICULUM.format(body=body), ["curriculum.use=mine"])


def observer(body):
    told = f"    def open(self, folder, sources): {body}\n    def phase(self, handle, record): {body}\n"
    return component("observers", f"{told}    def close(self, handle): {body}", ['observers=[{use="mine"}]'])


MEDDLERS = {"probe": lambda body: probe(f"{body}; return {{}}, state"), "observer": observer}

FAULTS = {
    "constraint widens": (
        constraint("return Region.of(region.names)"),
        "constraint 'mine'.*widened the bounds of source",
    ),
    "constraint raises": (constraint("1 / 0"), "constraint 'mine'.*ZeroDivisionError"),
    "constraint None": (constraint("return None"), "constraint 'mine'.*NoneType, which is no region"),
    "constraint other names": (constraint("return Region.of(('a', 'b', 'c'))"), "constraint 'mine'.*same sources"),
    "length 0": (phases("return 0"), "phase 'mine'.*0 steps"),
    "length float": (phases("return 2.5"), r"phase 'mine'.*2\.5 steps"),
    "length bool": (phases("return True"), "phase 'mine'.*True steps"),
    "length None": (phases("return None"), "phase 'mine'.*None steps"),
    "scores of texts": (reward("return ['a', 'b', 'c'], None"), "reward 'mine'.*scores that are not"),
    "scores of another shape": (reward("return np.zeros(2), None"), "reward 'mine'.*scores that are not"),
    "score raises": (reward("return observation.nothing"), "reward 'mine'.*AttributeError"),
    "score exits": (reward("raise SystemExit(0)"), "reward 'mine'.*SystemExit"),
    "stage None": (curriculum("return None"), "curriculum 'mine'.*None, which is no Stage"),
    "stage of unknown sources": (
        curriculum("return Stage('x', 0, 99, ('whales',))"),
        "curriculum 'mine'.*'whales'",
    ),
    "stage with a text as sources": (curriculum("return Stage('x', 0, 99, 'birds')"), "curriculum 'mine'.*'birds'"),
    "stage that is over": (curriculum("return Stage('x', 0, 0)"), "curriculum 'mine'.*not after step 0"),
    "policy start raises": (policy(start="1 / 0"), "policy 'mine'.*ZeroDivisionError.*before the first phase"),
    "notes of another shape": (
        policy(propose="return Proposal(moment.region.centre, notes={'x': np.zeros(2)})"),
        "policy 'mine'.*notes 'x'",
    ),
    "notes with a path for a name": (
        policy(propose="return Proposal(moment.region.centre, notes={'../x': np.zeros(3)})"),
        r"policy 'mine'.*'\.\./x'",
    ),
    "proposal of True steps": (
        policy(propose="return Proposal(moment.region.centre, steps=True)"),
        "policy 'mine'.*True",
    ),
    "probe returns a list": (probe("return [1], state"), "probe 'mine'.*list as measurements"),
    "probe returns a number": (probe("return {'a': 5}, state"), "probe 'mine'.*5 as measurement 'a'"),
    "probe stops with a number": (probe("return {'stop': Measurement(5)}, state"), "probe 'mine'.*measurement 'stop'"),
    "probe changes the weights": (
        probe("view._model.norm.weight.data += 1; return {}, state"),
        r"probe 'mine' .* changed norm\.weight, which a probe must not; it was put back",
    ),
    "probe leaves gradients": (
        probe("view._model.norm.weight.sum().backward(); return {}, state"),
        r"probe 'mine' .* changed norm\.weight\.grad, which",
    ),
    "probe takes a part of the model away": (
        probe("del view._model.norm; return {}, state"),
        r"probe 'mine' .* changed norm of the model, which a probe must not; it was put back",
    ),
    "probe gives a parameter another shape": (
        probe("p = view._model.norm.weight; p.data = p.data.new_zeros(3); return {}, state"),
        r"probe 'mine' .* changed norm\.weight, which",
    ),
    "probe changes the weights and raises": (
        probe("view._model.norm.weight.data += 1; 1 / 0"),
        "probe 'mine'.*raised ZeroDivisionError",
    ),
    "probe measures step": (probe("return {'step': Measurement(9.0)}, state"), "probe 'mine'.*record's own column"),
    "probe has no status": (
        probe("return {'a': Measurement(9.0, None)}, state"),
        "probe 'mine'.*the status None; it is a word",
    ),
    "probe names an axis twice": (
        probe("return {'a': Measurement(np.ones((2, 2)), axes=('x', 'x'))}, state"),
        "probe 'mine'.*axes.*different words",
    ),
    "probe returns what still has a gradient": (
        probe("return {'a': Measurement(view._model.norm.weight.sum())}, state"),
        "probe 'mine'.*measurement 'a'",
    ),
    "probe ends the generator": (probe("raise GeneratorExit"), "probe 'mine'.*raised GeneratorExit: GeneratorExit"),
    "probe writes into the rows": (
        (probe("view.trained.source[:] = 0; return {}, state")[0], ['probes=[{use="mine", every=1}]']),
        "probe 'mine'.*read-only",
    ),
    "probe changes its kind": (
        probe("return {'a': Measurement('text' if state else 1.0)}, state + 1"),
        "probe 'mine' returned text as measurement 'a', before",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_one_error_that_names_the_plugin(tiny, tmp_path, case):
    (code, settings), message = FAULTS[case]
    with pytest.raises(AndreaError) as caught:
        run(tiny, tmp_path, code, settings)

    assert re.search(message, str(caught.value), re.S), str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count("in phase") <= 1


STATES = {
    "a list": ("[0]", "holds a list"),
    "a set": ("{1}", "holds a set"),
    "an object array": ("np.array([None])", "holds an array of object"),
    "a complex number": ("1j", "holds a complex"),
    "a named tuple": ("__import__('collections').namedtuple('T', 'a')(1)", "holds a T"),
    "a number of 5,000 digits": ("10**5000", "holds a int"),
}


@pytest.mark.parametrize("case", STATES)
def test_a_state_that_no_checkpoint_can_keep_is_refused_at_once(tiny, tmp_path, case):
    value, message = STATES[case]
    with pytest.raises(PluginError, match=message):
        run(tiny, tmp_path, *policy(start=f"return {value}"))


def test_a_state_whose_class_appears_late_is_refused_after_the_first_phase(tiny, tmp_path):
    code, settings = policy(update="return Late(1)")
    code = code.replace(
        "@attrs.frozen\nclass Mine", "@attrs.frozen\nclass Late:\n    a: int\n\n@attrs.frozen\nclass Mine"
    )
    with pytest.raises(PluginError, match="Late"):
        run(tiny, tmp_path, code, settings)
    assert len(open_run(tmp_path / "run").phases["start"]) == 0


MEDDLING = {
    "threads": "torch.set_num_threads(2)",
    "default type": "torch.set_default_dtype(torch.float64)",
    "gradient mode": "torch.set_grad_enabled(False)",
    "autocast": "torch.autocast('cpu', dtype=torch.bfloat16).__enter__()",
    "default device": "torch.set_default_device('meta')",
    "determinism": "torch.use_deterministic_algorithms(True)",
    "NumPy's errors": "np.seterr(all='raise')",
    "working folder": "import os; os.chdir('/')",
    "forward hook": "view._model.norm.register_forward_hook(lambda m, i, o: o * 2)",
    "generators": "torch.rand(3); np.random.rand(); import random; random.random()",
}
UNSAID = {"forward hook"}  # is undone and is a fault of the probe, too


@pytest.mark.parametrize("case", MEDDLING)
@pytest.mark.parametrize("kind", ["probe", "observer"])
def test_who_changes_the_settings_of_the_process_does_not_disturb_training(tiny, tmp_path, monkeypatch, kind, case):
    monkeypatch.chdir(tmp_path)
    if kind == "observer" and "view" in MEDDLING[case]:
        pytest.skip("an observer sees no model")
    if case in UNSAID:
        with pytest.raises(PluginError, match=r"changed \S+ of norm, which a probe must not; it was put back"):
            run(tiny, tmp_path, *probe(f"import torch; {MEDDLING[case]}; return {{}}, state"))
        return
    calm = run(tiny, tmp_path, *MEDDLERS[kind]("pass"), out="calm")
    loud = run(tiny, tmp_path, *MEDDLERS[kind](f"import torch; {MEDDLING[case]}"), out="loud")
    monkeypatch.chdir(tmp_path)  # where it stood before would not help the next test

    assert loud.steps["loss"].dtype == np.float32
    assert loud.steps["loss"].tobytes() == calm.steps["loss"].tobytes()
    assert loud.phases["drawn"].tobytes() == calm.phases["drawn"].tobytes()


def test_a_stop_asked_for_in_the_very_last_step_leaves_a_run_that_resume_completes(tiny, tmp_path):
    plain = load(tiny)
    experiment = new_run(plain, tmp_path / "run", Progress(), device="cpu", threads=1)
    inner = experiment.trainer.step

    def step(inputs, targets):
        inner(inputs, targets)
        if experiment.trainer.steps_done == 40:
            experiment.ask_to_stop(2)

    experiment.trainer.step = step
    with pytest.raises(Exception, match="stopped at step 40"):
        experiment.run()
    experiment.folder.release()
    resumed, at = resumed_run(tmp_path / "run", Progress())
    assert at == 40
    resumed.run(at)
    resumed.folder.release()

    assert len(open_run(tmp_path / "run").steps["loss"]) == 40
