import { CONFIG } from '../config.ts';
import { dashboard } from '../dashboard.ts';
import { type BuiltPanel, CHOSEN, lines, type PanelSpec, RATE, rate } from '../panels.ts';
import { onBoard } from '../promql.ts';

const { thresholds: limit } = CONFIG;
const DISKS = ', fstype!~"tmpfs|ramfs|overlay|squashfs|vfat"';
const NETWORK = ', device!~"lo|veth.*|docker.*|br-.*"';

export const boards = dashboard({
  uid: 'tidegauge-boards',
  title: 'Tidegauge / Boards',
  description:
    'Utilisation, saturation and errors of each machine, and what small boards suffer from: heat and power.',
  chosenFrom: 'node_uname_info',
  variables: { nodename: 'node_uname_info' },
  rows: {
    'CPU and memory': [
      byName({
        title: 'CPU in use',
        description: 'Share of all cores. At 1 for long: move a service to another board (node labels).',
        unit: 'percentunit',
        queries: {
          '{{nodename}}': `1 - avg by (instance) (rate(node_cpu_seconds_total{${CHOSEN}, mode="idle"}[${RATE}]))`,
        },
      }),
      byName({
        title: 'Load per core',
        description: 'Above 1: work waits. With CPU to spare: it waits for the disk; see "Disk busy".',
        unit: 'short',
        queries: {
          '{{nodename}}':
            `max by (instance) (node_load1{${CHOSEN}})` +
            ` / count by (instance) (rate(node_cpu_seconds_total{${CHOSEN}, mode="idle"}[${RATE}]))`,
        },
      }),
      byName({
        title: 'Waiting for CPU',
        description:
          'Share of the time in which some task had to wait (PSI). Rising with latency: CPU is the bottleneck.',
        unit: 'percentunit',
        queries: { '{{nodename}}': rate('node_pressure_cpu_waiting_seconds_total', 'instance') },
      }),
      byName({
        title: 'Memory available',
        description: `Below ${limit.memoryFreeRatio * 100} % the kernel kills: lower the limits of the database, or add a board.`,
        unit: 'percentunit',
        queries: {
          '{{nodename}}':
            `max by (instance) (node_memory_MemAvailable_bytes{${CHOSEN}})` +
            ` / max by (instance) (node_memory_MemTotal_bytes{${CHOSEN}})`,
        },
      }),
      byName({
        title: 'Waiting for memory',
        description: 'Share of the time in which some task waited for memory (PSI). Above 0.1: it thrashes.',
        unit: 'percentunit',
        queries: { '{{nodename}}': rate('node_pressure_memory_waiting_seconds_total', 'instance') },
      }),
      byName({
        title: 'Killed for memory',
        description:
          'Processes per second that the kernel killed. Any: docker service ps tells which; raise its limit.',
        unit: 'ops',
        queries: { '{{nodename}}': rate('node_vmstat_oom_kill', 'instance') },
      }),
    ],
    'Disk and network': [
      byName({
        title: 'Disk busy',
        description: 'Share of the time. At 1 with small writes: fsync on an SD card; PACE=250ms, or an SSD.',
        unit: 'percentunit',
        queries: { '{{nodename}} {{device}}': rate('node_disk_io_time_seconds_total', 'instance, device') },
      }),
      byName({
        title: 'Written to disk',
        description: 'Bytes per second. An SD card bears some 10 TB; 1 MB/s wears it out within four months.',
        unit: 'Bps',
        queries: { '{{nodename}} {{device}}': rate('node_disk_written_bytes_total', 'instance, device') },
      }),
      byName({
        title: 'Disk free',
        description: `Below ${limit.diskFreeRatio * 100} % databases begin to stop. Remove old readings, or give it room.`,
        unit: 'percentunit',
        queries: {
          '{{nodename}} {{mountpoint}}':
            `min by (instance, mountpoint) (node_filesystem_avail_bytes{${CHOSEN}${DISKS}}` +
            ` / node_filesystem_size_bytes{${CHOSEN}${DISKS}})`,
        },
      }),
      byName({
        title: 'Time until the disk is full',
        description:
          'At the pace of the last six hours; no line: it does not fill. See the runbook TidegaugeDiskFullSoon.',
        unit: 's',
        queries: {
          '{{nodename}} {{mountpoint}}':
            `min by (instance, mountpoint) (node_filesystem_avail_bytes{${CHOSEN}${DISKS}}` +
            ` / (-deriv(node_filesystem_avail_bytes{${CHOSEN}${DISKS}}[6h]) > 0))`,
        },
      }),
      byName({
        title: 'Network',
        description:
          'Bytes per second, in and out. Near the link (100 Mbit/s is 12 MB/s): it is the bottleneck.',
        unit: 'Bps',
        queries: {
          'in {{nodename}} {{device}}': rate('node_network_receive_bytes_total', 'instance, device', NETWORK),
          'out {{nodename}} {{device}}': rate(
            'node_network_transmit_bytes_total',
            'instance, device',
            NETWORK,
          ),
        },
      }),
      byName({
        title: 'Network errors and drops',
        description: 'Any for long: the cable, the switch, or Wi-Fi. Boards want a wire.',
        unit: 'ops',
        queries: {
          'errors {{nodename}} {{device}}': rate(
            'node_network_receive_errs_total',
            'instance, device',
            NETWORK,
          ),
          'drops {{nodename}} {{device}}': rate(
            'node_network_receive_drop_total',
            'instance, device',
            NETWORK,
          ),
        },
      }),
    ],
    'Heat, power and clocks': [
      byName({
        title: 'Temperature',
        description: `At ${limit.boardCelsius} degrees the firmware lowers the clock: a heat sink, a fan, less load.`,
        unit: 'celsius',
        queries: { '{{nodename}} {{type}}': `max by (instance, type) (node_thermal_zone_temp{${CHOSEN}})` },
      }),
      byName({
        title: 'Clock of the CPU against its most',
        description: 'Below 1 under load: throttled, by heat or by power. Measurements made then are void.',
        unit: 'percentunit',
        queries: {
          '{{nodename}}':
            `min by (instance) (node_cpu_scaling_frequency_hertz{${CHOSEN}}` +
            ` / node_cpu_scaling_frequency_max_hertz{${CHOSEN}})`,
        },
      }),
      byName({
        title: 'Too little voltage',
        description: '1: the supply or its cable is too weak. Replace it; SD cards are damaged first.',
        unit: 'short',
        queries: { '{{nodename}}': `max by (instance) (node_hwmon_in_lcrit_alarm_volts{${CHOSEN}})` },
      }),
      byName({
        title: 'Clock kept by NTP',
        description:
          '0: the clock runs free. Start chrony or systemd-timesyncd; latencies between boards are void.',
        unit: 'short',
        queries: { '{{nodename}}': `min by (instance) (node_timex_sync_status{${CHOSEN}})` },
      }),
      byName({
        title: 'Offset of the clock',
        description: `Above ${limit.boardClockOffsetSeconds} s: the time server is far or the network is uneven.`,
        unit: 's',
        queries: { '{{nodename}}': `max by (instance) (abs(node_timex_offset_seconds{${CHOSEN}}))` },
      }),
    ],
  },
});

/** Lines told apart by the name of the board: its address on the overlay network says nothing to a person. */
function byName({ queries, ...spec }: PanelSpec): BuiltPanel {
  const matchers = `${CHOSEN}, nodename=~"$nodename"`;
  const named = Object.entries(queries).map(([legend, expr]) => [legend, onBoard(expr, matchers)]);
  return lines({ ...spec, queries: Object.fromEntries(named) });
}
