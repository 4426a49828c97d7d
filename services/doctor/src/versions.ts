import type { Engine } from './engine.ts';
import { error, type Finding, ok, warning } from './finding.ts';
import type { Stack } from './stack.ts';

const OLDEST_ENGINE = [20, 10] as const;

export function checkVersions(engine: Engine, stack: Stack | null, stackName: string): Finding[] {
  return [checkEngine(engine), ...(stack === null ? [] : checkImages(engine, stack, stackName))];
}

/** Engines before 20.10 do not support jobs, tmpfs in stacks and other features of the stack files. */
function checkEngine({ info, arch }: Engine): Finding {
  const check = 'docker.engine';
  const { ServerVersion: version, Driver } = info;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const upgrade = 'upgrade Docker: curl -fsSL https://get.docker.com | sh';
  if (major < OLDEST_ENGINE[0] || (major === OLDEST_ENGINE[0] && minor < OLDEST_ENGINE[1])) {
    return error(
      check,
      `Docker ${version} is older than ${OLDEST_ENGINE.join('.')}, which the stack files need`,
      upgrade,
    );
  }
  if (arch === 'arm' || arch === '386') {
    return error(
      check,
      `Docker ${version} is a 32-bit program (${arch}): there are no Tidegauge images for it`,
      'flash Raspberry Pi OS Lite (64-bit)',
    );
  }
  if (Driver === 'vfs' || Driver === 'devicemapper') {
    return warning(
      check,
      `Docker ${version} stores images with ${Driver}: slow, and a full copy of each layer`,
      'put /var/lib/docker on ext4, so that overlay2 works',
    );
  }
  return ok(check, `Docker ${version} (${arch}, ${Driver})`);
}

function checkImages({ swarm }: Engine, stack: Stack, stackName: string): Finding[] {
  const check = 'docker.images';
  const running = swarm !== null && 'services' in swarm ? swarm.services : [];
  const pairs = stack.services.flatMap(({ name, image }) => {
    const service = running.find(({ Spec }) => Spec.Name === `${stackName}_${name}`);
    // The image name of a deployed service includes its digest.
    const used = service?.Spec.TaskTemplate.ContainerSpec?.Image;
    return used === undefined || image === null ? [] : [{ name, used: withoutDigest(used), image }];
  });
  if (pairs.length === 0) return [ok(check, `${stackName} is not deployed yet`)];
  const others = pairs.filter(({ used, image }) => used !== withoutDigest(image));
  if (others.length === 0) return [ok(check, `${stackName} runs the images of stacks/versions.env`)];
  return others.map(({ name, used, image }) =>
    warning(
      check,
      `${name} runs ${used}, and stacks/versions.env names ${image}`,
      'deploy again: stacks/bin/deploy STORE',
    ),
  );
}

function withoutDigest(image: string): string {
  return image.replace(/@sha256:.*$/, '');
}
