"""Lines for whoever has typed the command."""

import os
import sys
from typing import TextIO


def say(text: str, stream: TextIO | None = None) -> None:
    """Print on stdout or ``stream``; that its reader has gone (``| head``) is no fault of the run."""
    stream = stream or sys.stdout
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
