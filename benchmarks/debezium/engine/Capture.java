import io.debezium.embedded.Connect;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.DebeziumEngine.ChangeConsumer;
import io.debezium.engine.DebeziumEngine.RecordCommitter;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;

/**
 * Captures what a server has logged with Debezium's embedded engine, and only counts it:
 *
 * <p>{@code Capture PROPERTIES EXPECTED} runs the engine with a file of properties until so many
 * changes of rows have come, looks whether more come, and prints a line of JSON. Its clock runs from
 * the moment at which the first batch is handed over to the end of the last one.
 */
public final class Capture implements ChangeConsumer<ChangeEvent<SourceRecord, SourceRecord>> {
  private static final long PATIENCE_MILLIS = 120_000;
  private static final long SETTLING_MILLIS = 3_000;
  private static final String OPERATIONS = "cud";

  private final long began = System.nanoTime();
  private final long[] counts = new long[OPERATIONS.length()];
  private long others;
  private long changes;
  private long first;
  private long last;
  private String failure;

  @Override
  public void handleBatch(
      List<ChangeEvent<SourceRecord, SourceRecord>> batch,
      RecordCommitter<ChangeEvent<SourceRecord, SourceRecord>> committer)
      throws InterruptedException {
    start();
    long[] found = new long[counts.length];
    for (ChangeEvent<SourceRecord, SourceRecord> event : batch) {
      int operation = operation(event.value());
      if (operation >= 0) {
        found[operation]++;
      }
      committer.markProcessed(event);
    }
    committer.markBatchFinished();
    add(found, batch.size());
  }

  private static int operation(SourceRecord event) {
    if (event.value() instanceof Struct value && value.schema().field("op") != null) {
      return OPERATIONS.indexOf(value.getString("op"));
    }
    return -1;
  }

  private synchronized void start() {
    if (first == 0) {
      first = System.nanoTime();
    }
  }

  private synchronized void add(long[] found, int events) {
    others += events;
    for (int operation = 0; operation < counts.length; operation++) {
      counts[operation] += found[operation];
      changes += found[operation];
      others -= found[operation];
    }
    last = System.nanoTime();
    notifyAll();
  }

  private synchronized void fail(String message) {
    failure = message;
    notifyAll();
  }

  /** Returns when the expected have come, or the engine has ended; waits only while some come. */
  private synchronized void await(long expected) throws InterruptedException {
    while (changes < expected && failure == null) {
      long before = changes;
      wait(PATIENCE_MILLIS);
      if (changes == before && failure == null) {
        failure = "nothing came any more after " + changes + " changes";
      }
    }
  }

  private synchronized String report() {
    return String.format(
        Locale.ROOT,
        "{\"inserts\": %d, \"updates\": %d, \"deletes\": %d, \"others\": %d, \"seconds\": %.3f,"
            + " \"start_seconds\": %.3f, \"java\": \"%s\"}",
        counts[0], counts[1], counts[2], others, (last - first) / 1e9, (first - began) / 1e9,
        System.getProperty("java.version"));
  }

  private static Properties read(Path file) throws IOException {
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(file)) {
      properties.load(reader);
    }
    return properties;
  }

  public static void main(String[] arguments) throws Exception {
    Capture capture = new Capture();
    DebeziumEngine<ChangeEvent<SourceRecord, SourceRecord>> engine =
        DebeziumEngine.create(Connect.class)
            .using(read(Path.of(arguments[0])))
            .using((success, message, error) -> capture.fail(message + ": " + error))
            .notifying(capture)
            .build();
    ExecutorService thread = Executors.newSingleThreadExecutor();
    thread.execute(engine);
    capture.await(Long.parseLong(arguments[1]));
    Thread.sleep(SETTLING_MILLIS);
    String failure = capture.failure;
    if (failure != null) {
      System.err.println(failure);
      System.exit(1);
    }
    System.out.println(capture.report());
    System.out.flush();
    engine.close();
    System.exit(0);
  }
}
