import com.github.shyiko.mysql.binlog.BinaryLogFileReader;
import com.github.shyiko.mysql.binlog.event.DeleteRowsEventData;
import com.github.shyiko.mysql.binlog.event.Event;
import com.github.shyiko.mysql.binlog.event.EventData;
import com.github.shyiko.mysql.binlog.event.TableMapEventData;
import com.github.shyiko.mysql.binlog.event.UpdateRowsEventData;
import com.github.shyiko.mysql.binlog.event.WriteRowsEventData;
import com.github.shyiko.mysql.binlog.event.deserialization.json.JsonBinary;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Decodes a binlog file with mysql-binlog-connector-java, as often as asked: a line of counts and
 * seconds per pass. With a third argument, "json", JSON becomes text, which it else leaves as bytes.
 */
public final class Peer {
  private static final byte JSON = (byte) 245;

  private final boolean withJson;
  private final Map<Long, byte[]> columnTypes = new HashMap<>();
  private long events;
  private long images;
  private long cells;
  private long textLength;

  private Peer(boolean withJson) {
    this.withJson = withJson;
  }

  private void decode(byte[] file) throws IOException {
    try (BinaryLogFileReader reader = new BinaryLogFileReader(new ByteArrayInputStream(file))) {
      for (Event event = reader.readEvent(); event != null; event = reader.readEvent()) {
        events++;
        take(event.getData());
      }
    }
  }

  private void take(EventData data) throws IOException {
    if (data instanceof TableMapEventData map) {
      columnTypes.put(map.getTableId(), map.getColumnTypes());
    } else if (data instanceof WriteRowsEventData rows) {
      takeAll(rows.getTableId(), rows.getRows());
    } else if (data instanceof DeleteRowsEventData rows) {
      takeAll(rows.getTableId(), rows.getRows());
    } else if (data instanceof UpdateRowsEventData rows) {
      for (Map.Entry<Serializable[], Serializable[]> row : rows.getRows()) {
        takeAll(rows.getTableId(), List.of(row.getKey(), row.getValue()));
      }
    }
  }

  private void takeAll(long table, List<Serializable[]> rows) throws IOException {
    byte[] types = columnTypes.get(table);
    for (Serializable[] image : rows) {
      images++;
      cells += image.length;
      for (int column = 0; withJson && column < image.length; column++) {
        if (types[column] == JSON && image[column] != null) {
          textLength += JsonBinary.parseAsString((byte[]) image[column]).length();
        }
      }
    }
  }

  public static void main(String[] arguments) throws IOException {
    byte[] file = Files.readAllBytes(Path.of(arguments[0]));
    boolean withJson = arguments.length > 2 && arguments[2].equals("json");
    for (int pass = 0; pass < Integer.parseInt(arguments[1]); pass++) {
      Peer peer = new Peer(withJson);
      long began = System.nanoTime();
      peer.decode(file);
      double seconds = (System.nanoTime() - began) / 1e9;
      System.out.printf(
          Locale.ROOT,
          "{\"events\": %d, \"images\": %d, \"cells\": %d, \"seconds\": %.6f, \"json\": %d}%n",
          peer.events, peer.images, peer.cells, seconds, peer.textLength);
    }
  }
}
