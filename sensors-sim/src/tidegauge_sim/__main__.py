"""Run as `python -m tidegauge_sim`."""

from tidegauge_sim.cli import entry

if __name__ == '__main__':
    entry()
