"""An interruption is neither lost nor stuck."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from fedbayes.interruption import Interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_that_is_swallowed_is_remembered(number):
    outside = signal.signal(number, signal.default_int_handler)  # a background job starts with SIGINT ignored
    try:
        with Interruption() as interrupted:
            assert not interrupted()
            with contextlib.suppress(KeyboardInterrupt):  # as a callback of the compiler does
                os.kill(os.getpid(), number)
            assert interrupted()
            os.kill(os.getpid(), number)  # sent twice at once: the same one
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, outside)


def test_an_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interruption() as interrupted:
            os.kill(os.getpid(), signal.SIGINT)
            assert not interrupted()
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_second_one_ends_the_process():
    program = """if True:
        import os, signal, time
        from fedbayes import interruption
        interruption.PATIENCE = 0.01
        with interruption.Interruption():
            for _ in range(2):
                try:
                    os.kill(os.getpid(), signal.SIGTERM)
                except KeyboardInterrupt:
                    time.sleep(0.02)
        print("still here")
    """
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGTERM and ended.stdout == ""
