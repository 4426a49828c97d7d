import java.util.HexFormat;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Scan;

/**
 * Reads a table with HBase's own client: HbaseRows ZOOKEEPER_PORT TABLE. It prints one line per
 * row: its key, then column=value for each column, all in hexadecimal.
 */
public final class HbaseRows {
  public static void main(String[] args) throws Exception {
    Configuration conf = HBaseConfiguration.create();
    conf.set("hbase.zookeeper.quorum", "127.0.0.1");
    conf.set("hbase.zookeeper.property.clientPort", args[0]);
    Scan scan = new Scan().setCaching(1000);
    StringBuilder lines = new StringBuilder();
    HexFormat hex = HexFormat.of();
    try (var connection = ConnectionFactory.createConnection(conf);
        var table = connection.getTable(TableName.valueOf(args[1]));
        var scanner = table.getScanner(scan)) {
      for (Result row : scanner) {
        lines.append(hex.formatHex(row.getRow()));
        for (Cell cell : row.rawCells()) {
          lines.append(' ').append(hex.formatHex(CellUtil.cloneFamily(cell)));
          lines.append(':').append(hex.formatHex(CellUtil.cloneQualifier(cell)));
          lines.append('=').append(hex.formatHex(CellUtil.cloneValue(cell)));
        }
        System.out.println(lines);
        lines.setLength(0);
      }
    }
  }
}
