"""What the parts of an analysis share: the archive, the values of its runs, and the factors that form groups."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidegauge_analysis.archive import Archive, Json, Run, analysed
from tidegauge_analysis.cells import Measured, varying
from tidegauge_analysis.document import Combination
from tidegauge_analysis.looks import level_of_each
from tidegauge_analysis.numbers import Ledger
from tidegauge_analysis.parts import Part, parts_of
from tidegauge_analysis.units import Observation


@dataclass(frozen=True)
class OtherRun:
    """A value of a run of the second machine, with its row in the copy."""

    row: int
    metric: str
    factors: Combination
    value: float


@dataclass(frozen=True)
class Other:
    """The results of the second machine, as far as they are compared."""

    name: str
    differences: list[str]
    runs: list[OtherRun]


@dataclass(frozen=True)
class Scope:
    """What the families, drivers and claims of a study have in common."""

    archive: Archive
    measured: Measured
    ledger: Ledger
    part: Part | None = None
    """Limits the families to a part of the study."""
    second: Other | None = None
    """The results of a second machine."""

    @property
    def study(self) -> Json:
        """The study, or the part of it."""
        return self.archive.study if self.part is None else self.part.study

    @property
    def analyse(self) -> Json:
        """The key `analyse` of the study."""
        plan: Json = self.study['analyse']
        return plan

    @property
    def alpha(self) -> float:
        """The level of each decision."""
        return level_of_each(float(self.analyse['alpha']), self.archive)

    @property
    def margin(self) -> float:
        """The largest difference that does not matter, as a share."""
        return float(self.analyse['margin'])

    def parts(self) -> list['Scope']:
        """A scope for each part of the study."""
        return [replace(self, part=part) for part in parts_of(self.archive)]

    def analysed(self, *, with_invalid: bool = False) -> list[Run]:
        """The runs of the part that are analysed."""
        runs = analysed(self.archive.runs, with_invalid=with_invalid)
        return [run for run in runs if self.part is None or self.part.has(run)]

    def observations(self, runs: Iterable[Run], metric: str) -> list[Observation]:
        """The runs that have a value of the metric, in the order of blocks and trials."""
        in_order = sorted(runs, key=lambda run: (int(run.document['block']), run.series, run.trial, run.driver))
        every = [
            Observation(
                factors=run.factors,
                block=int(run.document['block']),
                turn=f'{run.document.get("round") or run.series}/{run.trial}',
                number=self.measured.value(run, metric),
                run=run,
            )
            for run in in_order
        ]
        return [one for one in every if one.number.value is not None]

    @property
    def part_name(self) -> str | None:
        """The name of the part; None in a study without parts."""
        return None if self.part is None else self.part.name

    @property
    def groups(self) -> list[str]:
        """Factors that form groups; without one, every factor that varies and is not analysed apart."""
        named = [name for name in self.analyse['groups'] if name not in self.analyse['per']]
        return named or [name for name in varying(self.study) if name not in self.analyse['per']]

    @property
    def per(self) -> list[str]:
        """Factors whose levels are analysed apart, with those that would be pooled without notice."""
        rest = [name for name in varying(self.study) if name not in self.analyse['per']]
        return [*self.analyse['per'], *(name for name in rest if name not in self.groups)]
