import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.FileReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.Vector;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.RandomByteIterator;
import site.ycsb.Status;
import site.ycsb.generator.*;
import site.ycsb.measurements.Measurements;
import site.ycsb.workloads.CoreWorkload;

/**
 * Prints results of YCSB's own classes, one per line. Random numbers are seeded: ThreadLocalRandom keeps its state in a
 * field of the thread (--add-opens java.base/java.lang=ALL-UNNAMED).
 *
 *   operations FILE COUNT SEED [NAME=VALUE...]   operations of the transaction phase; number i is drawn from SEED + i
 *   keys FILE COUNT [NAME=VALUE...]              keys of the load phase
 *   draws COUNT SEED GENERATOR ARGUMENT...       draws of a generator
 *   counts COUNT SEED GENERATOR ARGUMENT...      how often each value was drawn: value, tab, count
 *   properties FILE                              what java.util.Properties reads: name, tab, value
 */
public final class Reference {
  /** Standard output in UTF-8, regardless of the machine's locale. */
  private static final PrintStream OUT =
      new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);

  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "operations" -> operations(args);
      case "keys" -> keys(args);
      case "draws" -> {
        LongSupplier next = seededGenerator(args);
        for (int i = Integer.parseInt(args[1]); i > 0; i--) OUT.println(next.getAsLong());
      }
      case "counts" -> {
        LongSupplier next = seededGenerator(args);
        Map<Long, Integer> counts = new TreeMap<>();
        for (int i = Integer.parseInt(args[1]); i > 0; i--) counts.merge(next.getAsLong(), 1, Integer::sum);
        counts.forEach((value, count) -> OUT.println(value + "\t" + count));
      }
      case "properties" -> load(args[1]).forEach((name, value) -> OUT.println(name + "\t" + value));
      default -> throw new IllegalArgumentException(args[0]);
    }
    OUT.flush();
  }

  private static void operations(String[] args) throws Exception {
    CoreWorkload workload = workload(args, 4);
    long seed = Long.parseLong(args[3]);
    Recorder recorder = new Recorder();
    for (int i = 0; i < Integer.parseInt(args[2]); i++) {
      seed(seed + i);
      workload.doTransaction(recorder, null);
      OUT.println();
    }
  }

  private static void keys(String[] args) throws Exception {
    CoreWorkload workload = workload(args, 3);
    Recorder recorder = new Recorder() {
      @Override
      public Status insert(String table, String key, Map<String, ByteIterator> values) {
        OUT.println(key);
        return Status.OK;
      }
    };
    for (int i = 0; i < Integer.parseInt(args[2]); i++) workload.doInsert(recorder, null);
  }

  private static CoreWorkload workload(String[] args, int firstOverride) throws Exception {
    Properties properties = load(args[1]);
    for (int i = firstOverride; i < args.length; i++) {
      String[] pair = args[i].split("=", 2);
      properties.setProperty(pair[0], pair[1]);
    }
    Measurements.setProperties(properties);
    CoreWorkload workload = new CoreWorkload();
    workload.init(properties);
    return workload;
  }

  private static Properties load(String file) throws Exception {
    Properties properties = new Properties();
    try (FileReader reader = new FileReader(file)) {
      properties.load(reader);
    }
    return properties;
  }

  private static LongSupplier seededGenerator(String[] args) throws Exception {
    LongSupplier generator = generator(args);
    // Some generators draw random numbers in their constructor.
    seed(Long.parseLong(args[2]));
    return generator;
  }

  private static LongSupplier generator(String[] args) throws Exception {
    double[] n = new double[Math.max(0, args.length - 4)];
    if (!args[3].equals("histogram") && !args[3].equals("types")) {
      for (int i = 0; i < n.length; i++) n[i] = Double.parseDouble(args[4 + i]);
    }
    return switch (args[3]) {
      case "uniform" -> number(new UniformLongGenerator((long) n[0], (long) n[1]));
      case "zipfian" -> number(new ZipfianGenerator((long) n[0], (long) n[1]));
      case "scrambledZipfian" -> number(new ScrambledZipfianGenerator((long) n[0], (long) n[1]));
      case "skewedLatest" -> number(new SkewedLatestGenerator(new CounterGenerator((long) n[0])));
      case "growingLatest" -> {
        CounterGenerator newest = new CounterGenerator((long) n[0]);
        LongSupplier latest = number(new SkewedLatestGenerator(newest));
        yield () -> {
          newest.nextValue();
          return latest.getAsLong();
        };
      }
      case "hotspot" -> number(new HotspotIntegerGenerator((long) n[0], (long) n[1], n[2], n[3]));
      case "exponential" -> {
        ExponentialGenerator generator = new ExponentialGenerator(n[0], n[1]);
        yield () -> generator.nextValue().intValue();
      }
      case "sequential" -> number(new SequentialGenerator((long) n[0], (long) n[1]));
      case "histogram" -> number(new HistogramGenerator(args[4]));
      case "characters" -> {
        RandomByteIterator bytes = new RandomByteIterator(Long.MAX_VALUE);
        yield bytes::nextByte;
      }
      default -> throw new IllegalArgumentException(args[3]);
    };
  }

  private static LongSupplier number(NumberGenerator generator) {
    return () -> generator.nextValue().longValue();
  }

  private static void seed(long seed) throws Exception {
    ThreadLocalRandom.current();
    Field state = Thread.class.getDeclaredField("threadLocalRandomSeed");
    state.setAccessible(true);
    state.setLong(Thread.currentThread(), seed);
  }

  /** A database that only prints its requests. */
  private static class Recorder extends DB {
    @Override
    public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
      OUT.print("read " + key + " " + names(fields) + "; ");
      return Status.OK;
    }

    @Override
    public Status scan(
        String table, String key, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
      OUT.print("scan " + key + " " + count + " " + names(fields) + "; ");
      return Status.OK;
    }

    @Override
    public Status update(String table, String key, Map<String, ByteIterator> values) {
      OUT.print("update " + key + " " + contents(values) + "; ");
      return Status.OK;
    }

    @Override
    public Status insert(String table, String key, Map<String, ByteIterator> values) {
      OUT.print("insert " + key + " " + contents(values) + "; ");
      return Status.OK;
    }

    @Override
    public Status delete(String table, String key) {
      return Status.NOT_IMPLEMENTED;
    }

    private static String names(Set<String> fields) {
      return fields == null ? "*" : String.join(",", new TreeSet<>(fields));
    }

    /** The length of random bytes, because they are drawn when they are sent. Deterministic values are printed. */
    private static String contents(Map<String, ByteIterator> values) {
      StringBuilder text = new StringBuilder();
      new TreeMap<>(values).forEach((name, value) -> {
        boolean random = value instanceof RandomByteIterator;
        text.append(name).append('=').append(random ? value.bytesLeft() : value).append(',');
      });
      return text.toString();
    }
  }
}
