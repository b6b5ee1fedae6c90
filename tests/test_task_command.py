"""`andrea eval --task`: multiple-choice tasks, scored as lm-evaluation-harness scores the export."""

import json

import attrs
import numpy as np
import pytest
from peers import peer

from andrea_core.cli import main
from andrea_core.data.tokenizer import ByteTokenizer
from andrea_core.errors import AndreaError, RunError
from andrea_core.model.gpt import build_model
from andrea_core.model.settings import PRESETS
from andrea_core.runs.evaluation import losses_of, score_file
from andrea_core.runs.tasks import log_likelihoods, read_task
from andrea_core.runs.trained import trained_model

QUESTIONS = [
    {"context": "the wren sings in the", "choices": [" hedge", " qqxzj", " 0101"], "answer": 0},
    {"context": "birds ", "choices": ["zz", "sails", "the wren"], "answer": 2},
    {"context": "a brig sails before", "choices": [" the wind", "%%%%"], "answer": 0},
    {"context": "", "choices": ["~~~~", "clocks"], "answer": 1},
    {"context": "nobody hears the old clock strike nine " * 3, "choices": ["ships", "#"], "answer": 1},
]


def call(capfd, *arguments):
    """(exit code, stdout, stderr) of a command in this process."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capfd.readouterr()
    return stopped.value.code or 0, out, err


@pytest.fixture
def run(tiny, tmp_path, capfd):
    assert call(capfd, "run", tiny, "--out", tmp_path / "run", "--threads", 1, "--device", "cpu")[0] == 0
    return tmp_path / "run"


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "task.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    return path


def test_the_likeliest_ending_is_the_models_answer(run, task, capfd):
    code, out, _ = call(capfd, "eval", run, "--task", task, "--json")
    (found,) = json.loads(out)["tasks"]
    model, tokenizer = trained_model(run)
    picked = [int(log_likelihoods(model, tokenizer, one["context"], one["choices"]).argmax()) for one in QUESTIONS]

    assert code == 0
    assert found["questions"] == 5
    assert found["accuracy"] == np.mean([a == one["answer"] for a, one in zip(picked, QUESTIONS, strict=True)])
    assert found["chance"] == pytest.approx((1 / 3 + 1 / 3 + 1 / 2 + 1 / 2 + 1 / 2) / 5)


def test_the_table_names_the_task(run, task, capfd):
    out = call(capfd, "eval", run, "--task", task)[1]

    assert out.splitlines()[0] == "step 40"
    assert out.splitlines()[2].startswith(str(task))


def test_an_endings_log_likelihood_is_minus_the_loss_of_its_tokens():
    model, tokenizer = build_model(PRESETS["tiny"], 257, 0), ByteTokenizer()
    (found,) = log_likelihoods(model, tokenizer, "abc ", ["def"])
    tokens = np.array([256, *b"abc def"])

    assert found == pytest.approx(-losses_of(model, tokens)[-4:].sum(), abs=1e-5)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("nothing", "line 1 is no JSON"),
        ('{"context": "a", "choices": ["b"], "answer": 0}', "at least two texts"),
        ('{"context": "a", "choices": ["b", "c"], "answer": 2}', "`answer`, the number of the right one"),
        ("", "holds no question"),
        ("[" * 200_000, "line 1 is nested too deep to be a question"),
        (
            r'{"context": "a \ud800", "choices": ["b", "c"], "answer": 0}',
            r"line 1: '\\ud800' in 'a \\ud800' is half of a surr.* write both halves",
        ),
        (r'{"context": "a", "choices": ["b", "c\udfff"], "answer": 0}', r"line 1: '\\udfff' in 'c\\udfff' is half"),
        (
            '{"context": "a", "choices": ["b", "c"], "answer": ' + "9" * 5000 + "}",
            "line 1 is no JSON: Exceeds the limit",
        ),
    ],
)
def test_what_is_no_task_is_refused_with_its_line(tmp_path, line, text):
    path = tmp_path / "bad.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(AndreaError, match=text):
        read_task(path)


def test_a_byte_order_mark_is_passed_over_and_texts_may_hold_other_line_ends_and_whole_pairs(tmp_path):
    path = tmp_path / "windows.jsonl"
    question = {"context": "one\u2028two\x85three", "choices": ["b", "\U0001f426"], "answer": 1}
    for escaped in (True, False):
        line = json.dumps(question, ensure_ascii=escaped)
        path.write_bytes(b"\xef\xbb\xbf" + f"{line}\r\n{line}\r\n".encode())
        questions = read_task(path)

        assert [attrs.asdict(one) for one in questions] == [{**question, "choices": ("b", "\U0001f426")}] * 2


def test_a_text_scores_the_same_with_a_byte_order_mark(tmp_path):
    model, tokenizer = build_model(PRESETS["tiny"], 257, 0), ByteTokenizer()
    for name, mark in (("with.txt", b"\xef\xbb\xbf"), ("without.txt", b"")):
        (tmp_path / name).write_bytes(mark + b"the wren sings")
    one, other = (score_file(model, tokenizer, tmp_path / name) for name in ("with.txt", "without.txt"))

    assert attrs.evolve(one, name="") == attrs.evolve(other, name="")


def test_an_ending_beyond_the_context_is_refused():
    with pytest.raises(RunError, match=r"has 33 tokens; the model reads 32"):
        log_likelihoods(build_model(PRESETS["tiny"], 257, 0), ByteTokenizer(), "a", ["b" * 33])


def test_texts_and_tasks_are_not_mixed(run, task, capfd):
    code, _, err = call(capfd, "eval", run, "--task", task, "--text", task)

    assert code == 2
    assert "one at a time" in err


@pytest.mark.filterwarnings("ignore")
def test_lm_evaluation_harness_finds_the_same_with_the_export(run, task, tmp_path, capfd, monkeypatch):
    peer("transformers")
    lm_eval = peer("lm_eval")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    assert call(capfd, "export", run, "--out", tmp_path / "export")[0] == 0
    ours = json.loads(call(capfd, "eval", run, "--task", task, "--json")[1])["tasks"][0]
    settings = {
        "task": "local",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(task)}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "{{context}}",
        "doc_to_choice": "choices",
        "doc_to_target": "answer",
        "target_delimiter": "",
        "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
    }
    model = f"pretrained={tmp_path / 'export'},add_bos_token=True,dtype=float32"
    found = lm_eval.simple_evaluate(model="hf", model_args=model, tasks=[settings], batch_size=1, device="cpu")
    (scores,) = found["results"].values()
    model, tokenizer = trained_model(run)

    assert scores["acc,none"] == pytest.approx(ours["accuracy"])
    assert scores["acc_norm,none"] == pytest.approx(ours["normalised"])
    (samples,) = found["samples"].values()
    for one, question in zip(sorted(samples, key=lambda one: one["doc_id"]), QUESTIONS, strict=True):
        theirs = [float(answer[0][0]) for answer in one["resps"]]
        expected = log_likelihoods(model, tokenizer, question["context"], question["choices"])
        np.testing.assert_allclose(theirs, expected, atol=1e-3)
