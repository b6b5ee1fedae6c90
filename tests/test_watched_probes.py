"""What watches a probe is checked before a run is made: that it looks in time, and measures what is asked for."""

import numpy as np
import pytest
from finished_runs import trained

from andrea_core import Measurement, ScenarioError, open_run
from andrea_core.plan import Plan
from andrea_core.scenario import load
from andrea_core.watching import with_missing
from andrea_plugins.probes import Heldout, Path

REWARD = 'reward={use="probe",name="%s",measurement="%s"}'
REACTIVE = (
    'curriculum={use="reactive",stages=[{name="a",at_most=20,%s},{name="b"}]}',
    "run.steps=40",
)


def checked(tiny, probes, *settings):
    Plan.of(load(tiny, settings=[f"probes=[{probes}]", *settings])).check()


@pytest.mark.parametrize(
    ("probes", "measurement", "message"),
    [
        ('{use="heldout",at_end=true}', "bits_per_byte", "looks at the end only, so it would never be paid.*every = N"),
        ('{use="heldout",at_start=true}', "bits_per_byte", "looks at the start only"),
        ('{use="heldout",every=40}', "bits_per_byte", "looks at steps beyond the run's last only"),
        ('{use="heldout",every=1}', "bits_per_bite", "no one number.*'bits_per_bite'; did you mean 'bits_per_byte'"),
        ('{use="sharpness",every=9,smallest=false}', "smallest", "as it is set, measures no one number.*'smallest'"),
        ('{use="sharpness",every=9,k=2}', "eigenvalues", "no one number, nor one a source, called 'eigenvalues'"),
    ],
)
def test_a_reward_that_would_never_be_paid_is_refused(tiny, probes, measurement, message):
    name = probes.split('"')[1]
    with pytest.raises(ScenarioError, match=f"^reward: the probe '{name}'.*{message}"):
        checked(tiny, probes, REWARD % (name, measurement))


def test_a_probe_at_stage_borders_pays_where_there_are_some(tiny):
    reward = REWARD % ("trace", "blocks_0_attention")
    checked(tiny, '{use="trace"}', reward)
    with pytest.raises(ScenarioError, match="looks at the ends of stages only, so it would never be paid"):
        checked(tiny, '{use="trace"}', reward, 'curriculum={use="static"}')


@pytest.mark.parametrize(
    ("probe", "rule", "message"),
    [
        ('{use="heldout"}', 'probe={name="heldout",measurement="bits_per_byte",below=1.0}', "no stage would ever end"),
        ('{use="heldout",every=5}', 'plateau={fall=1.0,probe="heldout",measurement="bits"}', "called 'bits'; there is"),
        ('{use="attention",every=5}', 'probe={name="attention",measurement="entropi",below=1.0}', "'entropy'"),
    ],
)
def test_a_stage_that_would_wait_in_vain_is_refused(tiny, probe, rule, message):
    with pytest.raises(ScenarioError, match=f"^curriculum: the probe .*{message}"):
        checked(tiny, probe, REACTIVE[0] % rule, REACTIVE[1])


def test_a_stage_may_wait_for_an_array_and_for_a_probe_that_declares_nothing(tiny):
    for name, measurement in (("attention", "entropy"), ("attention", "query_overlap")):
        rule = f'probe={{name="{name}",measurement="{measurement}",below=1.0}}'
        checked(tiny, f'{{use="{name}",every=5}}', REACTIVE[0] % rule, REACTIVE[1])


def test_what_a_probe_declares_and_cannot_say_at_a_look_is_missing():
    found = with_missing({"norm": Measurement(2.0)}, Path())
    assert found["norm"].value == 2.0
    assert found["move"].status == "missing"
    assert set(with_missing({}, Heldout())) == {"bits_per_byte", "bits_per_byte_error"}
    assert set(with_missing({"luck": Measurement(1.0)}, object())) == {"luck"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('probes=[{use="trace",evry=100}]', "probes.*evry.*did you mean 'every'"),
        ('probes=[{use="trace",at_stage_border=true}]', "did you mean 'at_stage_borders'"),
        ('policy={use="ucb1",landng="kl"}', "did you mean 'landing'"),
        ('probes=[{use="trace",draw=3}]', "did you mean 'draws'"),
    ],
)
def test_a_typo_in_the_times_of_a_probe_is_hinted_at(tiny, settings, message):
    with pytest.raises(ScenarioError, match=message):
        load(tiny, settings=[settings])


def test_a_reward_of_what_the_rewards_were_is_refused(tiny):
    with pytest.raises(ScenarioError, match=r"^reward: the probe 'reward_audit'.*looks at the rewards themselves"):
        checked(tiny, '{use="reward_audit",every=1}', REWARD % ("reward_audit", "pairs"))


def test_a_probe_that_a_reward_watches_sees_the_rows_of_the_phase(tiny, tmp_path):
    """What is measured on the phase's own text is the same whether a reward is made of it or not."""
    found = {}
    for name, settings in {"alone": [], "watched": [REWARD % ("sharpness", "largest")]}.items():
        probes = 'probes=[{use="sharpness",text="phase",tokens=64,every=1}]'
        uniform = ["policy.use=uniform", "run.steps=12"]
        run = open_run(trained(tiny, tmp_path / name, probes, *settings, *uniform))
        found[name] = run.probes["sharpness"]["largest"][:]

    assert np.isfinite(found["alone"]).all()
    np.testing.assert_array_equal(found["watched"], found["alone"])
