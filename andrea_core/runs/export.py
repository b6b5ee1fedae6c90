"""Writes the model of a run as a folder that `transformers` loads: weights, configuration, tokenizer."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from andrea_core.data.hf_tokenizer import tokenizer_config, tokenizer_json
from andrea_core.errors import RunError
from andrea_core.runs.files import disk_errors, whole_folder
from andrea_core.runs.trained import Tell, trained_model


def export(folder: Path, out: Path, step: int | None = None, tell: Tell = str) -> list[str]:
    """Write the run in `folder`, at a checkpoint (the newest when none is named), as the new folder `out`.

    `tell` is given a line for each damaged checkpoint that was passed over.
    Returns the names of the files. The folder appears whole or not at all. Raises RunError when it exists, or when the
    model is none that `GPT2LMHeadModel` can be.
    """
    from safetensors.torch import save_file

    from andrea_core.model.gpt2 import config_of, weights_of

    if out.exists():
        raise RunError(f"{out} exists already; name a folder that does not, with --out")
    model, tokenizer = trained_model(folder, step, tell)
    ends = {"bos_token_id": tokenizer.separator, "eos_token_id": tokenizer.separator}
    tables = {
        "config.json": config_of(model, tokenizer.separator),
        "generation_config.json": {"do_sample": True, **ends},
        "tokenizer.json": tokenizer_json(tokenizer),
        "tokenizer_config.json": tokenizer_config(model.shape.context),
    }
    with disk_errors(str(out)):
        out.parent.mkdir(parents=True, exist_ok=True)
        with whole_folder(out) as aside:
            save_file(weights_of(model), aside / "model.safetensors", metadata={"format": "pt"})
            for name, table in tables.items():
                _write(aside / name, table)
    return sorted(path.name for path in out.iterdir())


def _write(path: Path, table: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(table, indent=1, ensure_ascii=False), encoding="utf-8")
