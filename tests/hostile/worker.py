"""The process that is attacked: reads cases from standard input, one JSON object a line, and answers each.

It runs with whatever `zipfian` its PYTHONPATH leads to, so the same attacks can be tried on two versions.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.hostile.case import Case, NotHere, WrongAnswer
from tests.hostile.families import family


def main() -> None:
    """Serve until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the package prints is no answer
    for line in sys.stdin:
        case = Case(**json.loads(line))
        _say(answers, {"begin": "forge"})
        folder = Path(tempfile.mkdtemp())
        try:
            _say(answers, _run(case, folder, answers))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _run(case: Case, folder: Path, answers: Any) -> dict[str, Any]:
    from zipfian.errors import ZipfianError

    attack = family(case.family)
    try:
        attack.forge(case, folder)
    except NotHere as e:
        return {"result": "not here", "detail": str(e)}
    except Exception as e:  # noqa: BLE001 - reported as a defect of the generator
        return {"result": "forge", "detail": f"{type(e).__name__}: {e}"[:300]}
    _say(answers, {"begin": "suffer"})
    start = time.monotonic()
    try:
        result, detail = "answered", attack.suffer(case, folder)
    except NotHere as e:
        result, detail = "not here", str(e)
    except WrongAnswer as e:
        result, detail = "wrong", str(e)
    except ZipfianError as e:
        result, detail = "refused", f"{type(e).__name__}: {e}"
    except MemoryError as e:
        result, detail = "memory", f"MemoryError: {e}"
    except Exception as e:  # noqa: BLE001 - the finding itself
        result, detail = "raw", f"{type(e).__name__}: {e}"
    return {"result": result, "detail": detail[:300], "seconds": time.monotonic() - start}


def _say(answers: Any, what: dict[str, Any]) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
