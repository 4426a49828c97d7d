import { CONFIG } from '../config.ts';
import { dashboard } from '../dashboard.ts';
import { type BuiltPanel, CHOSEN, DAYS, events, lines, type PanelSpec, RATE, rate } from '../panels.ts';
import { eventsIn, onBoard } from '../promql.ts';

const { thresholds: limit } = CONFIG;
const DISKS = ', fstype!~"tmpfs|ramfs|overlay|squashfs|vfat"';
const NETWORK = ', device!~"lo|veth.*|docker.*|br-.*"';

export const boards = dashboard({
  uid: 'tidegauge-boards',
  title: 'Tidegauge / Boards',
  description: 'Utilization, saturation and errors of each board, with its temperature, voltage and clock.',
  chosenFrom: 'node_uname_info',
  closed: /^Temperature/,
  variables: { nodename: 'node_uname_info' },
  rows: {
    'CPU and memory': [
      byName({
        title: 'CPU usage',
        description:
          'Used share of all cores. If it stays near 1, move a service to another board (node labels).',
        unit: 'percentunit',
        queries: {
          '{{nodename}}': `1 - avg by (instance) (rate(node_cpu_seconds_total{${CHOSEN}, mode="idle"}[${RATE}]))`,
        },
      }),
      byName({
        title: 'Load per core',
        description:
          'Above 1, tasks wait. If the CPU usage is low, they wait for the disk: see "Disk usage".',
        unit: 'short',
        queries: {
          '{{nodename}}':
            `max by (instance) (node_load1{${CHOSEN}})` +
            ` / count by (instance) (rate(node_cpu_seconds_total{${CHOSEN}, mode="idle"}[${RATE}]))`,
        },
      }),
      byName({
        title: 'Tasks that wait for CPU',
        description:
          'Share of the time in which a task waited for the CPU (PSI). If it rises together with latency, the CPU is the bottleneck.',
        unit: 'percentunit',
        queries: { '{{nodename}}': rate('node_pressure_cpu_waiting_seconds_total', 'instance') },
      }),
      byName({
        title: 'Memory available',
        description: `Below ${limit.memoryFreeRatio * 100} % the kernel starts to kill processes. Lower the memory limits of the database, or add a board.`,
        unit: 'percentunit',
        badBelow: limit.memoryFreeRatio,
        queries: {
          '{{nodename}}':
            `max by (instance) (node_memory_MemAvailable_bytes{${CHOSEN}})` +
            ` / max by (instance) (node_memory_MemTotal_bytes{${CHOSEN}})`,
        },
      }),
      byName({
        title: 'Tasks that wait for memory',
        description:
          'Share of the time in which a task waited for memory (PSI). Above 0.1, the board has too little memory.',
        unit: 'percentunit',
        queries: { '{{nodename}}': rate('node_pressure_memory_waiting_seconds_total', 'instance') },
      }),
      byName(
        {
          title: 'Processes killed for lack of memory',
          description:
            'Processes that the kernel killed in each interval. docker service ps shows which service. Raise its memory limit.',
          unit: 'short',
          queries: {
            '{{nodename}}': countSinceBoot('node_vmstat_oom_kill'),
          },
        },
        events,
      ),
    ],
    'Disk and network': [
      byName({
        title: 'Disk usage',
        description:
          'Share of the time in which the disk was busy. Near 1 with small writes, the disk waits for fsync: use an SSD, or set PACE=250ms.',
        unit: 'percentunit',
        queries: { '{{nodename}} {{device}}': rate('node_disk_io_time_seconds_total', 'instance, device') },
      }),
      byName({
        title: 'Disk writes',
        description:
          'Bytes per second. An SD card lasts for about 10 TB. At 1 MB/s it is worn out after four months.',
        unit: 'Bps',
        queries: { '{{nodename}} {{device}}': rate('node_disk_written_bytes_total', 'instance, device') },
      }),
      byName({
        title: 'Disk free',
        description: `Below ${limit.diskFreeRatio * 100} % databases may stop. Delete old readings, or use a larger disk.`,
        unit: 'percentunit',
        badBelow: limit.diskFreeRatio,
        queries: {
          '{{nodename}} {{mountpoint}}':
            `min by (instance, mountpoint) (node_filesystem_avail_bytes{${CHOSEN}${DISKS}}` +
            ` / node_filesystem_size_bytes{${CHOSEN}${DISKS}})`,
        },
      }),
      byName({
        title: 'Time until the disk is full',
        description:
          'In days, estimated from the last six hours. There is no line while the disk does not fill. See the runbook TidegaugeDiskFullSoon.',
        unit: DAYS,
        badBelow: limit.diskFullDays,
        queries: {
          '{{nodename}} {{mountpoint}}':
            `min by (instance, mountpoint) (node_filesystem_avail_bytes{${CHOSEN}${DISKS}}` +
            ` / (-deriv(node_filesystem_avail_bytes{${CHOSEN}${DISKS}}[6h]) > 0)) / 86400`,
        },
      }),
      byName({
        title: 'Network',
        description:
          'Bytes per second, in and out. Near the capacity of the link (12 MB/s for 100 Mbit/s), the network is the bottleneck.',
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
      byName(
        {
          title: 'Network errors and drops',
          description:
            'Packets in each interval. If there are always some, check the cable, the switch and the Wi-Fi. A cable is better than Wi-Fi.',
          unit: 'short',
          queries: {
            'errors {{nodename}} {{device}}': countSinceBoot('node_network_receive_errs_total', NETWORK),
            'drops {{nodename}} {{device}}': countSinceBoot('node_network_receive_drop_total', NETWORK),
          },
        },
        events,
      ),
    ],
    'Temperature, power and clocks': [
      byName({
        title: 'Temperature',
        description: `At ${limit.boardCelsius} degrees Celsius the firmware slows the CPU down. Add a heat sink or a fan, or reduce the load.`,
        unit: 'celsius',
        bad: limit.boardCelsius,
        queries: { '{{nodename}} {{type}}': `max by (instance, type) (node_thermal_zone_temp{${CHOSEN}})` },
      }),
      byName({
        title: 'CPU clock relative to its maximum',
        description:
          'Below 1 under load, heat or low voltage slows the CPU down. Measurements made then are not valid.',
        unit: 'percentunit',
        queries: {
          '{{nodename}}':
            `min by (instance) (node_cpu_scaling_frequency_hertz{${CHOSEN}}` +
            ` / node_cpu_scaling_frequency_max_hertz{${CHOSEN}})`,
        },
      }),
      byName({
        title: 'Low voltage',
        description:
          '1: the power supply or its cable is too weak. Replace it. Low voltage can damage the SD card.',
        unit: 'short',
        words: { 0: 'no', 1: 'low' },
        queries: { '{{nodename}}': `max by (instance) (node_hwmon_in_lcrit_alarm_volts{${CHOSEN}})` },
      }),
      byName({
        title: 'Clock synchronized by NTP',
        description:
          '0: the clock is not synchronized, and latencies between boards are wrong. Start chrony or systemd-timesyncd.',
        unit: 'short',
        words: { 0: 'no', 1: 'yes' },
        queries: { '{{nodename}}': `min by (instance) (node_timex_sync_status{${CHOSEN}})` },
      }),
      byName({
        title: 'Clock offset',
        description: `Above ${limit.boardClockOffsetSeconds} s, the time server is far away or the network is unstable.`,
        unit: 's',
        bad: limit.boardClockOffsetSeconds,
        queries: { '{{nodename}}': `max by (instance) (abs(node_timex_offset_seconds{${CHOSEN}}))` },
      }),
    ],
  },
});

/** Events of each step, by board, and by device with the matchers of devices. */
function countSinceBoot(metric: string, matchers = ''): string {
  const by = matchers === '' ? 'instance' : 'instance, device';
  return `sum by (${by}) (${eventsIn(metric, CHOSEN + matchers, 'node_boot_time_seconds')})`;
}

/** Lines with the name of the board. Its address on the overlay network means nothing to a reader. */
function byName({ queries, ...spec }: PanelSpec, draw = lines): BuiltPanel {
  const matchers = `${CHOSEN}, nodename=~"$nodename"`;
  const named = Object.entries(queries).map(([legend, expr]) => [legend, onBoard(expr, matchers)]);
  return draw({ ...spec, queries: Object.fromEntries(named) });
}
