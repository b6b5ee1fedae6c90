"""Scenarios: layers, profiles, scale, overrides, the round trip, and every error with its place and remedy."""

import re
import tomllib
from pathlib import Path

import pytest
import tomli_w
from hypothesis import given, strategies as st

from andrea_core.errors import AndreaError, InfeasibleRegion, PluginError, ScenarioError
from andrea_core.layers import merge
from andrea_core.plugins import Catalogue
from andrea_core.scenario import load, load_resolved, structure, unstructure

SCENARIOS = Path(__file__).parents[1] / "scenarios"
SEVEN = ("hermes3-general", "hermes3-creative", "hermes3-roleplay", "chat", "smoltalk", "oasst", "gutenberg")


def failure(path, error=ScenarioError, **options):
    with pytest.raises(error) as caught:
        load(path, **options)
    return str(caught.value)


def edited(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


class TestShippedScenarios:
    """The files in scenarios/ hold the seeds' numbers."""

    def test_v3_polish_under_full_has_the_seeds_numbers(self):
        scenario = load(SCENARIOS / "v3_polish.toml", profile="full").scenario
        warmup, firehose, polish = scenario.curriculum.stages

        assert scenario.run.steps == 200_000
        assert (warmup.until, firehose.until, polish.until) == (20_000, 112_619, None)
        assert warmup.sources == SEVEN
        assert len(scenario.sources) == 16
        assert (scenario.phases.low, scenario.phases.high) == (7, 42)
        assert (scenario.optimizer.lr, scenario.optimizer.warmup) == (3e-4, 2000)
        assert (scenario.model.preset, scenario.tokenizer.vocabulary) == ("andrea-120m", 8449)
        assert [face.share for face in scenario.policy.component.faces] == [0.3, 0.7]

    def test_the_laptop_is_the_default_and_scales_spans_only(self):
        scenario = load(SCENARIOS / "v3_polish.toml").scenario

        assert scenario.run.steps == 2000
        assert [stage.until for stage in scenario.curriculum.stages] == [200, 1126, None]
        assert scenario.optimizer.warmup == 20
        assert scenario.run.checkpoint_every == 100
        assert (scenario.phases.low, scenario.phases.high) == (7, 42)
        assert scenario.optimizer.lr == 3e-3

    def test_v1_has_its_faults_switched_on(self):
        optimizer = load(SCENARIOS / "v1_collapse.toml", profile="full").scenario.optimizer

        assert (optimizer.warmup, optimizer.clip, optimizer.weight_decay) == (0, 0, 0)

    @pytest.mark.parametrize("profile", ["laptop", "full", "study"])
    @pytest.mark.parametrize("name", ["v1_collapse", "v2_warmup", "v3_polish", "base"])
    def test_the_round_trip_is_exact_and_the_resolved_text_is_itself_a_scenario(self, name, profile, tmp_path):
        made = load(SCENARIOS / f"{name}.toml", profile=profile)
        plain = tomllib.loads(made.text)

        assert structure(plain, made.catalogue, str) == made.scenario
        assert unstructure(made.scenario, made.catalogue) == plain
        (tmp_path / "scenario.toml").write_text(made.text)
        again = load_resolved(tmp_path / "scenario.toml")
        assert (again.scenario, again.digest) == (made.scenario, made.digest)

    @pytest.mark.parametrize("name", ["v1_collapse", "v2_warmup", "v3_polish"])
    def test_a_study_has_at_least_a_thousand_phases(self, name):
        scenario = load(SCENARIOS / f"{name}.toml", profile="study").scenario

        assert scenario.run.steps / ((scenario.phases.low + scenario.phases.high) / 2) >= 1000


class TestLayers:
    """Base, scenario, profile, scale, then --set, literally."""

    def test_set_comes_last_and_is_not_scaled(self, tiny):
        scenario = load(tiny, scale=2.0, settings=["optimizer.warmup=5", "curriculum.stages[0].until=13"]).scenario

        assert scenario.run.steps == 80
        assert scenario.optimizer.warmup == 5
        assert [stage.until for stage in scenario.curriculum.stages] == [13, 52, None]

    def test_another_component_replaces_the_settings_of_the_one_below(self, tiny):
        child = tiny.with_name("child.toml")
        child.write_text('extends = "tiny.toml"\npolicy = { use = "ucb1", c = 2.0 }\n[sources]\nclocks = false\n')
        scenario = load(child, settings=["curriculum.use=static"]).scenario

        assert scenario.policy.component.c == 2.0
        assert tuple(scenario.sources) == ("birds", "ships")
        assert type(scenario.curriculum).__name__ == "Static"

    def test_scale_rounds_half_to_even_and_stays_at_least_one(self, tiny):
        scenario = load(tiny, scale=0.125).scenario

        assert scenario.run.steps == 5
        assert [stage.until for stage in scenario.curriculum.stages] == [2, 3, None]
        assert scenario.optimizer.warmup == 1

    @given(st.recursive(st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8))
    def test_merging_a_tree_with_itself_or_nothing_changes_nothing(self, tree):
        tree = tree if isinstance(tree, dict) else {"a": tree}

        assert merge(tree, tree, "x", {}) == tree == merge(tree, {}, "x", {}) == merge({}, tree, "x", {})

    def test_relative_files_are_taken_from_the_current_directory_and_kept_absolute(self, tiny, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        edited(tiny, str(tmp_path / "text"), "text")
        files = load(tiny).scenario.sources["birds"].files

        assert files == (str(tmp_path / "text" / "birds-*.txt"),)

    def test_the_seed_and_plugins_of_the_command_line_are_part_of_the_result(self, tiny, tmp_path):
        plugin = tmp_path / "p.py"
        plugin.write_text("from andrea_core import hookimpl\n@hookimpl\ndef andrea_policies():\n    return {}\n")
        made = load(tiny, seed=9, plugins=[str(plugin)])

        assert made.scenario.seed == 9
        assert made.scenario.plugins == (str(plugin),)
        assert load(tiny, seed=10).digest != load(tiny, seed=9).digest


class TestErrors:
    """One message: file, place, problem, remedy; all problems at once."""

    def test_a_file_that_does_not_parse_names_the_line(self, tiny):
        assert "line 3" in failure(edited(tiny, "seed = 3", "seed = = 3"))

    def test_a_missing_file_names_the_nearest(self, tiny):
        assert "did you mean 'tiny.toml'" in failure(tiny.with_name("tyny.toml"))

    def test_bytes_that_are_not_utf8_are_said(self, tiny):
        tiny.write_bytes(b'name = "\xff"')
        assert "not UTF-8" in failure(tiny)

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("lr = 1e-2", "learning = 1e-2", ["optimizer.learning", "unknown key", "lr"]),
            ("lr = 1e-2", 'lr = "fast"', ["optimizer.lr", "must be a number", "'fast'"]),
            ("lr = 1e-2", "lr = -1.0", ["optimizer.lr: lr must be greater than 0"]),
            ("steps = 40", "steps = true", ["run.steps", "whole number"]),
            ("steps = 40", "steps = 40.5", ["run.steps", "whole number"]),
            ('use = "ucb1"', 'use = "ucb"', ["policy.faces[1].policy", "'ucb'", "did you mean 'ucb1'"]),
            ('use = "ucb1"', 'uze = "ucb1"', ["policy.faces[1].policy", "use ="]),
            ('use = "uniform"', 'use = "unifrom"', ["phases", "did you mean 'uniform'"]),
            ("high = 9", "high = 2", ["phases.high: high must be at least low (3), got 2"]),
            ('use = "floors"', 'use = "flors"', ["curriculum.stages[2].constraints[1]", "did you mean 'floors'"]),
            ("birds = 0.6", "bird = 0.6", ["curriculum.stages[2].constraints[1].floors", "did you mean 'birds'"]),
            ('sources = ["birds", "ships"]', 'sources = ["birds", "shipz"]', ["curriculum.stages[0]", "'ships'"]),
            ('sources = ["birds", "ships"]', "sources = []", ["warmup", "no sources"]),
            ("until = 26", "until = 12", ["all", "12"]),
            ("seed = 3", "seed = 3\nsede = 4", ["sede", "did you mean 'seed'"]),
            ('preset = "tiny"', 'preset = "tinny"', ["tinny", "did you mean 'tiny'"]),
            ("rows = 4", "rows = 0", ["sampler.rows: rows must be greater than 0"]),
            ('reward = { use = "improvement" }', "", ["reward", "missing"]),
            ('sources = ["clocks"]', 'sources = "clocks"', ["constraints[0].sources", "must be a list", "'clocks'"]),
            ('sources = ["clocks"]', "sources = [7]", ["constraints[0].sources[0]", "must be a text"]),
        ],
    )
    def test_each_names_place_and_remedy(self, tiny, old, new, words):
        path = edited(tiny, old, new)
        with pytest.raises(AndreaError) as caught:
            load(path)
        message = str(caught.value)

        for word in words:
            assert word in message
        assert "Traceback" not in message

    def test_all_problems_of_a_file_are_reported_at_once_with_the_file(self, tiny):
        edited(tiny, "lr = 1e-2", "learning = 1")
        edited(tiny, "rows = 4", "rowz = 4")
        message = failure(edited(tiny, "high = 9", "hi = 9"))

        assert all(word in message for word in ("learning", "rowz", "'hi'"))
        assert message.count(str(tiny)) == 3

    def test_a_key_of_the_base_is_blamed_on_the_base(self, tiny):
        child = tiny.with_name("child.toml")
        child.write_text('extends = "tiny.toml"\nseed = 5\n')
        edited(tiny, "rows = 4", "rowz = 4")

        assert f"{tiny}: sampler.rowz" in failure(child)

    def test_a_circle_of_extends_is_said(self, tiny):
        edited(tiny, 'name = "tiny"', 'name = "tiny"\nextends = "tiny.toml"')
        assert "extends itself" in failure(tiny)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"profile": "lap"}, ["no profile", "'lap'"]),
            ({"scale": 0.0}, ["scale", "above 0"]),
            ({"scale": 0.01}, ["scale 0.01", "larger scale"]),
            ({"settings": ["nonsense"]}, ["--set nonsense", "key=value"]),
            ({"settings": ["run.stepz=3"]}, ["--set", "run.stepz", "did you mean 'steps'"]),
            ({"settings": ["curriculum.stages[7].until=3"]}, ["items 0 to 2"]),
            ({"settings": ["run.steps.more=3"]}, ["--set run.steps.more"]),
        ],
    )
    def test_options_that_do_not_fit(self, tiny, options, words):
        message = failure(tiny, **options)
        assert all(word in message for word in words)

    def test_clashing_bounds_name_stage_bounds_and_amount(self, tiny):
        from andrea_core.plan import Plan

        made = load(edited(tiny, "birds = 0.6", "ships = 0.5"))
        with pytest.raises(InfeasibleRegion) as caught:
            Plan.of(made).check()

        assert all(word in str(caught.value) for word in ("polish", "ships", "0.5", "0.35"))

    def test_no_sources_at_all(self, tiny):
        text = tomllib.loads(tiny.read_text())
        tiny.write_text(tomli_w.dumps({**text, "sources": {}, "curriculum": {"use": "static"}}))
        assert "sources" in failure(tiny)

    def test_an_unknown_plugin_is_said(self, tiny):
        assert "no installed plugin" in failure(tiny, PluginError, plugins=["acme"])


def test_a_catalogue_is_made_anew_each_time():
    assert Catalogue.of() is not Catalogue.of()


def test_the_page_of_scenario_keys_names_every_key_the_core_reads():
    import attrs

    from andrea_core.scenario import PolicySlot, ProbeSlot, RunSettings, Scenario

    page = (Path(__file__).parents[1] / "docs" / "scenarios.md").read_text()
    tables = {"run": RunSettings, "policy": PolicySlot, "probes[]": ProbeSlot}
    tables |= {f.name: f.type for f in attrs.fields(Scenario) if isinstance(f.type, type) and attrs.has(f.type)}
    for table, cls in tables.items():
        for field in attrs.fields(cls):
            if field.name != "component":
                assert re.search(rf"`({re.escape(table)}\.)?({field.name}|.*\b{field.name}`)", page), (
                    table,
                    field.name,
                )
