"""Scenarios that cannot be: wrong kinds, absurd sizes, names that are no names; each ends in one message."""

import itertools
import re
import sys

import pytest

from andrea_core.cli import main
from andrea_core.errors import AndreaError
from andrea_core.layers import DEEPEST_CHAIN, DEEPEST_NESTING
from andrea_core.scenario import load


def failure(path, **options):
    with pytest.raises(AndreaError) as caught:
        load(path, **options)
    return str(caught.value)


def headed(path, head):
    """The scenario with lines in front of it."""
    path.write_text(f"{head}\n{path.read_text()}")
    return path


def tailed(path, tail):
    """The scenario with lines behind it."""
    path.write_text(f"{path.read_text()}\n{tail}\n")
    return path


def test_a_byte_order_mark_in_front_is_passed_over(tiny):
    wanted = load(tiny).text
    tiny.write_bytes(b"\xef\xbb\xbf" + tiny.read_bytes())

    assert load(tiny).text == wanted


@pytest.mark.parametrize("value", ["5", "true", "[]", "{}", "2020-01-01"])
def test_a_profile_that_is_no_text_is_refused(tiny, value):
    message = failure(headed(tiny, f"profile = {value}"))

    assert message.startswith(f"{tiny}: profile must be a profile's name, got ")


@pytest.mark.parametrize("value", ["5", '"xy"', "[1, 2]"])
@pytest.mark.parametrize("profile", [None, "a"])
def test_a_profile_that_is_no_table_is_refused_even_when_it_is_not_used(tiny, value, profile):
    message = failure(tailed(tiny, f"[profiles]\na = {value}"), profile=profile)

    assert message.startswith(f"{tiny}: profiles.a must be a table")


@pytest.mark.parametrize("value", ["5", "[]", '"x"'])
def test_profiles_that_are_no_table_are_refused_even_when_none_is_used(tiny, value):
    assert "profiles must be a table of tables" in failure(headed(tiny, f"profiles = {value}"))


@pytest.mark.parametrize(
    ("scale", "words"),
    [("1e308", "choose a smaller scale"), ("inf", "finite"), ("nan", "finite"), (str(10**400), None), ("true", None)],
)
def test_a_scale_beyond_all_bounds_is_refused_from_either_place(tiny, scale, words):
    if words:
        assert words in failure(tiny, scale=float(scale))
    message = failure(tailed(tiny, f"[profiles.a]\nscale = {scale}"), profile="a")
    assert (words or "scale") in message


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (f"run.steps={10**19}", "must fit into 64 bits"),
        (f"run.steps={2**53 + 1}", "steps must be at most"),
        (f"sampler.rows={2**20 + 1}", "rows must be at most"),
        (f"model.width={2**17 + 2}", "width must be at most"),
        (f"model.context={2**22 + 1}", "context must be at most"),
        ("model.layers=10001", "layers must be at most"),
        ("optimizer.beta1=1.0", "beta1 must be less than 1"),
        ("optimizer.beta2=1", "beta2 must be less than 1"),
        ("run.steps=-3", "steps must be at least 1"),
        ("policy.faces[0].share=-1", "share must be greater than 0"),
        (f"seed={10**30}", "must fit into 64 bits"),
        (f"optimizer.lr={10**400}", "must fit into 64 bits"),
    ],
)
def test_sizes_beyond_all_bounds_are_refused_and_blamed_on_set(tiny, setting, words):
    message = failure(tiny, settings=[setting])
    place = setting.partition("=")[0]

    assert message.startswith(f"--set: {place}: ")
    assert words in message


@pytest.mark.parametrize(
    ("setting", "place"),
    [("phases.low=90", "phases.high: high must be at least low"), ("model.width=33", "width 33 is not divisible")],
)
def test_what_no_longer_fits_together_names_the_setting_that_changed_it(tiny, setting, place):
    message = failure(tiny, settings=[setting])

    assert message.startswith(f"{tiny} with --set {setting.partition('=')[0]}: ")
    assert place in message


def test_a_seed_of_the_command_line_is_blamed_on_seed(tiny):
    assert failure(tiny, seed=10**30).startswith("--seed: seed: must fit into 64 bits")


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("x = " + "9" * 5000, "cannot be read: a value out of all bounds"),
        ("x = " + "[" * 3000, f"nested more than {DEEPEST_NESTING} deep"),
        ("x = " + "[" * 60 + "]" * 60, f"nested more than {DEEPEST_NESTING} deep"),
        (".".join("a" * 3000) + " = 1", f"nested more than {DEEPEST_NESTING} deep"),
        ('extends = "a\\u0000b"', "extends must be the name of one file"),
        ('extends = ""', "extends must be the name of one file"),
        ("extends = 5", "extends must be the name of one file"),
        ('extends = "."', "is a folder; name a scenario"),
    ],
)
def test_toml_that_python_cannot_take_is_one_message(tiny, head, words):
    message = failure(headed(tiny, head))

    assert words in message
    assert str(tiny.parent) in message
    assert len(message) < 700


def test_a_chain_of_extends_may_be_long_but_not_endless(tiny):
    files = [tiny, *(tiny.with_name(f"c{number}.toml") for number in range(DEEPEST_CHAIN))]
    for below, above in itertools.pairwise(files):
        above.write_text(f'extends = "{below.name}"\n')

    assert load(files[DEEPEST_CHAIN - 1]).scenario.name == "tiny"
    assert f"more than {DEEPEST_CHAIN} files extend one another" in failure(files[DEEPEST_CHAIN])


@pytest.mark.parametrize(
    "name", ["", "  ", ".", "..", "../up", "/else/x", "a\\b", "a\nb", "a\x7fb", "x" * 101, "字" * 70, "\u2028", "a\0b"]
)
def test_a_name_that_is_no_folder_name_is_refused(tiny, name):
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in name)
    text = tiny.read_text()
    tiny.write_text(text.replace('name = "tiny"', f'name = "{escaped}"'))

    assert failure(tiny).startswith(f"{tiny}: name: ")


@pytest.mark.parametrize("name", ["tiny run", "x" * 100, "naïve", ".hidden", "[x]", "実験"])
def test_a_name_that_can_be_a_folder_is_taken(tiny, name):
    tiny.write_text(tiny.read_text().replace('name = "tiny"', f'name = "{name}"'))

    assert load(tiny).scenario.name == name


@pytest.mark.parametrize("name", ["", " ", "a\\nb", "\\u0000", "x" * 201])
def test_a_source_name_that_cannot_be_shown_is_refused(tiny, name):
    tiny.write_text(tiny.read_text().replace("birds = { use", f'"{name}" = {{ use'))

    assert failure(tiny).startswith(f"{tiny}: sources")


@pytest.mark.parametrize("value", ["[]", "5", '"x"'])
def test_sources_that_are_no_table_are_refused(tiny, value):
    tiny.write_text(re.sub(r"\[sources\].*?\n\n", "", f"sources = {value}\n{tiny.read_text()}", flags=re.DOTALL))

    assert f"{tiny}: sources: must be a table, got " in failure(tiny)


def test_floors_that_are_no_table_are_refused_with_their_place(tiny):
    tiny.write_text(tiny.read_text().replace("floors = { birds = 0.6 }", 'floors = ["birds"]'))

    assert failure(tiny) == f"{tiny}: curriculum.stages[2].constraints[1].floors: must be a table, got ['birds']"


class TestSet:
    """--set takes keys as TOML does, and plugins before anything else."""

    def test_quoted_keys_are_keys(self, tiny):
        files = load(tiny).scenario.sources["birds"].files
        settings = [f'''sources."a.b=c"={{use="text", files=["{files[0]}"]}}''', """sources.'a.b=c'.licence=free"""]
        made = load(tiny, settings=settings).scenario

        assert made.sources["a.b=c"].licence == "free"
        assert made.sources["a.b=c"].files == files

    @pytest.mark.parametrize("setting", ['"a=1', "=", "a..b=1", "a.=1", ".a=1", "a[x]=1", 'a"b"=1', "a[0]b=1", ""])
    def test_keys_that_are_none_are_refused_with_an_example(self, tiny, setting):
        assert f"--set {setting}: write key=value" in failure(tiny, settings=[setting])

    @pytest.mark.parametrize("setting", ["x=" + "[" * 5000, ".".join("a" * 5000) + "=1", "x=" + "9" * 5000])
    def test_settings_beyond_all_bounds_are_refused_in_few_words(self, tiny, setting):
        message = failure(tiny, settings=[setting])

        assert message.startswith("--set '")
        assert len(message) < 400

    @pytest.mark.parametrize("key", ["constraints.0.use", "constraints[0].use"])
    def test_an_item_of_a_list_that_is_not_there_is_explained(self, tiny, key):
        message = failure(tiny, settings=[f"{key}=x"])

        assert message.startswith("--set constraints.0.use: there is no list 'constraints' with an item 0")
        assert "--set 'constraints=[...]'" in message

    def test_plugins_take_effect_before_anything_is_looked_up(self, tiny, tmp_path):
        plugin = tmp_path / "p.py"
        plugin.write_text("from andrea_core import hookimpl\n@hookimpl\ndef andrea_policies():\n    return {}\n")
        with_plugin = headed(tiny, f'plugins = ["{plugin.name}"]')

        without = load(with_plugin, settings=["plugins=[]"])
        assert without.scenario.plugins == ()
        assert "p" not in [active.name for active in without.catalogue.active]
        again = load(with_plugin, settings=["plugins=[]", f'plugins=["{plugin}"]'])
        assert again.scenario.plugins == (str(plugin),)
        assert "p" in [active.name for active in again.catalogue.active]

    @pytest.mark.parametrize(
        ("setting", "words"),
        [
            ('plugins=["/nope.py"]', "'/nope.py' does not exist"),
            ("plugins=5", "--set: plugins must be a list of names and files, got 5"),
            ("plugins=[1]", "--set: plugins must be a list"),
            ("plugins.0=x", "the list is empty and has no item 0"),
            ('plugins=["~nobody-has-this-name/x.py"]', "home folder"),
            ('plugins=["a\\u0000.py"]', "control characters"),
            (f'plugins=["{"x" * 300}.py"]', "cannot be looked for"),
        ],
    )
    def test_plugins_that_cannot_be_are_refused(self, tiny, setting, words):
        assert words in failure(tiny, settings=[setting])


def test_the_last_resort_is_not_reached_by_the_worst_scenario(tiny, capfd, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["andrea", "show", str(headed(tiny, ".".join("a" * 5000) + " = 1"))])
    with pytest.raises(SystemExit) as stopped:
        main()

    assert stopped.value.code == 2
    assert capfd.readouterr().err.startswith(f"error: {tiny}: ")
