// A sensor on an ESP32 with the Arduino core. It measures the voltage at one pin every ten seconds and publishes it with QoS 1.
// While the broker is unavailable it keeps readings on the flash, KEEP bytes at most; then the oldest half is dropped. The last
// RING readings stay in memory, to send again what did not arrive.
// Install the library "MQTT" by Joel Gaehwiler (arduino-mqtt) in the library manager, and fill in the settings below.
#include <LittleFS.h>
#include <MQTT.h>
#include <WiFi.h>
#include <WiFiClientSecure.h>
#include <sys/time.h>

const char WIFI_NAME[] = "my network";
const char WIFI_PASSWORD[] = "my password";
// A name or an address that is in the broker's certificate.
const char BROKER[] = "192.0.2.11";
const int PORT = 8883;
// The user that `stacks/bin/sensor add site-1` made, and the password that it printed.
const char USER[] = "site-1";
const char PASSWORD[] = "";
const char TOPIC[] = "sensors/site-1/roof/voltage";
// Ingest requests missing readings on this topic. If they are gone, the first one that is kept is published on the other.
const char REQUESTS[] = "tidegauge/resend/site-1/roof";
const char FIRST_KEPT[] = "sensors/site-1/roof/kept";
// The contents of ca.pem, which `stacks/bin/secrets --ca` prints.
const char CA[] = R"(-----BEGIN CERTIFICATE-----
...
-----END CERTIFICATE-----)";
const int PIN = 34;
const unsigned long INTERVAL_MS = 10000;
const size_t KEEP = 100000;
const char OLD[] = "/old.ndjson";
const char NEW[] = "/new.ndjson";
const unsigned long RING = 64;
const size_t PAYLOAD = 128;

WiFiClientSecure network;
MQTTClient client(512);
char boot[9];
unsigned long seq = 0;
unsigned long last = 0;
// The reading with the number n is at n % RING.
char ring[RING][PAYLOAD];
// The last request that is not answered.
String waiting;

void keep(const char *payload) {
  File file = LittleFS.open(NEW, "a");
  file.println(payload);
  size_t size = file.size();
  file.close();
  if (size < KEEP / 2) return;
  LittleFS.remove(OLD);
  LittleFS.rename(NEW, OLD);
}

// Publishes what was kept. A message that is published twice is stored once, because t is the same.
bool publishKept(const char *path) {
  if (!LittleFS.exists(path)) return true;
  File file = LittleFS.open(path, "r");
  while (file.available()) {
    String line = file.readStringUntil('\n');
    line.trim();
    if (client.publish(TOPIC, line.c_str(), false, 1)) continue;
    file.close();
    return false;
  }
  file.close();
  return LittleFS.remove(path);
}

// {"device":"site-1/roof","boot":"1f2e3d4c","ranges":[[7,9],[12,12]]}, always in this order and without spaces.
void sendAgain(const String &request) {
  int at = request.indexOf("\"boot\":\"");
  int ranges = request.indexOf("\"ranges\":[");
  if (at < 0 || ranges < at) return;
  String requested = request.substring(at + 8, request.indexOf('"', at + 8));
  bool isThisBoot = requested == boot;
  unsigned long oldest = seq > RING ? seq - RING : 0;
  unsigned long from, to;
  bool isGone = !isThisBoot;
  for (const char *next = request.c_str() + ranges + 10; sscanf(next, "[%lu,%lu]", &from, &to) == 2;) {
    if (from < oldest) isGone = true;
    for (unsigned long n = max(from, oldest); isThisBoot && n <= to && n < seq; n++) {
      client.publish(TOPIC, ring[n % RING], false, 1);
    }
    next = strchr(next, ']') + 1;
    if (*next == ',') next++;
  }
  if (!isGone) return;
  String declaration = "{\"boot\":\"" + requested + "\",\"kept\":" + (isThisBoot ? String(oldest) : String("null")) + "}";
  client.publish(FIRST_KEPT, declaration.c_str(), false, 1);
}

void setup() {
  Serial.begin(115200);
  // Formats the flash at the first start.
  LittleFS.begin(true);
  WiFi.begin(WIFI_NAME, WIFI_PASSWORD);
  // A new boot at every start. With seq, the ledger lists each missing reading.
  snprintf(boot, sizeof boot, "%08lx", (unsigned long)esp_random());
  // TLS needs the right time to check the certificate.
  configTime(0, 0, "pool.ntp.org");
  network.setCACert(CA);
  client.begin(BROKER, PORT, network);
  // Nothing can be published within this function.
  client.onMessage([](String &, String &payload) { waiting = payload; });
}

void loop() {
  // The client answers pings of the broker here.
  client.loop();
  if (waiting.length() > 0 && client.connected()) {
    // Another one can arrive while it is answered.
    String request = waiting;
    waiting = "";
    sendAgain(request);
  }
  if (millis() - last < INTERVAL_MS) return;
  last = millis();

  struct timeval now;
  gettimeofday(&now, nullptr);
  // NTP has not answered yet.
  if (now.tv_sec < 1700000000) return;
  char *payload = ring[seq % RING];
  snprintf(payload, PAYLOAD, "{\"t\":%lld.%03ld,\"v\":%.3f,\"boot\":\"%s\",\"seq\":%lu}", (long long)now.tv_sec,
           (long)(now.tv_usec / 1000), analogReadMilliVolts(PIN) / 1000.0, boot, seq);
  // The ledger shows a gap for each number that never arrives.
  seq += 1;

  bool isConnected = client.connected();
  if (!isConnected && client.connect(USER, USER, PASSWORD)) {
    isConnected = true;
    client.subscribe(REQUESTS);
  }
  // With QoS 1, publish returns true when the broker has acknowledged.
  if (isConnected && publishKept(OLD) && publishKept(NEW) && client.publish(TOPIC, payload, false, 1)) return;
  Serial.println("the broker is unavailable: the reading is kept");
  keep(payload);
}
