"""What a study that runs until it is decided still needs: `python -m tidegauge_analysis.decide RESULTS`.

Prints one JSON object: `look`, the number of this look, or null while the study is not to be judged; `decided` and
`undecided`, numbers of claims, or of pairs of groups in a study without claims; and `open`, what is undecided, each
with the combinations of levels that it needs.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tidegauge_analysis.archive import Archive, Json, Status, read_archive
from tidegauge_analysis.claims import UNDECIDED, claim_results, open_levels
from tidegauge_analysis.contrasts import Decision
from tidegauge_analysis.families import families
from tidegauge_analysis.looks import SCHEDULE, looks_of
from tidegauge_analysis.problems import reported
from tidegauge_analysis.report import scope_of


def complete_blocks(archive: Archive) -> int:
    """Blocks of which each planned series has all its runs, counted from the first."""
    done = Counter(run.series for run in archive.runs if run.status in {Status.ANALYSED, Status.INVALID})
    still_open = {
        series.block
        for series in archive.series
        if done[series.id] < len(series.drivers) * (series.trials - series.warmup)
    }
    blocks = sorted({series.block for series in archive.series})
    return next((at for at, block in enumerate(blocks) if block in still_open), len(blocks))


def decide_study(results: Path) -> Json:
    """What the results decide at this look.

    :raises ArchiveError: it is no results directory, or a file is missing or damaged
    """
    archive = read_archive(results)
    look = looks_of(archive) + 1
    if look > len(SCHEDULE) or complete_blocks(archive) < SCHEDULE[look - 1]:
        return {'look': None, 'decided': 0, 'undecided': 0, 'open': []}
    # This look counts, so that its level is that of a study that is judged while it runs.
    scope, metrics, _ = scope_of(replace(archive, journal=(*archive.journal, {'event': 'look'})))
    verdicts = [claim.verdict for claim in claim_results(scope, [])]
    still_open = [{'claim': name, 'combinations': levels} for name, levels in open_levels(scope).items()]
    if not verdicts:
        found = families(scope, metrics)
        pairs = [(family, pair) for family in found for pair in family.pairs]
        verdicts = [UNDECIDED if pair.verdict == Decision.UNDECIDED else pair.verdict for _, pair in pairs]
        for family, pair in pairs:
            if pair.verdict == Decision.UNDECIDED:
                sides = [group.factors for group in family.groups if group.label in {pair.first, pair.second}]
                levels = [{**family.per, **side} for side in sides]
                still_open.append({'claim': f'{family.id}: {pair.first} / {pair.second}', 'combinations': levels})
    undecided = sum(verdict == UNDECIDED for verdict in verdicts)
    return {'look': look, 'decided': len(verdicts) - undecided, 'undecided': undecided, 'open': still_open}


@reported
def main(arguments: Sequence[str]) -> int:
    """Run the program. Exit codes: 0 done, 1 the archive is damaged, 2 bad usage."""
    parser = argparse.ArgumentParser(prog='decide', description='Print what a study still needs to be decided.')
    parser.add_argument('results', metavar='RESULTS', type=Path)
    given = parser.parse_args(arguments)
    sys.stdout.write(f'{json.dumps(decide_study(given.results))}\n')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
