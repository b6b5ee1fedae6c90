"""Damaged files of a run folder, and a disk that refuses: one clear error, nothing lost."""

import json
import re
import resource
import signal

import numpy as np
import pytest

from andrea_core.assembly import resumed_run
from andrea_core.cli import main
from andrea_core.errors import RunError
from andrea_core.progress import Progress
from andrea_core.runs.trained import trained_model

FACTS = {
    "missing": {"threads": ...},
    "threads": {"threads": 10**9},
    "no threads": {"threads": 0},
    "true threads": {"threads": True},
    "plugins": {"plugins": None},
    "a plugin": {"plugins": [{"name": 5}]},
    "device": {"device": 1},
    "corpus": {"corpus": []},
    "tokenizer": {"tokenizer": None},
    "digest": {"digest": {}},
}


class TestFiles:
    """The other files of a run folder."""

    @pytest.mark.parametrize("text", ["", "{}", "[]", "null", "5", '"x"', "{", "\x00", "[" * 100_000])
    def test_run_json_that_is_no_runs_is_said(self, run, text, refused):
        (run / "run.json").write_text(text, encoding="utf-8")

        assert re.search(r"run\.json is damaged .*; restore the folder from a copy", refused(run))

    @pytest.mark.parametrize("change", FACTS.values(), ids=FACTS)
    def test_a_wrong_value_in_run_json_is_named(self, run, change, refused):
        facts = {**json.loads((run / "run.json").read_text(encoding="utf-8")), **change}
        facts = {name: value for name, value in facts.items() if value is not ...}
        (run / "run.json").write_text(json.dumps(facts), encoding="utf-8")

        assert re.search(rf"run\.json is damaged \(missing or wrong: {next(iter(change))}\)", refused(run))

    @pytest.mark.parametrize("share", [0, 0.5, 0.9])
    def test_a_truncated_scenario_is_said_to_be_damaged(self, run, share, refused):
        text = (run / "scenario.toml").read_bytes()
        (run / "scenario.toml").write_bytes(text[: int(share * len(text))])

        assert re.search(
            r"scenario\.toml in the run folder is not what the run was started with: it is damaged", refused(run)
        )

    def test_a_scenario_that_is_no_text_is_said_to_be_damaged(self, run, refused):
        (run / "scenario.toml").write_bytes(b"\xff\xfe\x00")

        assert re.search(r"scenario\.toml is damaged", refused(run))

    def test_a_missing_tokenizer_is_said(self, run, refused):
        (run / "tokenizer.json").unlink()

        assert re.search(r"tokenizer\.json is missing", refused(run))
        with pytest.raises(RunError, match=r"tokenizer\.json"):
            trained_model(run)

    @pytest.mark.parametrize("damage", [b"", b"\xff", b"[]", b'{"use": 3}'])
    @pytest.mark.parametrize("name", ["tokenizer.json", "scenario.toml"])
    def test_generating_from_a_damaged_folder_names_the_file(self, run, name, damage):
        (run / name).write_bytes(damage)

        with pytest.raises(RunError, match=name):
            trained_model(run)

    def test_the_folder_is_free_again_after_a_refusal(self, run, resume):
        text = (run / "run.json").read_text(encoding="utf-8")
        (run / "run.json").write_text("[]", encoding="utf-8")
        with pytest.raises(RunError):
            resume(run)
        (run / "run.json").write_text(text, encoding="utf-8")

        assert resume(run) == 35

    def test_the_command_says_it_in_one_line_and_exits_with_2(self, run, capsys):
        (run / "run.json").write_text("[]", encoding="utf-8")

        with pytest.raises(SystemExit) as stopped:
            main(["resume", str(run)])
        assert stopped.value.code == 2
        assert capsys.readouterr().err.splitlines()[-1].startswith("error: ")


class TestDisk:
    """A disk that refuses."""

    def test_a_limit_on_the_size_of_files_leaves_the_last_checkpoint_good(self, run, finished, resume, record):
        old, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        experiment, step = resumed_run(run, Progress())
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, old[1]))
        try:
            with pytest.raises(RunError, match=r"cannot write the checkpoint of step 40.*ulimit -f"):
                experiment.run(step)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
            signal.signal(signal.SIGXFSZ, handler)
            experiment.folder.release()

        assert resume(run) == 35
        np.testing.assert_equal(record(run), record(finished))
