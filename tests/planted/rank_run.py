"""One rank of a run that is begun or gone on with; a named rank may be killed, fail or be interrupted on the way."""

import os
import signal
import sys

from andrea_core.cli import main
from andrea_core.model.trainer import Trainer

HOW, RANK, STEP = sys.argv[1], sys.argv[2], int(sys.argv[3])
step_as_ever = Trainer.step


def step(self, *batch):
    if self.steps_done == STEP and os.environ.get("RANK", "0") == RANK:
        if HOW == "fail":
            raise OSError(5, "the disk is on fire")
        os.kill(os.getpid(), signal.SIGINT if HOW == "stop" else signal.SIGKILL)
    step_as_ever(self, *batch)


if __name__ == "__main__":
    Trainer.step = step
    main(sys.argv[4:])
