import csv
import io
from pathlib import Path

from sample_analysis import HOSTILE, Sample
from tidegauge_analysis.document import to_json
from tidegauge_analysis.tables import (
    Column,
    Table,
    cell_parts,
    escape_latex,
    to_csv,
    to_latex,
    to_markdown,
    write_tables,
)

SAMPLE = Sample()
TABLE = Table(
    'example',
    'Latency of ' + HOSTILE,
    [Column('Group', text=True), Column('Mean'), Column('n'), Column('p', p=True)],
    [
        [HOSTILE, to_json(SAMPLE.estimate(1.5, 1.25, 1.75, 'ms')), '8', to_json(SAMPLE.number(1e-7, ''))],
        ['=1+1', to_json(SAMPLE.none('ms', 'no run')), '0', to_json(SAMPLE.number(None, ''))],
    ],
    'quick results',
    ['A note with 50 %.'],
)


def test_csv_has_full_precision_and_a_column_for_each_bound() -> None:
    rows = list(csv.reader(io.StringIO(to_csv(TABLE))))
    assert rows == [
        ['Group', 'Mean (ms)', 'Mean (ms) low', 'Mean (ms) high', 'n', 'p'],
        [HOSTILE, '1.5', '1.25', '1.75', '8', '1e-07'],
        ["'=1+1", '', '', '', '0', ''],
    ]


def test_markdown_has_the_unit_in_the_head_and_escapes_text() -> None:
    lines = to_markdown(TABLE).splitlines()
    assert lines[0].endswith('\\[quick results\\]**')
    assert lines[2] == '| Group | Mean (ms) | n | p |'
    assert lines[3] == '| :-- | --: | --: | --: |'
    assert lines[4].startswith('| \\<b\\>50 % \\& \\$x\\_1\\$ "q" \\\\n\\</b\\> | 1.50 \\[1.25, 1.75\\] | 8 |')
    assert lines[7] == 'A note with 50 %.'


def test_latex_escapes_every_special_character() -> None:
    assert escape_latex('50 % & $x_1$ #~^{}\\') == (
        r'50 \% \& \$x\_1\$ \#\textasciitilde{}\textasciicircum{}\{\}\textbackslash{}'
    )
    text = to_latex(TABLE)
    assert r'\caption{Latency of \textless{}b\textgreater{}50 \% \&' in text
    assert r'& 1.50 [1.25, 1.75] & 8 & \textless{}~0.001 \\' in text
    assert text.count(r'\toprule') == text.count(r'\midrule') == text.count(r'\bottomrule') == 1


def test_a_cell_names_its_numbers_and_the_reason_for_a_missing_value() -> None:
    parts = cell_parts(TABLE.rows[0][1], TABLE.columns[1], 'ms')
    assert parts.value[0] == '1.50'
    assert [text for text, _ in parts.bounds] == ['1.25', '1.75']
    ids = [parts.value[1], *(name for _, name in parts.bounds)]
    assert len(set(ids)) == 3
    assert None not in ids
    missing = cell_parts(TABLE.rows[1][1], TABLE.columns[1], 'ms')
    assert (missing.value[0], missing.bounds, missing.reason) == ('\N{EN DASH}', [], 'no run')


def test_tables_are_written_in_three_formats(tmp_path: Path) -> None:
    write_tables([TABLE], tmp_path / 'tables')
    assert sorted(file.name for file in (tmp_path / 'tables').iterdir()) == ['example.csv', 'example.md', 'example.tex']


def test_signs_of_the_report_are_commands_of_latex() -> None:
    assert (
        escape_latex('p ≥ 0.05, 2 \N{MULTIPLICATION SIGN} 3 ms², …')
        == r'p $\geq$ 0.05, 2 $\times$ 3 ms\textsuperscript{2}, \ldots{}'
    )
