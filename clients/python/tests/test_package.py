import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
ROOT = PACKAGE.parents[1]


def test_wheel_and_source_have_what_a_program_needs(tmp_path: Path) -> None:
    # Without isolation nothing is downloaded.
    command = [sys.executable, '-m', 'build', '--no-isolation', '--outdir', str(tmp_path), str(PACKAGE)]
    subprocess.run(command, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob('*.whl'))) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(next(name for name in names if name.endswith('METADATA'))).decode()
    modules = {f'tidegauge_client/{path.name}' for path in (PACKAGE / 'src/tidegauge_client').glob('*.py')}
    assert {name for name in names if not name.startswith('tidegauge_client-')} == {
        *modules,
        'tidegauge_client/py.typed',
    }
    assert any(name.endswith('LICENSE') for name in names)
    assert 'License-Expression: Apache-2.0' in metadata
    assert 'Requires-Dist' not in metadata
    with tarfile.open(next(tmp_path.glob('*.tar.gz'))) as source:
        assert any(name.endswith('/README.md') for name in source.getnames())


def test_the_package_has_the_licence_of_the_project() -> None:
    assert (PACKAGE / 'LICENSE').read_text() == (ROOT / 'LICENSE').read_text()
