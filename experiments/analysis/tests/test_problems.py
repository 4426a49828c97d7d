import errno
from pathlib import Path

import pytest

from tidegauge_analysis.peers import main
from tidegauge_analysis.problems import InputError, reported, why_unreadable


@pytest.mark.parametrize(
    ('error', 'line'),
    [
        (InputError('a.json has no valid run: repeat it'), 'a.json has no valid run: repeat it\n'),
        (OSError(errno.ENOSPC, 'No space left on device', 'out.svg'), 'out.svg: No space left on device\n'),
        (OSError('nothing is known'), 'nothing is known\n'),
    ],
)
def test_what_the_user_can_correct_is_one_line(error: Exception, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    @reported
    def program() -> int:
        raise error

    assert program() == 1
    assert capsys.readouterr().err == line


def test_a_mistake_of_the_program_stays_a_traceback() -> None:
    @reported
    def program() -> int:
        raise KeyError('throughput')

    with pytest.raises(KeyError):
        program()


def test_the_reason_of_a_file_has_no_number_of_an_error() -> None:
    assert why_unreadable(IsADirectoryError(errno.EISDIR, 'Is a directory', 'a')) == 'Is a directory'
    assert why_unreadable(ValueError('Expecting value: line 1')) == 'it is not JSON: Expecting value: line 1'


def test_a_picture_of_figures_that_are_missing_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / 'none.json'), str(tmp_path / 'out.svg')]) == 1
    assert capsys.readouterr().err == f'{tmp_path / "none.json"}: cannot be read: No such file or directory\n'
