import { allows } from './boards.ts';
import type { Engine } from './engine.ts';
import { error, type Finding, ok } from './finding.ts';
import type { HostFiles } from './host-files.ts';
import type { Stack } from './stack.ts';

/** Checks that the directories exist that services with this board's labels mount. Docker does not create them. */
export function checkDirectories(files: HostFiles, { services }: Stack, { info, swarm }: Engine): Finding[] {
  const check = 'disk.directories';
  const nodes = swarm !== null && 'nodes' in swarm ? swarm.nodes : [];
  const self = nodes.find(({ ID }) => ID === info.Swarm.NodeID);
  if (self === undefined) return [];
  const here = services.filter(
    (service) => service.labels.size > 0 && service.replicas !== 0 && allows(self, service),
  );
  const wanted = here.flatMap(({ name, directories }) =>
    directories.map((directory) => ({ name, directory })),
  );
  const missing = wanted.filter(({ directory }) => files.list(directory) === null);
  if (wanted.length === 0) return [];
  if (missing.length === 0) return [ok(check, wanted.map(({ directory }) => directory).join(', '))];
  return missing.map(({ name, directory }) =>
    error(
      check,
      `${directory} does not exist, so ${name} would not start here`,
      'run stacks/bin/board on this board',
    ),
  );
}
