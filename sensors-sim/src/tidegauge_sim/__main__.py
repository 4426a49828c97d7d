"""Run as `python -m tidegauge_sim`."""

import signal

# Until the run handles it, a Ctrl-C ends the command without a traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from tidegauge_sim.cli import entry  # noqa: E402

if __name__ == '__main__':
    entry()
