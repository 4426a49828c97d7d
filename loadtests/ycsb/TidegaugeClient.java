package tidegauge;

import java.io.IOException;
import java.io.StringWriter;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.Vector;
import java.util.concurrent.atomic.AtomicInteger;
import org.codehaus.jackson.JsonFactory;
import org.codehaus.jackson.JsonGenerator;
import org.codehaus.jackson.JsonParser;
import org.codehaus.jackson.JsonToken;
import site.ycsb.ByteIterator;
import site.ycsb.Client;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;
import site.ycsb.workloads.CoreWorkload;

/**
 * Runs YCSB's operations through Tidegauge's HTTP API. Properties: tidegauge.url (http://127.0.0.1:8080),
 * tidegauge.timeoutms (30000). The API's token comes from the variable API_TOKEN. The load phase creates the table.
 */
public final class TidegaugeClient extends DB {
  private static final int REPORTED = 10;
  /** The title of the problem document; a missing record has the same status. */
  private static final String NO_TABLE = "\"title\":\"No such table\"";
  private static final JsonFactory JSON = new JsonFactory();
  /** All threads share one client. It keeps a connection for each of them. */
  private static final HttpClient HTTP =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(10)).build();
  private static final AtomicInteger FAILURES = new AtomicInteger();

  private String records;
  private Duration timeout;
  private String token;

  @Override
  public void init() throws DBException {
    Properties properties = getProperties();
    records = properties.getProperty("tidegauge.url", "http://127.0.0.1:8080").replaceAll("/+$", "") + "/v1/records/";
    timeout = Duration.ofMillis(Long.parseLong(properties.getProperty("tidegauge.timeoutms", "30000")));
    token = System.getenv("API_TOKEN");
    if (!Boolean.parseBoolean(properties.getProperty(Client.DO_TRANSACTIONS_PROPERTY, "true"))) createTable(properties);
  }

  /** Every thread calls this. A table that exists stays unchanged. */
  private void createTable(Properties properties) throws DBException {
    String table = properties.getProperty(CoreWorkload.TABLENAME_PROPERTY, CoreWorkload.TABLENAME_PROPERTY_DEFAULT);
    String count = properties.getProperty(CoreWorkload.FIELD_COUNT_PROPERTY, CoreWorkload.FIELD_COUNT_PROPERTY_DEFAULT);
    Answer answer = send("PUT", table, BodyPublishers.ofString("{\"fieldCount\":" + Integer.parseInt(count) + "}"));
    if (answer.status != Status.OK) throw new DBException("cannot create table " + table + ": " + answer.body);
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    Answer answer = send("GET", path(table, key) + query("?", fields), null);
    if (answer.status != Status.OK) return answer.status;
    try (JsonParser parser = JSON.createJsonParser(answer.body)) {
      parser.nextToken();
      readRecord(parser, result);
      return Status.OK;
    } catch (IOException error) {
      return failed(error.toString());
    }
  }

  @Override
  public Status scan(
      String table, String start, int count, Set<String> fields, Vector<HashMap<String, ByteIterator>> result) {
    String path = table + "?start=" + escaped(start) + "&count=" + count + query("&", fields);
    Answer answer = send("GET", path, null);
    if (answer.status != Status.OK) return answer.status;
    try (JsonParser parser = JSON.createJsonParser(answer.body)) {
      while (parser.nextToken() != JsonToken.START_ARRAY) continue;
      while (parser.nextToken() == JsonToken.START_OBJECT) {
        HashMap<String, ByteIterator> cells = new HashMap<>();
        readRecord(parser, cells);
        result.add(cells);
      }
      return Status.OK;
    } catch (IOException error) {
      return failed(error.toString());
    }
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return write("PATCH", table, key, values);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return write("PUT", table, key, values);
  }

  @Override
  public Status delete(String table, String key) {
    return send("DELETE", path(table, key), null).status;
  }

  private Status write(String method, String table, String key, Map<String, ByteIterator> values) {
    StringWriter text = new StringWriter(2048);
    try (JsonGenerator body = JSON.createJsonGenerator(text)) {
      body.writeStartObject();
      body.writeObjectFieldStart("fields");
      for (Map.Entry<String, ByteIterator> value : values.entrySet()) {
        body.writeStringField(value.getKey(), value.getValue().toString());
      }
      body.writeEndObject();
      body.writeEndObject();
    } catch (IOException error) {
      return failed(error.toString());
    }
    return send(method, path(table, key), BodyPublishers.ofString(text.toString())).status;
  }

  /** Reads a record, from its opening brace to its closing one. */
  private static void readRecord(JsonParser parser, Map<String, ByteIterator> cells) throws IOException {
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      boolean fields = parser.getCurrentName().equals("fields");
      parser.nextToken();
      if (!fields) continue;
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String name = parser.getCurrentName();
        parser.nextToken();
        cells.put(name, new StringByteIterator(parser.getText()));
      }
    }
  }

  private record Answer(Status status, String body) {}

  private Answer send(String method, String path, BodyPublisher body) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(records + path)).timeout(timeout);
    request.method(method, body == null ? BodyPublishers.noBody() : body);
    if (body != null) request.header("Content-Type", "application/json");
    if (token != null) request.header("Authorization", "Bearer " + token);
    try {
      HttpResponse<String> response = HTTP.send(request.build(), BodyHandlers.ofString());
      Status status = statusOf(response.statusCode(), response.body());
      if (status != Status.OK && status != Status.NOT_FOUND) failed(response.body());
      return new Answer(status, response.body());
    } catch (IOException error) {
      String what = method + " " + records + path + ": " + error;
      return new Answer(failed(what), what);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      return new Answer(Status.ERROR, error.toString());
    }
  }

  private static Status statusOf(int code, String body) {
    if (code / 100 == 2) return Status.OK;
    return switch (code) {
      case 404 -> body.contains(NO_TABLE) ? Status.BAD_REQUEST : Status.NOT_FOUND;
      case 400, 409, 413, 422 -> Status.BAD_REQUEST;
      case 401, 403, 421 -> Status.FORBIDDEN;
      case 503 -> Status.SERVICE_UNAVAILABLE;
      default -> Status.ERROR;
    };
  }

  /** Prints the first failures. YCSB counts all of them. */
  private static Status failed(String what) {
    if (FAILURES.incrementAndGet() <= REPORTED) System.err.println("tidegauge: " + what);
    return Status.ERROR;
  }

  private static String path(String table, String key) {
    return table + "/" + escaped(key);
  }

  private static String query(String separator, Set<String> fields) {
    return fields == null ? "" : separator + "fields=" + String.join(",", new TreeSet<>(fields));
  }

  private static String escaped(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
