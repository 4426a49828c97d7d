package mqtt

import (
	"fmt"
	"math"
	"os"
	"testing"
)

const connect = `const client = mqtt.connect({ url, username, password, clientId: name });`

func TestPublishesAreCountedAndTimedByQoS(t *testing.T) {
	for qos, acked := range []float64{0, 3, 3} {
		t.Run(fmt.Sprintf("QoS %d", qos), func(t *testing.T) {
			b := newBench(t)
			b.run(fmt.Sprintf(connect+`
				for (let i = 0; i < 3; i++) {
					const ms = await client.publish(name, 'x' + i, { qos: %d });
					if (!(ms >= 0 && ms < 30000)) throw new Error('took ' + ms);
				}
				client.close();`, qos))
			want := map[string]float64{"mqtt_sent": 3}
			if acked > 0 {
				want["mqtt_acked"] = acked
				want["mqtt_publish_ack"] = acked
				want["mqtt_publish_ack_intended"] = acked
			}
			b.equal(b.sums(), want)
		})
	}
}

func TestManyPublishesAreUnderWayAtOnce(t *testing.T) {
	b := newBench(t)
	b.run(connect + `
		await Promise.all(Array.from({ length: 200 }, (_, i) => client.publish(name, String(i), { qos: 1 })));
		client.close();`)
	totals := b.sums()
	if totals["mqtt_acked"] != 200 || totals["mqtt_publish_ack"] != 200 {
		t.Fatal(totals)
	}
}

func TestAReceptionIsTimedFromThePublish(t *testing.T) {
	b := newBench(t)
	b.run(connect + `
		const reader = mqtt.connect({ url, username, password });
		reader.subscribe(name + '/#', 1);
		await client.publish(name + '/a', 'one', { qos: 1, track: true });
		await client.publish(name + '/a', 'two', { qos: 1, track: true });
		await client.publish(name + '/a', 'untracked', { qos: 1 });
		if (!reader.drain(30000) || !reader.waitReceived(3, 30000)) throw new Error(mqtt.pending() + ' are missing');
		client.close();
		reader.close();`)
	b.equal(b.sums(), map[string]float64{
		"mqtt_sent": 3, "mqtt_acked": 3, "mqtt_received": 3,
		"mqtt_publish_ack": 3, "mqtt_publish_ack_intended": 3,
		"mqtt_publish_receive": 2, "mqtt_publish_receive_intended": 2,
	})
}

func TestASecondReceptionIsADuplicate(t *testing.T) {
	b := newBench(t)
	b.run(connect + `
		const readers = [1, 2, 3].map(() => mqtt.connect({ url, username, password }));
		for (const reader of readers) reader.subscribe(name, 1);
		await client.publish(name, 'once', { qos: 1, track: true });
		if (!readers.every((reader) => reader.waitReceived(1, 30000))) throw new Error('it is missing');`)
	received := b.sums()
	if received["mqtt_received"] != 3 || received["mqtt_publish_receive"] != 1 || received["mqtt_duplicates"] != 2 {
		t.Fatal(received)
	}
}

func TestTheIntendedStartIsTheScripts(t *testing.T) {
	b := newBench(t)
	b.run(connect + `await client.publish(name, 'late', { qos: 1, lateMs: 500 });`)
	values := map[string]float64{}
	for _, sample := range b.all() {
		values[sample.Metric.Name] = sample.Value
	}
	late := values["mqtt_publish_ack_intended"] - values["mqtt_publish_ack"]
	if math.Abs(late-500) > 0.001 {
		t.Fatalf("the intended start should be half a second before, and is %v ms", late)
	}
}

func TestTheBrokerKeepsAPersistentSession(t *testing.T) {
	b := newBench(t)
	b.run(`
		const options = { url, username, password, clientId: name, clean: false };
		const reader = mqtt.connect(options);
		if (reader.sessionPresent) throw new Error('there was a session already');
		reader.subscribe(name, 1);
		reader.close();
		const writer = mqtt.connect({ url, username, password });
		await writer.publish(name, 'while the reader was disconnected', { qos: 1, track: true });
		const again = mqtt.connect(options);
		if (!again.sessionPresent) throw new Error('the session is gone');
		if (!again.waitReceived(1, 30000)) throw new Error('the message is gone');
		again.close();
		mqtt.connect({ ...options, clean: true }).close();`)
	if totals := b.sums(); totals["mqtt_received"] != 1 || totals["mqtt_publish_receive"] != 1 {
		t.Fatal(totals)
	}
}

func TestTLS(t *testing.T) {
	b := newBench(t)
	b.run(`
		for (const trust of [{ ca }, { insecure: true }]) {
			const client = mqtt.connect({ url: tlsUrl, username, password, ...trust });
			await client.publish(name, 'over TLS', { qos: 2 });
			client.close();
		}`)
	b.failsWith("certificate", `mqtt.connect({ url: tlsUrl, username, password })`)
	if totals := b.sums(); totals["mqtt_acked"] != 2 || totals["mqtt_errors_connect"] != 1 {
		t.Fatal(totals)
	}
}

func TestARefusedConnectionThrows(t *testing.T) {
	b := newBench(t)
	b.failsWith("connect to 127.0.0.1:", `mqtt.connect({ url, username, password: 'wrong' })`)
	b.failsWith("connection refused", `mqtt.connect({ url: 'mqtt://127.0.0.1:1', connectTimeoutMs: 2000 })`)
	b.equal(b.sums(), map[string]float64{"mqtt_errors_connect": 2})
}

func TestALostConnectionFailsWhatWaits(t *testing.T) {
	b := newBench(t)
	wire := newWire(t, os.Getenv("MQTT_URL"))
	b.setUp(wire)
	b.run(`
		globalThis.client = mqtt.connect({ url: wireUrl, username, password });
		await client.publish(name, 'before', { qos: 1 });`)
	b.failsWith("connection lost", `
		deafen();
		const waiting = client.publish(name, 'during', { qos: 1 });
		setTimeout(cut, 50);
		await waiting;`)
	b.failsWith("lost", `await client.publish(name, 'after', { qos: 1 }).catch((error) => { throw error.kind })`)
	totals := b.sums()
	if totals["mqtt_sent"] != 3 || totals["mqtt_acked"] != 1 || totals["mqtt_errors_lost"] != 2 {
		t.Fatal(totals)
	}
}

func TestAMissingAcknowledgementIsATimeout(t *testing.T) {
	b := newBench(t)
	wire := newWire(t, os.Getenv("MQTT_URL"))
	b.setUp(wire)
	b.failsWith("no answer after 100ms", `
		const client = mqtt.connect({ url: wireUrl, username, password, ackTimeoutMs: 100 });
		deafen();
		await client.publish(name, 'unheard', { qos: 1, track: true });`)
	b.equal(b.sums(), map[string]float64{"mqtt_sent": 1, "mqtt_errors_timeout": 1})
	if b.run(`return mqtt.pending()`) != int64(0) {
		t.Fatal("what was not acknowledged should not be waited for")
	}
}

func TestTrackedMessagesAreBounded(t *testing.T) {
	b := newBench(t)
	b.failsWith("1000 tracked messages are on their way", connect+`
		for (let i = 0; i <= 1000; i++) await client.publish(name, String(i), { track: true });`)
	if totals := b.sums(); totals["mqtt_sent"] != 1000 || totals["mqtt_errors_publish"] != 1 {
		t.Fatal(totals)
	}
}

func TestWrongOptionsAreNamed(t *testing.T) {
	b := newBench(t)
	for part, script := range map[string]string{
		"there is no option clientID": `mqtt.connect({ url, clientID: 'x' })`,
		"takes one such as mqtt://":   `mqtt.connect({})`,
		"http: is no scheme of MQTT":  `mqtt.connect({ url: 'http://127.0.0.1' })`,
		"needs a clientId":            `mqtt.connect({ url, clean: false })`,
		"ackTimeoutMs is 0":           `mqtt.connect({ url, ackTimeoutMs: 0 })`,
		"ca holds no certificate":     `mqtt.connect({ url: tlsUrl, ca: 'none' })`,
		"cert and key":                `mqtt.connect({ url: tlsUrl, cert: 'none' })`,
		"qos is 3":                    connect + `client.publish(name, 'x', { qos: 3 })`,
		"there is no option QoS":      connect + `client.publish(name, 'x', { QoS: 1 })`,
		"invalid Topic":               connect + `client.subscribe('a/#/b', 1)`,
	} {
		b.failsWith(part, script)
	}
}

func (b *bench) setUp(w *wire) {
	b.test.Helper()
	for name, value := range map[string]any{"wireUrl": w.url, "cut": w.cut, "deafen": w.deafen} {
		if err := b.runtime.VU.Runtime().Set(name, value); err != nil {
			b.test.Fatal(err)
		}
	}
}

func TestAConnectionOutlivesTheIteration(t *testing.T) {
	b := newBench(t)
	b.run(`
		globalThis.client = mqtt.connect({ url, username, password });
		client.subscribe(name, 1);
		await client.publish(name, 'first', { qos: 1, track: true });`)
	b.run(`
		await client.publish(name, 'second', { qos: 1, track: true });
		if (!client.waitReceived(2, 30000)) throw new Error('one is missing');`)
	if totals := b.sums(); totals["mqtt_acked"] != 2 || totals["mqtt_publish_receive"] != 2 {
		t.Fatal(totals)
	}
}
