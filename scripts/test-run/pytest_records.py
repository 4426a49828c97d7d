"""A pytest plugin: writes one JSON object per test and line to the file that TEST_RECORDS names."""

import json
import os
import pathlib
import typing

import pytest

root = pathlib.Path()


def pytest_configure(config: pytest.Config) -> None:
    global root
    root = config.rootpath


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # The other phases pass silently: a test has one record, and a failed fixture has one too.
    if report.when != "call" and report.passed:
        return
    reason = None
    if report.failed:
        reason = report.longreprtext
    elif report.skipped:
        reason = typing.cast(tuple[str, int, str], report.longrepr)[2].removeprefix("Skipped: ")
    _, _, name = report.nodeid.partition("::")
    record = {
        "name": name,
        "file": str(root / report.location[0]),
        "ms": report.duration * 1000,
        "outcome": report.outcome,
        "reason": reason,
    }
    with open(os.environ["TEST_RECORDS"], "a", encoding="utf-8") as records:
        records.write(json.dumps(record) + "\n")
