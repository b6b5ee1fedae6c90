"""The type of the processor, on which the last bits of exp and log may depend."""

import functools
import platform
import re
import subprocess
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


@functools.cache
def cpu_type() -> str:
    """Return the processor's type in words, as in "AMD EPYC, family 25, model 17"; its architecture if it has none."""
    return _linux() or _mac() or platform.processor() or platform.machine()


def _linux() -> str:
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name alone may be a virtual machine's and stand for several types.
    parts = (("model name", ""), ("cpu family", "family "), ("model", "model "))
    found = ((word, re.search(rf"^{key}[ \t]*:(.+)$", text, re.MULTILINE)) for key, word in parts)
    return ", ".join(word + match[1].strip() for word, match in found if match)


def _mac() -> str:
    if platform.system() != "Darwin":
        return ""
    try:
        asked = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
