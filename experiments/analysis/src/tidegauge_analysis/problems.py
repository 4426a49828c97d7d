"""Bad input of a program is one line, and not a traceback."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

P = ParamSpec('P')


class InputError(Exception):
    """What the user gave cannot be used. The message has the file, the reason, and what to do where it is not plain."""


def why_unreadable(error: OSError | ValueError) -> str:
    """Why a JSON file cannot be read, for a message that names the file."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return f'it is not JSON: {error}'


def reported(main: Callable[P, int]) -> Callable[P, int]:
    """Make a program report what its user can correct: one line on standard error, and exit code 1."""

    @wraps(main)
    def program(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            return main(*args, **kwargs)
        except InputError as error:
            problem = str(error)
        except OSError as error:
            problem = str(error) if error.filename is None else f'{error.filename}: {error.strerror}'
        sys.stderr.write(f'{problem}\n')
        return 1

    return program
