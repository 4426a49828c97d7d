"""Parts of a study: designs that share a plan and are analysed on their own."""

from dataclasses import dataclass

from tidegauge_analysis.archive import Archive, Json, Run


@dataclass(frozen=True)
class Part:
    """A part, or the whole of a study without parts."""

    name: str | None
    study: Json
    """The study, with the levels, groups and factors analysed apart of the part."""

    def has(self, run: Run) -> bool:
        """Whether the part has the combination of levels of the run."""
        return self.covers(run.factors)

    def covers(self, factors: Json) -> bool:
        """Whether the part has this combination of levels of all factors."""
        every = {**self.study['hard'], **self.study['easy']}
        return self.name is None or all(factors[name] in levels for name, levels in every.items())


def parts_of(archive: Archive) -> list[Part]:
    """The parts of a study, in the order of the experiment file."""
    study = archive.study
    given: dict[str, Json] = study.get('parts') or {}
    if not given:
        return [Part(None, study)]
    return [
        Part(
            name,
            {
                **study,
                **{
                    section: {factor: part['levels'][factor] for factor in study[section]}
                    for section in ('hard', 'easy')
                },
                'analyse': {**study['analyse'], 'groups': part['groups'], 'per': part['per']},
            },
        )
        for name, part in given.items()
    ]
