package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// vectors are written by packages/workload/test/vectors.ts.
type vectors struct {
	Random []struct {
		Streams []int64  `json:"streams"`
		Bits    []uint32 `json:"bits"`
	} `json:"random"`
	Streams []struct {
		Workload   Workload `json:"workload"`
		Seed       int64    `json:"seed"`
		Thread     int      `json:"thread"`
		Threads    int      `json:"threads"`
		Operations int      `json:"operations"`
		First      []string `json:"first"`
		SHA256     string   `json:"sha256"`
	} `json:"streams"`
}

func load(t testing.TB) vectors {
	t.Helper()
	text, err := os.ReadFile("../../../packages/workload/test/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var found vectors
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Random) == 0 || len(found.Streams) == 0 {
		t.Fatal("there are no vectors")
	}
	return found
}

func TestRandomNumbersEqualTheVectors(t *testing.T) {
	for _, vector := range load(t).Random {
		random := NewRandom(vector.Streams[0], vector.Streams[1:]...)
		for index, want := range vector.Bits {
			if bits := random.Bits(); bits != want {
				t.Fatalf("seed %v: draw %d is %d, and should be %d", vector.Streams, index, bits, want)
			}
		}
	}
}

func TestStreamsEqualTheVectors(t *testing.T) {
	for _, vector := range load(t).Streams {
		name := fmt.Sprintf("%s of %d", vector.Workload.RequestDistribution, vector.Workload.RecordCount)
		t.Run(name, func(t *testing.T) {
			stream, err := NewStream(&vector.Workload, vector.Seed, vector.Thread, vector.Threads)
			if err != nil {
				t.Fatal(err)
			}
			digest := sha256.New()
			for index := range vector.Operations {
				line := described(stream.Next())
				if index < len(vector.First) && line != vector.First[index] {
					t.Fatalf("operation %d is\n%q, and should be\n%q", index, line, vector.First[index])
				}
				_, _ = fmt.Fprintf(digest, "%s\n", line)
			}
			if sum := hex.EncodeToString(digest.Sum(nil)); sum != vector.SHA256 {
				t.Fatalf("%d operations have the digest %s, and should have %s", vector.Operations, sum, vector.SHA256)
			}
		})
	}
}

func described(operation *Operation) string {
	parts := []string{
		operation.Type.String(), string(operation.Key), operation.Field, fmt.Sprint(operation.Count),
	}
	for _, value := range operation.Values {
		parts = append(parts, value.Name, string(value.Text))
	}
	return strings.Join(parts, "\t")
}

func TestWrongValuesAreNotIntact(t *testing.T) {
	w := &Workload{FieldCount: 2, FieldLength: FieldLength{Maximum: 40}}
	key := []byte("user1")
	right := func() map[string]any {
		found := map[string]any{}
		for _, name := range FieldNames(2) {
			found[name] = string(appendDeterministicValue(nil, key, name, 40))
		}
		return found
	}
	if !w.IsIntact(key, "", right()) || !w.IsIntact(key, "field1", right()) {
		t.Fatal("right values should be intact")
	}
	for name, damage := range map[string]func(map[string]any){
		"missing":  func(found map[string]any) { delete(found, "field1") },
		"short":    func(found map[string]any) { found["field1"] = found["field1"].(string)[1:] },
		"exchange": func(found map[string]any) { found["field1"] = found["field0"] },
		"number":   func(found map[string]any) { found["field1"] = 1.0 },
		"null":     func(found map[string]any) { found["field1"] = nil },
	} {
		found := right()
		damage(found)
		if w.IsIntact(key, "", found) {
			t.Errorf("%s: it should be found", name)
		}
	}
	if w.IsIntact([]byte("user2"), "", right()) {
		t.Error("the values of another record should be found")
	}
}

func TestAWorkloadThatCannotBeDrawnIsRefused(t *testing.T) {
	for part, damage := range map[string]func(*Workload){
		"recordCount":         func(w *Workload) { w.RecordCount = 0 },
		"insertCount":         func(w *Workload) { w.InsertCount = w.RecordCount + 1 },
		"insertOrder":         func(w *Workload) { w.InsertOrder = "random" },
		"fieldCount":          func(w *Workload) { w.FieldCount = 100_000 },
		"fieldLength.maximum": func(w *Workload) { w.FieldLength.Maximum = 1 << 40 },
		"scanLength":          func(w *Workload) { w.ScanLength.Maximum = 0 },
		"add up to 0.5":       func(w *Workload) { w.Mix = Mix{Read: 0.5} },
		"negative":            func(w *Workload) { w.Mix = Mix{Read: 1.5, Update: -0.5} },
		"gaussian":            func(w *Workload) { w.RequestDistribution = "gaussian" },
		"no records":          func(w *Workload) { w.RequestDistribution, w.Hotspot.DataFraction = "hotspot", 0 },
		"histogram":           func(w *Workload) { w.FieldLength.Distribution = "histogram" },
	} {
		w := load(t).Streams[0].Workload
		damage(&w)
		_, err := NewStream(&w, 1, 0, 1)
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("it should have failed with %q, and gave %v", part, err)
		}
	}
	w := load(t).Streams[0].Workload
	if _, err := NewStream(&w, 1, 2, 2); err == nil {
		t.Error("a thread that is not below the number of threads should be refused")
	}
}

func BenchmarkNext(b *testing.B) {
	w := load(b).Streams[0].Workload
	stream, err := NewStream(&w, 1, 0, 1)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		stream.Next()
	}
}
